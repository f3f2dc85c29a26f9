import { createLeasedLoop, createTurns, createLeases, type LeasedLoop } from '../../../platform/work-loop/index.ts';
import type { World } from '../../../platform/world.ts';
import {
  claimDueRuns,
  listTurns,
  nextRunAt,
  endRun,
  isHeld,
  moveRun,
  putOffRun,
  writeRunStep,
  type RunRow,
} from '../automation-runs.store.ts';
import { createSendSwitch } from '../../../tenancy/instance/index.ts';
import { nextTurn, isoTime } from '../../../platform/clock.ts';
import { isDatabaseSetback, createGroupCommit, runInSavepoints, type Executor } from '../../../platform/db/index.ts';
import { Refusal } from '../../../platform/refusal.ts';
import { findGraph } from '../automations.store.ts';
import { findNextStep, findTrigger, stepAt, type Graph, type Step } from '../graph.ts';
import { createTakeStep, Postponed, type StepResult } from './take-step.ts';
import { recordRunEvents } from '../../../mail/events/index.ts';
import { countUsage } from '../../../tenancy/usage/index.ts';

/** The run was canceled, or another process holds it. */
class TakenOver extends Error {}

/** The step was completed before, so that its effects must not be repeated. */
class CompletedBefore extends Error {}

interface Note {
  status: 'waiting' | 'completed' | 'failed';
  output: object | null;
  error?: object;
}

/**
 * Writes the progress of the runs of this process: a step and all its effects are one atomic unit. On SQLite, where
 * writers take turns, steps of several runs share a commit, and one that fails is undone alone. On PostgreSQL each step
 * is a transaction of its own: several would hold rows that other processes wait for, in an order of their own.
 */
class RunWriter {
  readonly #world: World;
  readonly #owner: string;
  readonly #commit: (work: (tx: Executor) => Promise<void>) => Promise<void>;

  constructor(world: World, owner: string) {
    this.#world = world;
    this.#owner = owner;
    const { db } = world;
    this.#commit = db.dialect === 'pg' ? (work) => db.tx(work) : createGroupCommit(db).lane(runInSavepoints);
  }

  /** Tries the step again later; nothing was done, and the step shows the reason. */
  async putBack(run: RunRow, step: Step, { until, reason }: Postponed): Promise<void> {
    await this.#commit(async (tx) => {
      await this.#begin(tx, run);
      await this.#move(tx, run, { stepKey: step.key, dueAt: until });
      await this.#note(tx, run, step, { status: 'waiting', output: { reason, until: isoTime(until) } });
    });
  }

  /** Does the same after an error, which is counted. A delay only shows when it ends. */
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
    { step, taken, next }: { step: Step; taken: StepResult; next: Step | undefined },
  ): Promise<void> {
    await this.#commit(async (tx) => {
      if (taken.work && !(await isHeld(tx, { id: run.id, owner: this.#owner }))) throw new TakenOver();
      // Runs before the run is written, to keep the lock order: erasing a contact or stopping an automation locks that
      // first, and then its runs.
      const output = (await taken.work?.(tx)) ?? taken.output ?? null;
      await this.#begin(tx, run);
      if (next) await this.#move(tx, run, { stepKey: next.key, dueAt: this.#now() });
      else await this.#end(tx, run, 'completed', null);
      const isNew = await this.#note(tx, run, step, { status: 'completed', output });
      if (!isNew) throw new CompletedBefore();
    });
  }

  async fail(run: RunRow, step: Step | undefined, message: string): Promise<void> {
    await this.#commit(async (tx) => {
      await this.#begin(tx, run);
      await this.#end(tx, run, 'failed', step ? `${step.key}: ${message}` : message);
      if (step) await this.#note(tx, run, step, { status: 'failed', output: null, error: { message } });
    });
  }

  /** Records and counts the start of a run with its first step. */
  async #begin(tx: Executor, run: RunRow): Promise<void> {
    if (run.started_at !== null) return;
    await this.#recordEvents(tx, run, { status: 'running', completedAt: null, error: null });
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
    await this.#recordEvents(tx, run, { status, completedAt: now, error });
  }

  async #note(tx: Executor, { id }: RunRow, { key }: Step, { status, output, error }: Note): Promise<boolean> {
    const at = this.#now();
    return writeRunStep(tx, {
      run_id: id,
      step_key: key,
      status,
      output: output && JSON.stringify(output),
      error: error === undefined ? null : JSON.stringify(error),
      started_at: at,
      completed_at: status === 'waiting' ? null : at,
    });
  }

  async #recordEvents(
    tx: Executor,
    run: RunRow,
    told: { status: 'running' | 'completed' | 'failed'; completedAt: number | null; error: string | null },
  ): Promise<void> {
    await recordRunEvents(tx, this.#world.ids, [{ ...run, ...told }], this.#now());
  }

  #now(): number {
    return this.#world.clock.now();
  }
}

interface Parts {
  owner: string;
  wakeQueue(): void;
}

/** Delays after the first failure of a step by an error of the service, the second, and so on. */
const PAUSES_MS = [1, 5, 30, 120, 360, 720, 1440].map((minutes) => minutes * 60_000);

/**
 * Executes a run from its current step until it has to wait, or ends. Each step is one transaction, with all its
 * effects.
 */
