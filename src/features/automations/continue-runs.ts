import type { BodyOf } from '../../contract/index.ts';
import type { Executor } from '../../platform/db/index.ts';
import { notFound, refuse } from '../../platform/refusal.ts';
import { readEntry, recordRunEvents } from '../../mail/events/index.ts';
import type { Ctx } from '../../tenancy/access/index.ts';
import {
  completeFailedRun,
  findRun,
  listFailedRuns,
  lockContacts,
  lockRuns,
  markStepSkipped,
  removeFailedStep,
  reopenRun,
  stepsOfRun,
  type RunRow,
} from './automation-runs.store.ts';
import { loadAutomation } from './automations.ts';
import { findGraph, holdAutomation, type AutomationRow } from './automations.store.ts';
import { findNextStep, findTrigger, stepAt, type ConnectionType, type Graph, type Step } from './graph.ts';

/** How a failed run goes on: it repeats the step, or leaves it out and takes a branch if the step is a condition. */
interface Continuation {
  action: 'retry' | 'skip';
  branch?: Exclude<ConnectionType, 'default'> | undefined;
}

/** Repeats the step at which a run failed. */
export const retryAutomationRun = (ctx: Ctx, id: string, runId: string) =>
  continueRun(ctx, { id, runId }, { action: 'retry' });

/** Leaves out the step at which a run failed. */
export const skipAutomationStep = (ctx: Ctx, id: string, runId: string, body: BodyOf<'skipAutomationStep'> = {}) =>
  continueRun(ctx, { id, runId }, { action: 'skip', branch: body.branch });

async function continueRun(ctx: Ctx, { id, runId }: { id: string; runId: string }, how: Continuation) {
  const { db } = ctx.store;
  await loadAutomation(ctx, id);
  await db.tx(async (tx) => {
    const run = await findRun(tx, { teamId: ctx.teamId, automationId: id }, runId);
    if (!run) throw notFound('Run');
    const [refused] = await continueAll(ctx, tx, { id, runs: [run], how });
    if (refused) throw refuse('validation_error', { status: 422, say: refused.message });
  });
  const run = await findRun(db, { teamId: ctx.teamId, automationId: id }, runId);
  return { object: 'automation_run' as const, id: runId, status: run?.status ?? ('running' as const) };
}

const PAGE_MAX = 100;

/**
 * Continues the runs that failed at a step, among the next failed runs of the automation: one page in one transaction, so
 * that no call is long. The caller goes on from `next`, until it is null.
 */
export async function retryAutomationRuns(ctx: Ctx, id: string, body: BodyOf<'retryAutomationRuns'>) {
  const { step_key: stepKey, action = 'retry', branch, after, limit = PAGE_MAX } = body;
  await loadAutomation(ctx, id);
  const { continued, refused, last } = await ctx.store.db.tx(async (tx) => {
    const { failed, runs } = await listFailedAt(tx, id, { stepKey, after, limit });
    const refused = await continueAll(ctx, tx, { id, runs, how: { action, branch } });
    return { continued: runs.length - refused.length, refused, last: failed.length < limit ? null : failed.at(-1) };
  });
  return { object: 'automation_retry' as const, continued, refused, next: last?.id ?? null };
}

/** Reads the next failed runs of an automation, and those of them that failed at a step. */
async function listFailedAt(
  db: Executor,
  id: string,
  { stepKey, after, limit }: { stepKey: string; after: string | undefined; limit: number },
): Promise<{ failed: RunRow[]; runs: RunRow[] }> {
  const failed = await listFailedRuns(db, id, { after: after?.toLowerCase(), limit });
  const runs: RunRow[] = [];
  for (const run of failed) if ((await currentStep(db, run))?.key === stepKey) runs.push(run);
  return { failed, runs };
}

/** A run that a call would continue, with the steps of the version that it started with. */
export interface ContinuedRun {
  id: string;
  contactId: string;
  version: number;
  graph: Graph;
}

/** Returns the run that a call names, or the runs that `retryAutomationRuns` would continue with this body. */
export async function previewContinuedRuns(
  { store, teamId }: Ctx,
  id: string,
  which: { runId: string } | BodyOf<'retryAutomationRuns'>,
): Promise<ContinuedRun[]> {
  const { db } = store;
  const runs: RunRow[] = [];
  if ('runId' in which) {
    const run = await findRun(db, { teamId, automationId: id }, which.runId);
    if (run) runs.push(run);
  } else {
    const { step_key: stepKey, after, limit = PAGE_MAX } = which;
    runs.push(...(await listFailedAt(db, id, { stepKey, after, limit })).runs);
  }
  const graphs = new Map<number, Graph>();
  for (const run of runs) if (!graphs.has(run.version)) graphs.set(run.version, await loadGraph(db, run));
  return runs.map(({ id: runId, contact_id: contactId, version }) => {
    const graph = graphs.get(version);
    if (!graph) throw new Error(`the graph of the version ${version} is missing`);
    return { id: runId, contactId, version, graph };
  });
}

