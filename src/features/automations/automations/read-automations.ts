import type { QueryOf } from '../../../contract/index.ts';
import { isoTime } from '../../../platform/clock/index.ts';
import { mustBeAlone, type Page } from '../../../platform/db/index.ts';
import { notFound } from '../../../platform/refusal/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import {
  countRunsAtSteps,
  findRun,
  listRunRows,
  runRowsEnding,
  stepsOfRun,
  type RunRow,
  type RunStatus,
  type RunStepRow,
} from '../automation-runs/index.ts';
import { findAutomation, findGraph, listAutomationRows, type AutomationRow } from './automations.store.ts';
import { inGraphOrder, type Graph, type Step } from './graph.ts';

export async function getAutomation(ctx: Ctx, id: string) {
  const row = await automationOf(ctx, id);
  const graph = await graphOf(ctx, id, row.version);
  const { steps, connections } = graph;
  const runs = await countRuns(ctx, id, graph);
  return { object: 'automation' as const, ...present(row), steps: [...steps], connections: [...connections], runs };
}

/** Counted with each call, and so only up to here. */
const COUNTED_TO = 10_000;

async function countRuns({ store }: Ctx, id: string, { steps }: Graph) {
  const rows = await countRunsAtSteps(store.db, id, COUNTED_TO);
  const trigger = steps.find(({ type }) => type === 'trigger')?.key ?? '';
  const counts = { running: 0, completed: 0, failed: 0, cancelled: 0 };
  const atSteps = new Map<string, number>();
  for (const { status, step_key: stepKey, runs } of rows) {
    counts[status] += runs;
    // One that has not begun stands at the trigger.
    const key = stepKey ?? trigger;
    if (status === 'running') atSteps.set(key, (atSteps.get(key) ?? 0) + runs);
  }
  return { ...counts, counted_to: COUNTED_TO, at_steps: [...atSteps].map(([key, runs]) => ({ key, runs })) };
}

export async function listAutomations({ store, teamId }: Ctx, query: QueryOf<'listAutomations'>, page: Page) {
  const { status, search } = query;
  const { rows, hasMore } = await listAutomationRows(store.db, teamId, { status, search }, page);
  return { object: 'list' as const, has_more: hasMore, data: rows.map(present) };
}

export async function listAutomationRuns(ctx: Ctx, id: string, query: QueryOf<'listAutomationRuns'>, page: Page) {
  const { status, id_end: end } = query;
  if (end !== undefined) mustBeAlone(query);
  await automationOf(ctx, id);
  const statuses = status?.split(',') as RunStatus[] | undefined;
  const { db } = ctx.store;
  const { rows, hasMore } =
    end === undefined ? await listRunRows(db, id, statuses, page) : await runRowsEnding(db, id, end, page);
  return { object: 'list' as const, has_more: hasMore, data: rows.map(presentRun) };
}

/** With the steps of its version, those that it has not come to among them. */
export async function getAutomationRun(ctx: Ctx, id: string, runId: string) {
  const { store, teamId } = ctx;
  await automationOf(ctx, id);
  const run = await findRun(store.db, { teamId, automationId: id }, runId);
  if (!run) throw notFound('Run');
  const graph = await graphOf(ctx, id, run.version);
  const done = new Map((await stepsOfRun(store.db, runId)).map((step) => [step.step_key, step]));
  const steps = inGraphOrder(graph).map((step) => presentStep(run, step, done.get(step.key)));
  return { object: 'automation_run' as const, ...presentRun(run), steps };
}

async function automationOf({ store, teamId }: Ctx, id: string): Promise<AutomationRow> {
  const row = await findAutomation(store.db, teamId, id);
  if (!row) throw notFound('Automation');
  return row;
}

const graphOf = async ({ store }: Ctx, id: string, version: number): Promise<Graph> =>
  JSON.parse((await findGraph(store.db, id, version)) ?? '{"steps":[],"connections":[]}') as Graph;

const present = ({ id, name, status, reentry, created_at: created, updated_at: updated }: AutomationRow) => ({
  ...{ id, name, status, reentry },
  ...{ created_at: isoTime(created), updated_at: isoTime(updated) },
});

const timeOrNull = (at: number | null): string | null => (at === null ? null : isoTime(at));

const presentRun = ({
  id,
  status,
  contact_id,
  started_at: started,
  completed_at: completed,
  created_at: created,
  error,
}: RunRow) => ({
  ...{ id, status, contact_id, started_at: timeOrNull(started), completed_at: timeOrNull(completed) },
  ...{ created_at: isoTime(created), error },
});

function presentStep(run: RunRow, { key, type }: Step, done: RunStepRow | undefined) {
  const { started_at: started = null, completed_at: completed = null } = done ?? {};
  return {
    ...{ key, type, status: statusOf(run, done) },
    ...{ output: objectIn(done?.output), error: objectIn(done?.error) },
    ...{ started_at: timeOrNull(started), completed_at: timeOrNull(completed) },
    created_at: isoTime(started ?? run.created_at),
  };
}

/** Nothing waits in a run that has ended. */
function statusOf(run: RunRow, done: RunStepRow | undefined) {
  if (run.status === 'running') return done?.status ?? ('pending' as const);
  return done === undefined || done.status === 'waiting' ? ('skipped' as const) : done.status;
}

const objectIn = (json: string | null | undefined): Record<string, unknown> | null =>
  json === null || json === undefined ? null : (JSON.parse(json) as Record<string, unknown>);
