import type { BodyOf } from '../../../contract/index.ts';
import type { Executor } from '../../../platform/db/index.ts';
import { notFound, refuse } from '../../../platform/refusal/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { cancelRunsOf, forgetEntriesOf } from '../automation-runs/index.ts';
import { declaredProperties } from '../../audience/contact-properties/index.ts';
import {
  findGraph,
  insertAutomation,
  insertVersion,
  lockAutomation,
  markAutomationDeleted,
  saveAutomation,
  type AutomationRow,
} from './automations.store.ts';
import { checkConfigs } from './check-configs.ts';
import { checkNames, type Trigger } from './check-names.ts';
import { Faults } from './faults.ts';
import type { Graph } from './graph.ts';
import { readGraph } from './read-graph.ts';
import { warnOfSteps } from './warn-of-steps.ts';

const named = (id: string) => ({ object: 'automation' as const, id });
/** The written automation, with its warnings. */
const warned = (id: string, warnings: readonly string[]) => ({
  ...named(id),
  ...(warnings.length === 0 ? {} : { warnings: [...warnings] }),
});

export async function createAutomation(ctx: Ctx, input: BodyOf<'createAutomation'>) {
  const { store, teamId } = ctx;
  const { name, status = 'disabled', reentry = 'always', steps, connections } = input;
  const now = store.clock.now();
  const id = store.ids.uuid();
  const warnings = await store.db.tx(async (tx) => {
    const { graph, trigger } = await checkedGraph(ctx, tx, { steps, connections });
    await insertAutomation(tx, {
      ...{ id, team_id: teamId, name, status, reentry, version: 1, ...trigger, created_at: now, updated_at: now },
    });
    await insertVersion(tx, { automationId: id, version: 1, graph, at: now });
    return warnOfSteps(tx, teamId, JSON.parse(graph) as Graph);
  });
  return warned(id, warnings);
}

/** Steps and connections write the next version; runs that have begun keep theirs. */
export async function updateAutomation(ctx: Ctx, id: string, input: BodyOf<'updateAutomation'>) {
  const { steps, connections } = input;
  if (Object.values(input).every((value) => value === undefined)) {
    throw refused('The body must have at least one of name, status, reentry, and steps with connections.');
  }
  if ((steps === undefined) !== (connections === undefined)) {
    const [given, missing] = steps === undefined ? ['connections', 'steps'] : ['steps', 'connections'];
    throw refused(`${given} goes with ${missing}: a version is written as a whole.`, missing);
  }
  let warnings: string[] = [];
  await changed(ctx, id, async (tx, row) => {
    const { name = row.name, status = row.status, reentry = row.reentry } = input;
    const next: AutomationRow = { ...row, name, status, reentry };
    if (steps !== undefined && connections !== undefined) {
      const { graph, trigger } = await checkedGraph(ctx, tx, { steps, connections });
      Object.assign(next, trigger, { version: row.version + 1 });
      await insertVersion(tx, { automationId: id, version: next.version, graph, at: ctx.store.clock.now() });
    } else if (status === 'enabled' && row.status !== 'enabled') {
      Object.assign(next, await triggerNow(ctx, tx, row));
    }
    await saveAutomation(tx, { ...next, updated_at: ctx.store.clock.now() });
    if (steps !== undefined || status === 'enabled') {
      const graph = (await findGraph(tx, id, next.version)) ?? '';
      warnings = await warnOfSteps(tx, ctx.teamId, JSON.parse(graph) as Graph);
    }
  });
  return warned(id, warnings);
}

export async function stopAutomation(ctx: Ctx, id: string) {
  const { clock } = ctx.store;
  await changed(ctx, id, async (tx, row) => {
    if (row.status === 'enabled') await saveAutomation(tx, { ...row, status: 'disabled', updated_at: clock.now() });
    await cancelRunsOf(tx, id, clock.now());
  });
  return { ...named(id), status: 'disabled' as const };
}

export async function deleteAutomation(ctx: Ctx, id: string) {
  const { clock } = ctx.store;
  await changed(ctx, id, async (tx) => {
    await markAutomationDeleted(tx, id, clock.now());
    await cancelRunsOf(tx, id, clock.now());
    await forgetEntriesOf(tx, id);
  });
  return { ...named(id), deleted: true as const };
}

const COPY = ' (copy)';
const NAME_CHARS_MAX = 200;

/** The graph as it stands, whatever of what it names is still there: the copy begins disabled. */
export async function duplicateAutomation(ctx: Ctx, id: string) {
  const { store } = ctx;
  const copyId = store.ids.uuid();
  await changed(ctx, id, async (tx, row) => {
    const now = store.clock.now();
    const name = `${row.name.slice(0, NAME_CHARS_MAX - COPY.length)}${COPY}`;
    await insertAutomation(tx, {
      ...{ ...row, id: copyId, name, status: 'disabled', version: 1, created_at: now, updated_at: now },
    });
    const graph = (await findGraph(tx, id, row.version)) ?? '';
    await insertVersion(tx, { automationId: copyId, version: 1, graph, at: now });
  });
  return named(copyId);
}

async function changed(
  { store, teamId }: Ctx,
  id: string,
  change: (tx: Executor, row: AutomationRow) => Promise<void>,
): Promise<void> {
  await store.db.tx(async (tx) => {
    const row = await lockAutomation(tx, teamId, id);
    if (!row) throw notFound('Automation');
    await change(tx, row);
  });
}

/** As it is stored, and what starts it; refused with one entry for each step at fault. */
async function checkedGraph(
  { store, teamId }: Ctx,
  tx: Executor,
  { steps, connections }: { steps: readonly unknown[]; connections: readonly unknown[] },
): Promise<{ graph: string; trigger: Trigger }> {
  const faults = new Faults();
  const graph = readGraph(steps, connections, faults);
  const properties = new Map((await declaredProperties(tx, teamId)).map(({ key, type }) => [key, type]));
  checkConfigs(graph, { now: store.clock.now(), properties }, faults);
  const trigger = await checkNames(tx, teamId, graph, faults);
  const refusal = faults.refusal();
  if (refusal) throw refusal;
  return { graph: JSON.stringify(graph), trigger };
}

/** What its graph names may be gone since it was written: it begins no run then, or each fails. */
async function triggerNow({ teamId }: Ctx, tx: Executor, { id, version }: AutomationRow): Promise<Trigger> {
  const faults = new Faults();
  const graph = JSON.parse((await findGraph(tx, id, version)) ?? '') as Graph;
  const trigger = await checkNames(tx, teamId, graph, faults);
  const refusal = faults.refusal();
  if (refusal) throw refusal;
  return trigger;
}

const refused = (say: string, path = '') =>
  refuse('validation_error', { status: 422, say, ...(path !== '' && { errors: [{ path, message: say }] }) });
