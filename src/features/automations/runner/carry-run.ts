import { nextTurn } from '../../../platform/clock/index.ts';
import { isDatabaseSetback } from '../../../platform/db/index.ts';
import { Refusal } from '../../../platform/refusal/index.ts';
import type { World } from '../../../platform/world/index.ts';
import type { RunRow } from '../automation-runs/index.ts';
import { findGraph, type ConnectionType, type Graph, type Step } from '../automations/index.ts';
import { RunWriter, TakenOver } from './run-writer.ts';
import { createTakeStep } from './take-step.ts';
import { Postponed, type Taken } from './taken.ts';

interface Parts {
  owner: string;
  wakeQueue(): void;
}

/** How long a step waits that failed by an error of the service, the first time, the second, and so on. */
const PAUSES_MS = [1, 5, 30, 120, 360, 720, 1440].map((minutes) => minutes * 60_000);

/** Carries a run from the step where it stands until it has to wait, or is over. Each step is one transaction, with all it does. */
export function createCarryRun(
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
      const graph = await graphOf(world, run);
      step = run.step_key === null ? triggerOf(graph) : stepAt(graph, run.step_key);
      while (step && !signal.aborted) {
        const next = await carry(now, step, graph);
        if (next === 'waits') return;
        now = { ...now, started_at: now.started_at ?? world.clock.now(), step_key: next?.key ?? null, tries: 0 };
        step = next;
        await nextTurn();
      }
    } catch (error) {
      if (error instanceof TakenOver) return;
      // The database has to come back first.
      if (isDatabaseSetback(error)) throw error;
      await tryLater(now, step, error);
    }
  };

  /** By an error of the service: it is tried again ever later, and at last the run fails. */
  async function tryLater(run: RunRow, step: Step | undefined, error: unknown): Promise<void> {
    const named = { runId: run.id, automationId: run.automation_id, step: step?.key, tries: run.tries + 1 };
    log.error({ err: error, ...named }, 'automations: a step failed by an error of the service');
    const pause = PAUSES_MS[run.tries];
    try {
      const times = run.tries === 0 ? 'once' : `${run.tries + 1} times`;
      const reason = `an error of the service, ${times}; its log says which`;
      if (pause !== undefined) await writer.putOff(run, step, new Postponed(world.clock.now() + pause, reason));
      else await writer.fail(run, step, reason);
    } catch (failed) {
      if (!(failed instanceof TakenOver)) throw failed;
    }
  }

  /** Answers the step that follows at once; undefined where the run is over. */
  async function carry(run: RunRow, step: Step, graph: Graph): Promise<Step | 'waits' | undefined> {
    try {
      const taken = await takeStep(run, step);
      if (taken.waitsUntil !== undefined) {
        await writer.wait(run, step, taken.waitsUntil);
        return 'waits';
      }
      const next = nextOf(graph, step, taken.way ?? 'default');
      await writer.finish(run, { step, taken, next });
      tellOn(world, run, { taken, wakeQueue });
      return next;
    } catch (error) {
      if (error instanceof Postponed) {
        await writer.putBack(run, step, error);
        return 'waits';
      }
      if (!(error instanceof Refusal)) throw error;
      await writer.fail(run, step, error.message);
      return undefined;
    }
  }
}

/** The step is done: what fails here is no failure of it. The queue looks by itself, if later. */
function tellOn(
  { log }: World,
  { id, automation_id: automationId }: RunRow,
  { taken, wakeQueue }: { taken: Taken; wakeQueue: () => void },
): void {
  try {
    taken.afterwards?.();
    if (taken.hasMail) wakeQueue();
  } catch (error) {
    log.error({ err: error, runId: id, automationId }, 'automations: a step is done, and was not told on');
  }
}

async function graphOf({ db }: World, { id, automation_id: automationId, version }: RunRow): Promise<Graph> {
  const graph = await findGraph(db, automationId, version);
  if (graph === undefined) throw new Error(`the version of the automation of the run ${id} is missing`);
  return JSON.parse(graph) as Graph;
}

const triggerOf = ({ steps }: Graph): Step | undefined => steps.find(({ type }) => type === 'trigger');
const stepAt = ({ steps }: Graph, wanted: string): Step | undefined => steps.find(({ key }) => key === wanted);

function nextOf(graph: Graph, { key }: Step, way: ConnectionType): Step | undefined {
  const found = graph.connections.find(({ from, type }) => from === key && type === way);
  return found && stepAt(graph, found.to);
}