export function createRunExecutor(
  world: World,
  { owner, wakeQueue }: Parts,
): (run: RunRow, signal: AbortSignal) => Promise<void> {
  const { log } = world;
  const takeStep = createTakeStep(world);
  const writer = new RunWriter(world, owner);

  return async (run, signal) => {
    let now = run;
    let step: Step | undefined;
    try {
      const graph = await loadGraph(world, run);
      step = run.step_key === null ? findTrigger(graph) : stepAt(graph, run.step_key);
      while (step && !signal.aborted) {
        const next = await executeStep(now, step, graph);
        if (next === 'waits') return;
        now = { ...now, started_at: now.started_at ?? world.clock.now(), step_key: next?.key ?? null, tries: 0 };
        step = next;
        await nextTurn();
      }
    } catch (error) {
      if (error instanceof TakenOver) return;
      // The database has to recover first.
      if (isDatabaseSetback(error)) throw error;
      await tryLater(now, step, error);
    }
  };

  /** Retries a step after an error of the service, with growing delays, until the run fails. */
  async function tryLater(run: RunRow, step: Step | undefined, error: unknown): Promise<void> {
    const named = { runId: run.id, automationId: run.automation_id, step: step?.key, tries: run.tries + 1 };
    log.error({ err: error, ...named }, 'automations: a step failed because of a server error');
    const pause = PAUSES_MS[run.tries];
    try {
      const times = run.tries === 0 ? 'once' : `${run.tries + 1} times`;
      const reason = `an error of the service, ${times}; its log has the details`;
      if (pause !== undefined) await writer.putOff(run, step, new Postponed(world.clock.now() + pause, reason));
      else await writer.fail(run, step, reason);
    } catch (failed) {
      if (!(failed instanceof TakenOver)) throw failed;
    }
  }

  /** Executes a step; returns the step that follows at once, or undefined if the run has ended. */
  async function executeStep(run: RunRow, step: Step, graph: Graph): Promise<Step | 'waits' | undefined> {
    try {
      const taken = await takeStep(run, step);
      if (taken.waitsUntil !== undefined) {
        await writer.wait(run, step, taken.waitsUntil);
        return 'waits';
      }
      const next = findNextStep(graph, step, taken.branch ?? 'default');
      await writer.finish(run, { step, taken, next });
      reportEffects(world, run, { taken, wakeQueue });
      return next;
    } catch (error) {
      if (error instanceof Postponed) {
        await writer.putBack(run, step, error);
        return 'waits';
      }
      if (error instanceof CompletedBefore) {
        await writer.fail(run, step, 'The step was completed before, so it is not repeated.');
        return undefined;
      }
      if (!(error instanceof Refusal)) throw error;
      await writer.fail(run, step, error.message);
      return undefined;
    }
  }
}

/**
 * Announces the effects of a completed step: a failure here does not make the step fail. The queue also polls, only
 * later.
 */
function reportEffects(
  { log }: World,
  { id, automation_id: automationId }: RunRow,
  { taken, wakeQueue }: { taken: StepResult; wakeQueue: () => void },
): void {
  try {
    taken.afterwards?.();
    if (taken.hasMail) wakeQueue();
  } catch (error) {
    log.error(
      { err: error, runId: id, automationId },
      'automations: a step was completed, but the work after it failed',
    );
  }
}

async function loadGraph({ db }: World, { id, automation_id: automationId, version }: RunRow): Promise<Graph> {
  const graph = await findGraph(db, automationId, version);
  if (graph === undefined) throw new Error(`the version of the automation of the run ${id} is missing`);
  return JSON.parse(graph) as Graph;
}

export type Automations = LeasedLoop;

/**
 * Work loop of automations, woken by the commit that begins a run: each due run is claimed with a lease and executed
 * step by step, until it has to wait or ends. The teams take turns, and within a team its automations. A restored copy executes nothing until an operator
 * has switched sending on, because the original may do it. `wakeQueue` is called when mail was accepted.
 */
export function createAutomationLoop(world: World, wakeQueue: () => void): Automations {
  const { db, config, ids } = world;
  const { max_at_once: atOnceMax, lease_seconds: leaseSeconds, poll_ms: pollMs } = config.automations;
  const owner = ids.uuid();
  const turns = createTurns();
  const inTurn = (ids: readonly string[]): string[] => turns.inTurn(ids, (id) => id);
  const sending = createSendSwitch(world);
  return createLeasedLoop<RunRow>(world, {
    name: 'automations',
    wakeOn: ['automation_runs', 'instance_settings'],
    pollMs,
    atOnceMax,
    // A claim of one run costs nearly as much as a claim of many.
    endedPerLook: Math.ceil(atOnceMax / 2),
    describe: ({ id, automation_id: automationId }) => ({ runId: id, automationId }),
    lease: { owner, ms: leaseSeconds * 1000, leases: createLeases(db, 'automation_runs') },
    async claim({ limit }, lease) {
      const { isOn, isRestored } = await sending();
      if (!isOn && isRestored) return { items: [], left: 'nothing' };
      const items = await db.tx((tx) => claimDueRuns(tx, { ...lease, limit, inTurn }));
      const teams = new Set(items.map((one) => one.team_id));
      turns.took(listTurns(items));
      const nextAt = (): Promise<number | undefined> => nextRunAt(db, lease.now);
      return { items, left: items.length === limit || teams.size > 1 ? 'more' : 'nothing', nextAt };
    },
    process: createRunExecutor(world, { owner, wakeQueue }),
  });
}
