import type { Store } from '../../platform/store.ts';
import type { BodyOf, QueryOf } from '../../contract/index.ts';
import { mustBeAlone, type Executor, type Page } from '../../platform/db/index.ts';
import { notFound, refuse } from '../../platform/refusal.ts';
import { readAppName, type Ctx } from '../../tenancy/access/index.ts';
import {
  cancelAutomationRuns,
  forgetEntries,
  forgetOccurrences,
  countRunsAtSteps,
  findRun,
  listRunRows,
  runRowsEnding,
  stepsOfRun,
  type RunRow,
  type RunStatus,
  type RunStepRow,
} from './automation-runs.store.ts';
import { isUuid } from '../../platform/ids.ts';
import { forgetRefusals } from '../../mail/events/index.ts';
import { contactNamed, declaredProperties } from '../audience/index.ts';
import {
  findGraph,
  countEnabledLike,
  insertAutomation,
  insertVersion,
  lockAutomation,
  markAutomationDeleted,
  saveAutomation,
  findAutomation,
  listAutomationRows,
  copyExits,
  saveExits,
  type AutomationRow,
} from './automations.store.ts';
import { checkConfigs, checkNames, findExits, type ExitEvent, type Trigger } from './check-steps.ts';
import { Faults, readGraph, inGraphOrder, isOneOf, isRecord, listed, STREAMS, type Graph, type Step } from './graph.ts';
import { isoTime } from '../../platform/clock.ts';
import { composeStepBodies, countChars, fallbacksIn } from '../campaigns/index.ts';
import { findTeam } from '../../tenancy/teams/index.ts';
import { findPublishedTemplate } from '../templates/index.ts';
import { countUnreadableDates, describeUnreadable } from './unreadable-dates.ts';

const named = (id: string) => ({ object: 'automation' as const, id });
/** Formats a written automation with its warnings. */
const warned = (id: string, warnings: readonly string[]) => ({
  ...named(id),
  ...(warnings.length === 0 ? {} : { warnings: [...warnings] }),
});

export async function createAutomation(ctx: Ctx, input: BodyOf<'createAutomation'>) {
  const { store, teamId } = ctx;
  const { name, status = 'disabled', reentry = 'always', exit_on: exitOn = [], steps, connections } = input;
  const now = store.clock.now();
  const id = store.ids.uuid();
  const written = await store.db.tx(async (tx) => {
    const { graph, trigger, exits } = await checkedGraph(ctx, tx, { steps, connections }, exitOn);
    const row = {
      id,
      team_id: teamId,
      name,
      status,
      reentry,
      version: 1,
      disabled_at: null,
      exit_on: formatNames(exits),
      dates_done_at: trigger.trigger_date === null ? null : now,
      changed_by_app: readAppName(ctx.actor),
      created_at: now,
      updated_at: now,
      ...trigger,
    };
    await mustHaveRoom(tx, row);
    await insertAutomation(tx, row);
    await insertVersion(tx, { automationId: id, version: 1, graph, at: now });
    await saveExits(tx, row, exits);
    return { row, graph };
  });
  return warned(id, await listWarnings(store, written));
}

/** One event begins a run of each automation that starts at it, in one transaction. */
const ENABLED_PER_EVENT_MAX = 50;

async function mustHaveRoom(tx: Executor, row: AutomationRow): Promise<void> {
  if (row.status !== 'enabled' || (await countEnabledLike(tx, row)) < ENABLED_PER_EVENT_MAX) return;
  throw refused(
    `status: at most ${ENABLED_PER_EVENT_MAX} automations that start at ${row.trigger_date === null ? 'the same event' : 'dates'} may be enabled, and there are as many; stop one of them, or combine some.`,
    'status',
  );
}