async function holdEnabled({ teamId }: Ctx, tx: Executor, id: string): Promise<AutomationRow> {
  const automation = await holdAutomation(tx, teamId, id);
  if (!automation) throw notFound('Automation');
  if (automation.status === 'enabled') return automation;
  const say = 'The automation is disabled, so none of its runs can be continued; enable it first.';
  throw refuse('validation_error', { status: 422, say });
}

interface Continuing {
  id: string;
  runs: readonly RunRow[];
  how: Continuation;
}

interface NotContinued {
  run_id: string;
  message: string;
}

/**
 * Continues runs of an automation; returns those that cannot be continued, with the reasons. Contacts are locked before
 * the automation, and that before its runs, as in every transaction that locks several of them.
 */
async function continueAll(ctx: Ctx, tx: Executor, { id, runs, how }: Continuing): Promise<NotContinued[]> {
  const contacts = await lockContacts(
    tx,
    ctx.teamId,
    runs.map((run) => run.contact_id),
  );
  const automation = await holdEnabled(ctx, tx, id);
  const locked = await lockRuns(
    tx,
    runs.map((run) => run.id),
  );
  const refused: NotContinued[] = [];
  for (const run of locked) {
    const message = contacts.has(run.contact_id)
      ? await continueOne(ctx, tx, { automation, run, how })
      : 'The contact of the run was deleted.';
    if (message !== undefined) refused.push({ run_id: run.id, message });
  }
  return refused;
}

interface OneRun {
  automation: AutomationRow;
  run: RunRow;
  how: Continuation;
}

/** Continues a locked run; returns the reason if it cannot be continued. */
async function continueOne(ctx: Ctx, tx: Executor, { automation, run, how }: OneRun): Promise<string | undefined> {
  if (run.status !== 'failed') return `The run is ${run.status}; only a failed run can be continued.`;
  const graph = await loadGraph(tx, run);
  const step = findStep(graph, run);
  if (!step) return 'The step at which the run failed does not exist.';
  if (automation.reentry === 'when_ended') {
    const { isLive } = await readEntry(tx, { automationId: automation.id, contactId: run.contact_id });
    if (isLive) return 'The contact has another run in progress, and reentry is when_ended.';
  }
  return how.action === 'retry' ? retryStep(ctx, tx, run, step) : skipStep(ctx, tx, { run, step, graph, how });
}

/** Repeats a step. One that was completed is not repeated, because its email, if it has one, was accepted. */
async function retryStep({ store }: Ctx, tx: Executor, run: RunRow, step: Step): Promise<string | undefined> {
  const done = (await stepsOfRun(tx, run.id)).find(({ step_key: key }) => key === step.key);
  if (done?.status === 'completed') {
    return `The step ${step.key} was completed before the run failed, so it is not repeated; skip it instead.`;
  }
  await removeFailedStep(tx, run.id, step.key);
  await reopenRun(tx, { id: run.id, stepKey: run.step_key, dueAt: store.clock.now() });
  return undefined;
}

async function skipStep(
  { store }: Ctx,
  tx: Executor,
  { run, step, graph, how: { branch } }: { run: RunRow; step: Step; graph: Graph; how: Continuation },
): Promise<string | undefined> {
  const isCondition = step.type === 'condition';
  if (isCondition && branch === undefined) {
    return `The step ${step.key} is a condition; name the branch to take: condition_met or condition_not_met.`;
  }
  if (!isCondition && branch !== undefined) return `The step ${step.key} is no condition; omit branch.`;
  const now = store.clock.now();
  await markStepSkipped(tx, run.id, step.key);
  const next = findNextStep(graph, step, branch ?? 'default');
  if (next) {
    await reopenRun(tx, { id: run.id, stepKey: next.key, dueAt: now });
    return undefined;
  }
  await completeFailedRun(tx, run.id, now);
  await recordRunEvents(tx, store.ids, [{ ...run, status: 'completed', completedAt: now, error: null }], now);
  return undefined;
}

const loadGraph = async (db: Executor, { automation_id: id, version }: RunRow): Promise<Graph> =>
  JSON.parse((await findGraph(db, id, version)) ?? '{"steps":[],"connections":[]}') as Graph;

/** Returns the step that a run is at; one that did not begin is at its trigger. */
const findStep = (graph: Graph, { step_key: key }: RunRow): Step | undefined =>
  key === null ? findTrigger(graph) : stepAt(graph, key);

/** Reads the graph only for a run that failed before its first step was written. */
const currentStep = async (db: Executor, run: RunRow): Promise<Pick<Step, 'key'> | undefined> =>
  run.step_key === null ? findTrigger(await loadGraph(db, run)) : { key: run.step_key };
