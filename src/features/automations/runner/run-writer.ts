import { recordEvents } from '../../../mail/events/index.ts';
import { isoTime } from '../../../platform/clock/index.ts';
import { createGroupCommit, eachAlone, type Executor } from '../../../platform/db/index.ts';
import type { World } from '../../../platform/world/index.ts';
import { endRun, isHeld, moveRun, putOffRun, writeRunStep, type RunRow } from '../automation-runs/index.ts';
import type { Step } from '../automations/index.ts';
import { countUsage } from '../../../tenancy/usage/index.ts';
import type { Postponed, Taken } from './taken.ts';

/** It was cancelled, or another process has it. */
export class TakenOver extends Error {}

interface Note {
  status: 'waiting' | 'completed' | 'failed';
  output: object | null;
  error?: object;
}

/**
 * Writes what becomes of the runs that this process has: a step and all it does stand or fall together. On SQLite, where writers
 * take turns, steps of several runs share a commit, and one that fails is undone alone. On PostgreSQL each step is a transaction
 * of its own: several would hold rows that other processes wait for, in an order of their own.
 */
export class RunWriter {
  readonly #world: World;
  readonly #owner: string;
  readonly #commit: (work: (tx: Executor) => Promise<void>) => Promise<void>;

  constructor(world: World, owner: string) {
    this.#world = world;
    this.#owner = owner;
    const { db } = world;
    this.#commit = db.dialect === 'pg' ? (work) => db.tx(work) : createGroupCommit(db).lane(eachAlone);
  }

  /** Tries the step again later; nothing was done, and the step says why. */
  async putBack(run: RunRow, step: Step, { until, reason }: Postponed): Promise<void> {
    await this.#commit(async (tx) => {
      await this.#begin(tx, run);
      await this.#move(tx, run, { stepKey: step.key, dueAt: until });
      await this.#note(tx, run, step, { status: 'waiting', output: { reason, until: isoTime(until) } });
    });
  }

  /** The same behind an error, which is counted. A delay says when it ends, and nothing else. */
  async putOff(run: RunRow, step: Step | undefined, { until, reason }: Postponed): Promise<void> {
    await this.#commit(async (tx) => {
      const put = await putOffRun(tx, { id: run.id, owner: this.#owner, dueAt: until });
      if (!put) throw new TakenOver();
      const isStillThere = put.step_key === run.step_key;
      if (!step || !isStillThere || step.type === 'delay') return;
      await this.#note(tx, run, step, { status: 'waiting', output: { reason, until: isoTime(until) } });
    });
  }

  async wait(run: RunRow, step: Step, until: number): Promise<void> {
    await this.#commit(async (tx) => {
      await this.#begin(tx, run);
      await this.#move(tx, run, { stepKey: step.key, dueAt: until });
      await this.#note(tx, run, step, { status: 'waiting', output: { until: isoTime(until) } });
    });
  }

  async finish(
    run: RunRow,
    { step, taken, next }: { step: Step; taken: Taken; next: Step | undefined },
  ): Promise<void> {
    await this.#commit(async (tx) => {
      if (taken.work && !(await isHeld(tx, { id: run.id, owner: this.#owner }))) throw new TakenOver();
      // Before the run is written: who erases a contact or stops an automation holds that, and then wants its runs.
      const output = (await taken.work?.(tx)) ?? taken.output ?? null;
      await this.#begin(tx, run);
      if (next) await this.#move(tx, run, { stepKey: next.key, dueAt: this.#now() });
      else await this.#end(tx, run, 'completed', null);
      await this.#note(tx, run, step, { status: 'completed', output });
    });
  }

  async fail(run: RunRow, step: Step | undefined, message: string): Promise<void> {
    await this.#commit(async (tx) => {
      await this.#begin(tx, run);
      await this.#end(tx, run, 'failed', step ? `${step.key}: ${message}` : message);
      if (step) await this.#note(tx, run, step, { status: 'failed', output: null, error: { message } });
    });
  }

  /** Told and counted with the first thing that the run does. */
  async #begin(tx: Executor, run: RunRow): Promise<void> {
    if (run.started_at !== null) return;
    await this.#tell(tx, run, { status: 'running', completedAt: null, error: null });
    await countUsage(tx, { teamId: run.team_id, kind: 'automation_run', at: this.#now(), count: 1 });
  }

  async #move(tx: Executor, { id, step_key: at }: RunRow, to: { stepKey: string; dueAt: number }): Promise<void> {
    const isHeld = await moveRun(tx, { id, owner: this.#owner, at, ...to, startedAt: this.#now() });
    if (!isHeld) throw new TakenOver();
  }

  async #end(tx: Executor, run: RunRow, status: 'completed' | 'failed', error: string | null): Promise<void> {
    const now = this.#now();
    const held = { id: run.id, owner: this.#owner, at: run.step_key };
    if (!(await endRun(tx, { ...held, status, error, now }))) throw new TakenOver();
    await this.#tell(tx, run, { status, completedAt: now, error });
  }

  async #note(tx: Executor, { id }: RunRow, { key }: Step, { status, output, error }: Note): Promise<void> {
    const at = this.#now();
    await writeRunStep(tx, {
      ...{ run_id: id, step_key: key, status, output: output && JSON.stringify(output) },
      ...{ error: error === undefined ? null : JSON.stringify(error), started_at: at },
      completed_at: status === 'waiting' ? null : at,
    });
  }

  async #tell(
    tx: Executor,
    { id, team_id: teamId, automation_id, contact_id, started_at: startedAt }: RunRow,
    told: { status: 'running' | 'completed' | 'failed'; completedAt: number | null; error: string | null },
  ): Promise<void> {
    const { status, completedAt, error } = told;
    const at = this.#now();
    const type = `automation.run.${status === 'running' ? 'started' : status}` as const;
    const data = {
      ...{ id, automation_id, contact_id, status, started_at: isoTime(Number(startedAt ?? at)) },
      ...{ completed_at: completedAt === null ? null : isoTime(completedAt), error },
    };
    await recordEvents(tx, this.#world.ids, [{ teamId, type, subjectId: id, at, data }]);
  }

  #now(): number {
    return this.#world.clock.now();
  }
}
