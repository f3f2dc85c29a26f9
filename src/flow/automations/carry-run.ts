import { recordEvents } from '../../events/index.ts';
import { isoTime, nextTurn } from '../../platform/clock/index.ts';
import type { Executor } from '../../platform/db/index.ts';
import { Refusal } from '../../platform/refusal/index.ts';
import type { World } from '../../platform/world/index.ts';
import { endRun, moveRun, writeRunStep, type RunRow } from '../../resources/automation-runs/index.ts';
import {
  findGraph,
  type Connection,
  type ConnectionType,
  type Graph,
  type Step,
} from '../../resources/automations/index.ts';
import { createTakeStep } from './take-step.ts';
import { Postponed, type Taken } from './taken.ts';

/** It was cancelled, or another process has it. */
class TakenOver extends Error {}

interface Parts {
  owner: string;
  wakeQueue(): void;
}

/** Carries a run from the step where it stands until it has to wait, or is over. Each step is one transaction, with all it does. */
export function createCarryRun(
  world: World,
  { owner, wakeQueue }: Parts,
): (run: RunRow, signal: AbortSignal) => Promise<void> {
  const { db, clock } = world;
  const takeStep = createTakeStep(world);

  return async (run, signal) => {
    const graph = JSON.parse(
      (await findGraph(db, run.automation_id, run.version)) ?? '{"steps":[],"connections":[]}',
    ) as Graph;
    let step = run.step_key === null ? triggerOf(graph) : stepAt(graph, run.step_key);
    let now: RunRow = run;
    try {
      while (step && !signal.aborted) {
        const next = await carry(now, step, graph);
        if (next === 'waits') return;
        now = { ...now, started_at: now.started_at ?? clock.now(), step_key: next?.key ?? null };
        step = next;
        await nextTurn();
      }
    } catch (error) {
      if (!(error instanceof TakenOver)) throw error;
    }
  };

  /** Answers the step that follows at once; undefined where the run is over. */
  async function carry(run: RunRow, step: Step, graph: Graph): Promise<Step | 'waits' | undefined> {
    let taken: Taken;
    try {
      taken = await takeStep(run, step);
      const { waitsUntil, afterwards } = taken;
      if (waitsUntil !== undefined) {
        await db.tx((tx) => wait(tx, run, step, waitsUntil));
        return 'waits';
      }
      const next = nextOf(graph, step, taken.way ?? 'default');
      await db.tx((tx) => finish(tx, run, { step, taken, next }));
      afterwards?.();
      if (taken.hasMail) wakeQueue();
      return next;
    } catch (error) {
      if (error instanceof Postponed) {
        await move(db, run, { stepKey: run.step_key, dueAt: error.until, isBegun: false });
        return 'waits';
      }
      if (!(error instanceof Refusal)) throw error;
      const { message } = error;
      await db.tx((tx) => fail(tx, run, { step, message }));
      return undefined;
    }
  }

  async function move(
    tx: Executor,
    { id }: RunRow,
    { stepKey, dueAt, isBegun = true }: { stepKey: string | null; dueAt: number; isBegun?: boolean },
  ): Promise<void> {
    const startedAt = isBegun ? clock.now() : null;
    if (!(await moveRun(tx, { id, owner, stepKey, dueAt, startedAt }))) throw new TakenOver();
  }

  async function wait(tx: Executor, run: RunRow, step: Step, until: number): Promise<void> {
    await begin(tx, run);
    await move(tx, run, { stepKey: step.key, dueAt: until });
    await note(tx, run, step, { status: 'waiting', output: { until: isoTime(until) } });
  }

  async function finish(
    tx: Executor,
    run: RunRow,
    { step, taken, next }: { step: Step; taken: Taken; next: Step | undefined },
  ): Promise<void> {
    await begin(tx, run);
    // First, so that what it does is not done where it was cancelled.
    if (next) await move(tx, run, { stepKey: next.key, dueAt: clock.now() });
    else await end(tx, run, 'completed', null);
    const output = (await taken.work?.(tx)) ?? taken.output ?? null;
    await note(tx, run, step, { status: 'completed', output });
  }

  async function fail(tx: Executor, run: RunRow, { step, message }: { step: Step; message: string }): Promise<void> {
    await begin(tx, run);
    await end(tx, run, 'failed', `${step.key}: ${message}`);
    await note(tx, run, step, { status: 'failed', output: null, error: { message } });
  }

  /** Told with the first thing that it does. */
  async function begin(tx: Executor, run: RunRow): Promise<void> {
    if (run.started_at === null) await tell(tx, run, { status: 'running', completedAt: null, error: null });
  }

  async function end(tx: Executor, run: RunRow, status: 'completed' | 'failed', error: string | null): Promise<void> {
    const at = clock.now();
    if (!(await endRun(tx, { id: run.id, owner, status, error, at }))) throw new TakenOver();
    await tell(tx, run, { status, completedAt: at, error });
  }

  async function note(
    tx: Executor,
    { id }: RunRow,
    { key }: Step,
    { status, output, error }: { status: 'waiting' | 'completed' | 'failed'; output: object | null; error?: object },
  ): Promise<void> {
    const at = clock.now();
    await writeRunStep(tx, {
      ...{ run_id: id, step_key: key, status, output: output && JSON.stringify(output) },
      ...{ error: error === undefined ? null : JSON.stringify(error), started_at: at },
      completed_at: status === 'waiting' ? null : at,
    });
  }

  async function tell(
    tx: Executor,
    run: RunRow,
    {
      status,
      completedAt,
      error,
    }: { status: 'running' | 'completed' | 'failed'; completedAt: number | null; error: string | null },
  ): Promise<void> {
    const at = clock.now();
    const type = `automation.run.${status === 'running' ? 'started' : status}` as const;
    const { id, team_id: teamId, automation_id, contact_id, started_at: startedAt } = run;
    const data = {
      ...{ id, automation_id, contact_id, status, started_at: isoTime(Number(startedAt ?? at)) },
      ...{ completed_at: completedAt === null ? null : isoTime(completedAt), error },
    };
    await recordEvents(tx, world.ids, [{ teamId, type, subjectId: id, at, data }]);
  }
}

const triggerOf = ({ steps }: Graph): Step | undefined => steps.find(({ type }) => type === 'trigger');
const stepAt = ({ steps }: Graph, wanted: string): Step | undefined => steps.find(({ key }) => key === wanted);

function nextOf(graph: Graph, { key }: Step, way: ConnectionType): Step | undefined {
  const found: Connection | undefined = graph.connections.find(({ from, type }) => from === key && type === way);
  return found && stepAt(graph, found.to);
}