/** Updates an automation. New steps and connections make the next version; runs that have begun keep theirs. */
export async function updateAutomation(ctx: Ctx, id: string, input: BodyOf<'updateAutomation'>) {
  const { steps, connections } = input;
  if (Object.values(input).every((value) => value === undefined)) {
    throw refused('The body must have at least one of name, status, reentry, exit_on, and steps with connections.');
  }
  if ((steps === undefined) !== (connections === undefined)) {
    const [given, missing] = steps === undefined ? ['connections', 'steps'] : ['steps', 'connections'];
    throw refused(`${given} requires ${missing}; send both, because a version is replaced as a whole.`, missing);
  }
  let written: { row: AutomationRow; graph: string } | undefined;
  await changed(ctx, id, async (tx, row) => {
    const { name = row.name, status = row.status, reentry = row.reentry } = input;
    const changedByApp = readAppName(ctx.actor) ?? row.changed_by_app;
    const enabled = switched(row, status, ctx.store.clock.now());
    const next: AutomationRow = { ...enabled, name, reentry, changed_by_app: changedByApp };
    const isEnabling = status === 'enabled' && row.status !== 'enabled';
    const names = input.exit_on === undefined ? readNames(row) : (input.exit_on ?? []);
    let exits: ExitEvent[] | undefined;
    if (steps !== undefined && connections !== undefined) {
      const checked = await checkedGraph(ctx, tx, { steps, connections }, names);
      Object.assign(next, checked.trigger, { version: row.version + 1 });
      exits = checked.exits;
      const at = ctx.store.clock.now();
      await insertVersion(tx, { automationId: id, version: next.version, graph: checked.graph, at });
    } else if (isEnabling) {
      const checked = await triggerNow(ctx, tx, row, names);
      Object.assign(next, checked.trigger);
      exits = checked.exits;
    } else if (input.exit_on !== undefined) {
      exits = await checkedExits(ctx, tx, names);
    }
    next.dates_done_at = findDatesDone(row, next, ctx.store.clock.now());
    if (exits) {
      next.exit_on = formatNames(exits);
      await saveExits(tx, row, exits);
    }
    if (steps !== undefined || row.status !== 'enabled') await mustHaveRoom(tx, next);
    await saveAutomation(tx, { ...next, updated_at: ctx.store.clock.now() });
    if (steps !== undefined || status === 'enabled') {
      const graph = await findGraph(tx, id, next.version);
      written = graph === undefined ? undefined : { row: next, graph };
    }
  });
  return warned(id, written === undefined ? [] : await listWarnings(ctx.store, written));
}

/**
 * Returns the time from which dates start runs: dates that passed while the automation was disabled, or had another
 * trigger, start none.
 */
function findDatesDone(before: AutomationRow, after: AutomationRow, now: number): number | null {
  if (after.trigger_date === null) return null;
  const isSame = before.trigger_date === after.trigger_date && before.trigger_property_id === after.trigger_property_id;
  return isSame && before.status === 'enabled' ? before.dates_done_at : now;
}

/** Returns an automation in a status. One that was never enabled is not disabled since any time. */
function switched(row: AutomationRow, status: AutomationRow['status'], now: number): AutomationRow {
  if (status === row.status) return row;
  return { ...row, status, disabled_at: status === 'disabled' ? now : null };
}

export async function stopAutomation(ctx: Ctx, id: string) {
  const { clock } = ctx.store;
  await changed(ctx, id, async (tx, row) => {
    if (row.status === 'enabled') {
      await saveAutomation(tx, { ...switched(row, 'disabled', clock.now()), updated_at: clock.now() });
    }
    await cancelAutomationRuns(tx, id, clock.now());
  });
  return { ...named(id), status: 'disabled' as const };
}

export async function deleteAutomation(ctx: Ctx, id: string) {
  const { clock } = ctx.store;
  await changed(ctx, id, async (tx, row) => {
    await markAutomationDeleted(tx, id, clock.now());
    await cancelAutomationRuns(tx, id, clock.now());
    await saveExits(tx, row, []);
    await forgetEntries(tx, id);
    await forgetRefusals(tx, id);
    await forgetOccurrences(tx, id);
  });
  return { ...named(id), deleted: true as const };
}

const COPY = ' (copy)';
const NAME_CHARS_MAX = 200;

/** Copies the current graph, whether or not everything that it names still exists: the copy is disabled at first. */
export async function duplicateAutomation(ctx: Ctx, id: string) {
  const { store } = ctx;
  const copyId = store.ids.uuid();
  await changed(ctx, id, async (tx, row) => {
    const now = store.clock.now();
    const name = `${row.name.slice(0, NAME_CHARS_MAX - COPY.length)}${COPY}`;
    await insertAutomation(tx, {
      ...row,
      id: copyId,
      name,
      status: 'disabled',
      disabled_at: null,
      version: 1,
      changed_by_app: readAppName(ctx.actor) ?? row.changed_by_app,
      created_at: now,
      updated_at: now,
    });
    const graph = (await findGraph(tx, id, row.version)) ?? '';
    await insertVersion(tx, { automationId: copyId, version: 1, graph, at: now });
    await copyExits(tx, id, copyId);
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

/** Returns the graph as it is stored, its trigger and its exits; throws with one entry for each faulty step. */
async function checkedGraph(
  { store, teamId }: Ctx,
  tx: Executor,
  { steps, connections }: { steps: readonly unknown[]; connections: readonly unknown[] },
  exitOn: readonly string[],
): Promise<{ graph: string; trigger: Trigger; exits: ExitEvent[] }> {
  const faults = new Faults();
  const graph = readGraph(steps, connections, faults);
  const properties = new Map((await declaredProperties(tx, teamId)).map(({ key, type }) => [key, type]));
  checkConfigs(graph, { now: store.clock.now(), properties }, faults);
  const trigger = await checkNames(tx, { teamId, now: store.clock.now() }, graph, faults);
  const exits = await findExits(tx, teamId, exitOn, faults);
  mustBeFaultless(faults);
  return { graph: JSON.stringify(graph), trigger, exits };
}

function mustBeFaultless(faults: Faults): void {
  const refusal = faults.refusal();
  if (refusal) throw refusal;
}

async function checkedExits({ teamId }: Ctx, tx: Executor, names: readonly string[]): Promise<ExitEvent[]> {
  const faults = new Faults();
  const exits = await findExits(tx, teamId, names, faults);
  mustBeFaultless(faults);
  return exits;
}

const readNames = ({ exit_on: names }: Pick<AutomationRow, 'exit_on'>): string[] =>
  names === null ? [] : (JSON.parse(names) as string[]);

const formatNames = (exits: readonly ExitEvent[]): string | null =>
  exits.length === 0 ? null : JSON.stringify(exits.map(({ name }) => name));

/**
 * Returns the trigger and the exits; throws if anything that the graph names is gone since it was written, since it would
 * begin no run then, or each would fail.
 */
async function triggerNow(
  { store, teamId }: Ctx,
  tx: Executor,
  { id, version }: AutomationRow,
  exitOn: readonly string[],
): Promise<{ trigger: Trigger; exits: ExitEvent[] }> {
  const faults = new Faults();
  const graph = JSON.parse((await findGraph(tx, id, version)) ?? '') as Graph;
  const trigger = await checkNames(tx, { teamId, now: store.clock.now() }, graph, faults);
  const exits = await findExits(tx, teamId, exitOn, faults);
  mustBeFaultless(faults);
  return { trigger, exits };
}

const refused = (say: string, path = '') =>
  refuse('validation_error', { status: 422, say, ...(path !== '' && { errors: [{ path, message: say }] }) });

export async function getAutomation(ctx: Ctx, id: string) {
  const row = await loadAutomation(ctx, id);
  const graph = await loadGraph(ctx, id, row.version);
  const { steps, connections } = graph;
  const runs = await countRuns(ctx, id, graph);
  return { object: 'automation' as const, ...present(row), steps: [...steps], connections: [...connections], runs };
}

/** Limit of the counts, because every call counts anew. */
const COUNTED_TO = 10_000;

async function countRuns({ store }: Ctx, id: string, { steps }: Graph) {
  const rows = await countRunsAtSteps(store.db, id, COUNTED_TO);
  const trigger = steps.find(({ type }) => type === 'trigger')?.key ?? '';
  const counts = { running: 0, completed: 0, failed: 0, cancelled: 0 };
  const atSteps = new Map<string, number>();
  for (const { status, step_key: stepKey, runs } of rows) {
    counts[status] += runs;
    // A run that has not begun is at the trigger.
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
  const { status, contact, id_end: end } = query;
  if (end !== undefined) mustBeAlone(query);
  await loadAutomation(ctx, id);
  const { db } = ctx.store;
  const filter = {
    statuses: status?.split(',') as RunStatus[] | undefined,
    contactId: contact === undefined ? undefined : await findContactId(db, ctx.teamId, contact),
  };
  const { rows, hasMore } =
    end === undefined ? await listRunRows(db, id, filter, page) : await runRowsEnding(db, id, end, page);
  return { object: 'list' as const, has_more: hasMore, data: rows.map(presentRun) };
}

/** Returns the id of a contact, also of one that was deleted if the id itself is given; throws for an unknown address. */
export const findContactId = async (db: Executor, teamId: string, idOrAddress: string): Promise<string> =>
  isUuid(idOrAddress) ? idOrAddress.toLowerCase() : (await contactNamed(db, teamId, idOrAddress)).id;

/** Returns a run with the steps of its version, including those that it has not reached. */
export async function getAutomationRun(ctx: Ctx, id: string, runId: string) {
  const { store, teamId } = ctx;
  await loadAutomation(ctx, id);
  const run = await findRun(store.db, { teamId, automationId: id }, runId);
  if (!run) throw notFound('Run');
  const graph = await loadGraph(ctx, id, run.version);
  const done = new Map((await stepsOfRun(store.db, runId)).map((step) => [step.step_key, step]));
  const steps = inGraphOrder(graph).map((step) => presentStep(run, step, done.get(step.key)));
  return { object: 'automation_run' as const, ...presentRun(run), steps };
}

export async function loadAutomation({ store, teamId }: Ctx, id: string): Promise<AutomationRow> {
  const row = await findAutomation(store.db, teamId, id);
  if (!row) throw notFound('Automation');
  return row;
}

export const loadGraph = async ({ store }: Ctx, id: string, version: number): Promise<Graph> =>
  JSON.parse((await findGraph(store.db, id, version)) ?? '{"steps":[],"connections":[]}') as Graph;

function present(row: AutomationRow) {
  const { id, name, status, reentry, created_at: created, updated_at: updated } = row;
  return {
    id,
    name,
    status,
    reentry,
    exit_on: readNames(row),
    changed_by_app: row.changed_by_app,
    created_at: isoTime(created),
    updated_at: isoTime(updated),
  };
}

const timeOrNull = (at: number | null): string | null => (at === null ? null : isoTime(at));

export const presentRun = ({
  id,
  status,
  contact_id,
  started_at: started,
  completed_at: completed,
  created_at: created,
  error,
  ended_by,
}: RunRow) => ({
  id,
  status,
  contact_id,
  started_at: timeOrNull(started),
  completed_at: timeOrNull(completed),
  created_at: isoTime(created),
  error,
  ended_by,
});

function presentStep(run: RunRow, { key, type }: Step, done: RunStepRow | undefined) {
  const { started_at: started = null, completed_at: completed = null } = done ?? {};
  return {
    key,
    type,
    status: deriveStepStatus(run, done),
    output: objectIn(done?.output),
    error: objectIn(done?.error),
    started_at: timeOrNull(started),
    completed_at: timeOrNull(completed),
    created_at: isoTime(started ?? run.created_at),
  };
}

/** Returns the status of a step; nothing waits in a run that has ended. */
function deriveStepStatus(run: RunRow, done: RunStepRow | undefined) {
  if (run.status === 'running') return done?.status ?? ('pending' as const);
  return done === undefined || done.status === 'waiting' ? ('skipped' as const) : done.status;
}

const objectIn = (json: string | null | undefined): Record<string, unknown> | null =>
  json === null || json === undefined ? null : (JSON.parse(json) as Record<string, unknown>);

/**
 * Lists parts of an automation that are valid and probably not intended: dates of contacts that cannot be read, marketing
 * mail of a team without a postal address, and an unsubscribe link in transactional mail. Steps that the checks of the
 * graph refuse are not listed.
 */
async function listWarnings(store: Store, { row, graph }: { row: AutomationRow; graph: string }): Promise<string[]> {
  const { team_id: teamId } = row;
  try {
    const unreadable = await countUnreadableDates(store.db, row);
    return [
      ...(unreadable === null || unreadable.contacts === 0 ? [] : [describeUnreadable(unreadable)]),
      ...(await findWarnings(store, teamId, JSON.parse(graph) as Graph)),
    ];
  } catch (error) {
    // The automation is written: an error would make the caller write it again.
    store.log.warn({ err: error, teamId }, 'could not check an automation for warnings');
    return [];
  }
}

async function findWarnings({ db, texts }: Store, teamId: string, { steps }: Graph): Promise<string[]> {
  const team = await findTeam(db, teamId);
  if (!team) throw new Error('team row missing while its automation is checked');
  const properties = await declaredProperties(db, teamId);
  const fallbacks = fallbacksIn(properties, team);
  const warnings: string[] = [];
  for (const { key, type, config } of steps) {
    const { template, topic_id: topic, stream } = config;
    if (type !== 'send_email' || !isRecord(template)) continue;
    const found = await findPublishedTemplate(db, teamId, String(template['id']));
    if (!found) continue;
    const source = { ...found.content, template: found.content };
    const topicId = typeof topic === 'string' ? topic : null;
    // A template may have megabytes, so it is composed outside of the event loop and of the transaction.
    const { isMarketing, hasLink } = await texts.run(
      { teamId, chars: countChars(found.content), task: composeStepBodies, isPatient: true },
      [
        source,
        { team, properties, fallbacks, utm: null },
        { stream: isOneOf(STREAMS, stream) ? stream : undefined, topicId },
      ],
    );
    const step = `The step ${listed([key])}`;
    if (stream === 'transactional' && hasLink) {
      warnings.push(`${step} is transactional, but its template has an unsubscribe link, which does not apply to it.`);
    }
    if (!isMarketing || team.postal_address !== null) continue;
    warnings.push(
      `${step} sends marketing mail, and waits with it until the team has a postal address; set it with PATCH /team.`,
    );
  }
  return warnings;
}
