import { BATCHES, eraseRefusals } from '../../mail/events/index.ts';
import {
  cutPage,
  pageSql,
  pageValues,
  rowsEnding,
  textsIn,
  uuidsIn,
  withoutCommitNotice,
  type Executor,
  type Page,
} from '../../platform/db/index.ts';

export type RunStatus = 'running' | 'completed' | 'failed' | 'cancelled';

/** Progress of a contact through a version of an automation; `enrol` of the events creates it. */
export interface RunRow {
  id: string;
  team_id: string;
  automation_id: string;
  version: number;
  contact_id: string;
  /** JSON payload of the event that started it. */
  payload: string | null;
  status: RunStatus;
  /** Step that runs next; null for the first. */
  step_key: string | null;
  due_at: number;
  created_at: number;
  started_at: number | null;
  completed_at: number | null;
  error: string | null;
  /** Number of runs in the chain that led to it, each started by the effects of the one before. */
  depth: number;
  /** Number of failures of the current step by an error of the service. */
  tries: number;
  /** The number of the batch that it was begun with; 0 if it was begun alone. */
  batch: number;
  /** The event of `exit_on` that ended it. */
  ended_by: string | null;
}

/** Result of a step of a run. */
export interface RunStepRow {
  run_id: string;
  step_key: string;
  status: 'running' | 'waiting' | 'completed' | 'failed' | 'skipped';
  /** Output as JSON. */
  output: string | null;
  error: string | null;
  started_at: number;
  completed_at: number | null;
}

export function findRun(
  db: Executor,
  { teamId, automationId }: { teamId: string; automationId: string },
  id: string,
): Promise<RunRow | undefined> {
  const sql = 'select * from automation_runs where id = ? and automation_id = ? and team_id = ?';
  return db.get<RunRow>(sql, [id, automationId, teamId]);
}

export const stepsOfRun = (db: Executor, runId: string): Promise<RunStepRow[]> =>
  db.all<RunStepRow>('select * from automation_run_steps where run_id = ?', [runId]);

/** Lists a page of runs, newest first. Runs one query per status, so that an index serves each. */
export async function listRunRows(
  db: Executor,
  automationId: string,
  { statuses, contactId }: { statuses?: readonly RunStatus[] | undefined; contactId?: string | undefined },
  page: Page,
): Promise<{ rows: RunRow[]; hasMore: boolean }> {
  if (contactId !== undefined) return listRunRowsOfContact(db, { automationId, contactId, statuses }, page);
  if (!statuses) {
    const sql = pageSql('automation_runs', 'automation_id = ?', page);
    return cutPage(await db.all<RunRow>(sql, [automationId, ...pageValues(page)]), page);
  }
  const sql = pageSql('automation_runs', 'automation_id = ? and status = ?', page);
  const found: RunRow[] = [];
  for (const status of new Set(statuses)) {
    found.push(...(await db.all<RunRow>(sql, [automationId, status, ...pageValues(page)])));
  }
  const isBack = page.before !== undefined;
  const inOrder = found.sort((a, b) => (a.id < b.id === isBack ? -1 : 1));
  return cutPage(inOrder.slice(0, page.limit + 1), page);
}

/** Reads one page of the runs of a contact, and one more. */
export const listRunsOfContact = (db: Executor, contactId: string, page: Page): Promise<RunRow[]> =>
  db.all<RunRow>(pageSql('automation_runs', 'contact_id = ?', page), [contactId, ...pageValues(page)]);
/** A contact has few runs of an automation, so that the statuses of those are compared one by one. */
async function listRunRowsOfContact(
  db: Executor,
  wanted: { automationId: string; contactId: string; statuses: readonly RunStatus[] | undefined },
  page: Page,
): Promise<{ rows: RunRow[]; hasMore: boolean }> {
  const { automationId, contactId, statuses } = wanted;
  const among = statuses && textsIn(db.dialect, 'status', statuses);
  const where = `contact_id = ? and automation_id = ?${among ? ` and ${among.sql}` : ''}`;
  const values = [contactId, automationId, ...(among ? [among.value] : []), ...pageValues(page)];
  return cutPage(await db.all<RunRow>(pageSql('automation_runs', where, page), values), page);
}

export const runRowsEnding = (db: Executor, automationId: string, end: string, page: Page) =>
  rowsEnding<RunRow>(db, { ...ENDING, where: { sql: 'automation_id = ?', values: [automationId] } }, end, page);

const ENDING = { table: 'automation_runs', columns: '*', id: 'id', form: 'uuid', noun: 'runs' } as const;

const STATUSES: readonly RunStatus[] = ['running', 'completed', 'failed', 'cancelled'];

/**
 * Counts the runs of each status, and running ones by their current step. At most `most` of each status are counted,
 * the latest ones: an automation may have a million, and no index covers their steps.
 */
export async function countRunsAtSteps(
  db: Executor,
  automationId: string,
  most: number,
): Promise<{ status: RunStatus; step_key: string | null; runs: number }[]> {
  const latest = STATUSES.map(
    (status) => `select * from (
      select status, ${status === 'running' ? 'step_key' : 'cast(null as text) as step_key'} from automation_runs
      where automation_id = ? and status = '${status}' order by id desc limit ?) as ${status}`,
  );
  const sql = `select status, step_key, count(*) as runs from (${latest.join(' union all ')}) as latest
    group by status, step_key order by step_key`;
  const values = STATUSES.flatMap(() => [automationId, most]);
  const rows = await db.all<{ status: RunStatus; step_key: string | null; runs: number }>(sql, values);
  return rows.map((row) => ({ ...row, runs: Number(row.runs) }));
}

/** Locks runs in the order of their ids, as every transaction that ends several does, so that no deadlock arises. */
const cancelled = ({ dialect }: Executor, whose: string): string => `update automation_runs
  set status = 'cancelled', completed_at = ?, lease_owner = null, lease_until = null where id in (
    select id from automation_runs where status = 'running' and ${whose} order by id${dialect === 'pg' ? ' for update' : ''})`;

/** Cancels the runs of an automation. The node that executes one notices at its next step. */
export async function cancelAutomationRuns(tx: Executor, automationId: string, at: number): Promise<void> {
  await tx.run(cancelled(tx, 'automation_id = ?'), [at, automationId]);
}

/** Forgets the contacts that entered an automation which each may enter only once. */
export async function forgetEntries(tx: Executor, automationId: string): Promise<void> {
  await tx.run('delete from automation_entries where automation_id = ?', [automationId]);
}

/** Cancels the runs of an erased contact, and removes all data about it. Returns how many rows of each table changed. */
export async function eraseContactRuns(tx: Executor, contactId: string, at: number): Promise<Record<string, number>> {
  await tx.run(cancelled(tx, 'contact_id = ?'), [at, contactId]);
  const steps = `update automation_run_steps set output = null, error = null
    where run_id in (select id from automation_runs where contact_id = ?)`;
  return {
    automation_entries: await tx.run('delete from automation_entries where contact_id = ?', [contactId]),
    automation_occurrences: await tx.run('delete from automation_occurrences where contact_id = ?', [contactId]),
    automation_refusals: await eraseRefusals(tx, contactId),
    automation_runs: await tx.run('update automation_runs set payload = null, error = null where contact_id = ?', [
      contactId,
    ]),
    automation_run_steps: await tx.run(steps, [contactId]),
  };
}

const FREE = "status = 'running' and due_at <= ? and (lease_until is null or lease_until <= ?)";

export interface RunClaim {
  owner: string;
  now: number;
  until: number;
  limit: number;
  /** Orders teams, the automations of a team, or the batches of an automation, by their turns. */
  inTurn?(ids: readonly string[]): string[];
}

/** Names the runs of an automation that were begun one by one, or those of a batch. */
interface RunGroup {
  team_id: string;
  automation_id: string;
  batch: number;
}

const toGroupKey = ({ automation_id: automationId, batch }: Omit<RunGroup, 'team_id'>): string =>
  `${automationId} ${batch}`;

/** The key of all batches of an automation together. */
const toBatchesKey = (automationId: string): string => `${automationId} batches`;

/** Returns the keys of all that had a turn by these runs: teams, automations and their groups. */
export const listTurns = (runs: readonly RunGroup[]): Set<string> =>
  new Set(
    runs.flatMap((run) => [
      run.team_id,
      run.automation_id,
      toGroupKey(run),
      ...(run.batch > 0 ? [toBatchesKey(run.automation_id)] : []),
    ]),
  );

/**
 * Claims due runs that no process has: the same number for each team, beginning with the teams whose turn it is. Within a team, its
 * automations take turns; within an automation, the runs that were begun alone and the batches; and within those, the batches. Of
 * each, those that have waited longest come first. May claim fewer than available, if a team has fewer than its share.
 */
export async function claimDueRuns(tx: Executor, { owner, now, until, limit, inTurn }: RunClaim): Promise<RunRow[]> {
  const groups = await listGroupsWithDueRuns(tx, now);
  const order = (ids: readonly string[]): string[] => inTurn?.(ids) ?? [...ids];
  const groupsByTeam = Map.groupBy(groups, (group) => group.team_id);
  const teams = order([...groupsByTeam.keys()]).slice(0, limit);
  if (teams.length === 0) return [];
  const each = Math.floor(limit / teams.length);
  const lines = teams.map((team) => lineUp(groupsByTeam.get(team) ?? [], order));
  const keys = lines.flatMap((line) => inTurns(line, (key) => [key]).slice(0, each));
  const oldest = await findOldest(tx, keys, { now, each });
  const ids = lines.flatMap((line) => inTurns(line, (key) => oldest.get(key) ?? []).slice(0, each));
  const among = uuidsIn(tx.dialect, 'id', ids);
  const sql = withoutCommitNotice(
    `update automation_runs set lease_owner = ?, lease_until = ? where ${among.sql} returning *`,
  );
  const rows = await tx.all<RunRow>(sql, [owner, until, among.value]);
  return rows.sort(inOrderOfTime);
}

const inOrderOfTime = (a: { due_at: number; id: string }, b: { due_at: number; id: string }): number =>
  Number(a.due_at) - Number(b.due_at) || (a.id < b.id ? -1 : 1);

/** Returns the ids of the oldest due runs of each group, at most `each`; on PostgreSQL they are locked. */
async function findOldest(
  tx: Executor,
  keys: readonly string[],
  { now, each }: { now: number; each: number },
): Promise<Map<string, string[]>> {
  const list = JSON.stringify(keys.map((key) => key.split(' ')));
  type Found = Omit<RunGroup, 'team_id'> & { id: string; due_at: number };
  const rows = await tx.all<Found>(tx.dialect === 'pg' ? OLDEST_ON_PG : OLDEST_ON_SQLITE, [list, now, now, each]);
  const byGroup = Map.groupBy(rows.toSorted(inOrderOfTime), toGroupKey);
  return new Map([...byGroup].map(([key, those]) => [key, those.map(({ id }) => id)]));
}

const OLDEST_ON_PG = `select one.id, one.automation_id, one.batch, one.due_at from jsonb_array_elements(?::jsonb) as line, lateral (
    select id, automation_id, batch, due_at from automation_runs
    where automation_id = (line->>0)::uuid and batch = (line->>1)::smallint and ${FREE}
    order by due_at, id limit ? for update skip locked) as one`;
const OLDEST_ON_SQLITE = `select one.id, one.automation_id, one.batch, one.due_at from json_each(?) as line, automation_runs as one
  where one.id in (select id from automation_runs
    where automation_id = line.value->>0 and batch = cast(line.value->>1 as integer) and ${FREE} order by due_at, id limit ?)`;

/** For each automation, the keys of its runs that were begun alone, and those of its batches, in the order of their turns. */
type Line = string[][][];

function lineUp(groups: readonly RunGroup[], order: (ids: readonly string[]) => string[]): Line {
  const byAutomation = Map.groupBy(groups, (group) => group.automation_id);
  return order([...byAutomation.keys()]).map((automation) => {
    const kinds = Map.groupBy(byAutomation.get(automation) ?? [], (group) =>
      group.batch > 0 ? toBatchesKey(automation) : toGroupKey(group),
    );
    return order([...kinds.keys()]).map((kind) => order((kinds.get(kind) ?? []).map(toGroupKey)));
  });
}

/** Returns what the groups have, in the order in which they take turns. */
const inTurns = (line: Line, list: (key: string) => readonly string[]): string[] =>
  takeInTurn(line.map((kinds) => takeInTurn(kinds.map((keys) => takeInTurn(keys.map(list))))));

/** Takes one of each list in turn, until none is left. */
function takeInTurn(lists: readonly (readonly string[])[]): string[] {
  const longest = Math.max(0, ...lists.map(({ length }) => length));
  return Array.from({ length: longest }, (_, round) => lists.flatMap((list) => list[round] ?? [])).flat();
}

/** Up to this many due runs, their rows name the groups; beyond, the automations are searched one after the other. */
const DUE_LOOKED_AT = 500;

const ALL_BATCHES = Array.from({ length: BATCHES + 1 }, (_, batch) => `select ${batch} as batch`).join(' union all ');

async function listGroupsWithDueRuns(tx: Executor, now: number): Promise<RunGroup[]> {
  // Not ordered by id as well: an `until` may make many due at one moment, and all of them would be sorted.
  const oldest = `select team_id, automation_id, batch from automation_runs where ${FREE} order by due_at limit ?`;
  const due = await tx.all<RunGroup>(oldest, [now, now, DUE_LOOKED_AT]);
  if (due.length < DUE_LOOKED_AT) return [...new Map(due.map((row) => [toGroupKey(row), row])).values()];
  const running = "select automation_id from automation_runs where status = 'running'";
  const sql = `with recursive automations(automation_id) as (
      select * from (${running} order by automation_id limit 1) as first_one
      union all select (${running} and automation_id > automations.automation_id order by automation_id limit 1)
        from automations where automations.automation_id is not null)
    select automation_id, batch, (select team_id from automation_runs as run
        where run.automation_id = automations.automation_id and run.batch = batches.batch and ${FREE}
        order by due_at limit 1) as team_id
      from automations, (${ALL_BATCHES}) as batches where automation_id is not null`;
  const groups = await tx.all<Omit<RunGroup, 'team_id'> & { team_id: string | null }>(sql, [now, now]);
  return groups.flatMap(({ team_id: teamId, ...group }) => (teamId === null ? [] : [{ ...group, team_id: teamId }]));
}

/** Returns when the next run that is not due yet falls due. */
export async function nextRunAt(db: Executor, now: number): Promise<number | undefined> {
  const sql = "select min(due_at) as at from automation_runs where status = 'running' and due_at > ?";
  const row = await db.get<{ at: number | null }>(sql, [now]);
  return row?.at === null || row?.at === undefined ? undefined : Number(row.at);
}

/** Reports whether a process still holds a run. Locks nothing: the statement that moves the run checks it again. */
export async function isHeld(tx: Executor, { id, owner }: HeldRun): Promise<boolean> {
  const sql = "select id from automation_runs where id = ? and lease_owner = ? and status = 'running'";
  return (await tx.get(sql, [id, owner])) !== undefined;
}

/** A run, and the process that holds it. */
export interface HeldRun {
  id: string;
  owner: string;
}

/** A run at the step that is written: if it is at another one by now, another process continued it. */
export interface RunAtStep extends HeldRun {
  at: string | null;
}

const stillThere = ({ dialect }: Executor): string =>
  `id = ? and lease_owner = ? and status = 'running' and step_key is ${dialect === 'pg' ? 'not distinct from ' : ''}?`;

/**
 * Moves a run to a step that is due at a time, in the transaction of its effects. Returns false if the run was
 * canceled, taken over or continued: that transaction has to fail.
 */
export async function moveRun(
  tx: Executor,
  {
    id,
    owner,
    at,
    stepKey,
    dueAt,
    startedAt,
  }: RunAtStep & { stepKey: string | null; dueAt: number; startedAt: number | null },
): Promise<boolean> {
  const sql =
    withoutCommitNotice(`update automation_runs set step_key = ?, due_at = ?, tries = 0, started_at = coalesce(started_at, ?)
    where ${stillThere(tx)}`);
  return (await tx.run(sql, [stepKey, dueAt, startedAt, id, owner, at])) === 1;
}

/**
 * Postpones a run whose step failed by an error of the service; returns its current step, or undefined if the process
 * does not hold it any more. If the error came after the commit of the step, the current step is the next one; if that
 * is waiting, its later due time is kept.
 */
export async function putOffRun(
  tx: Executor,
  { id, owner, dueAt }: HeldRun & { dueAt: number },
): Promise<{ step_key: string | null } | undefined> {
  const sql =
    withoutCommitNotice(`update automation_runs set tries = tries + 1, due_at = case when due_at > ? then due_at else ? end
    where id = ? and lease_owner = ? and status = 'running' returning step_key`);
  return tx.get(sql, [dueAt, dueAt, id, owner]);
}

/** Ends a run and its lease; returns false in the cases in which `moveRun` does. */
export async function endRun(
  tx: Executor,
  {
    id,
    owner,
    at,
    status,
    error,
    now,
  }: RunAtStep & { status: 'completed' | 'failed'; error: string | null; now: number },
): Promise<boolean> {
  const sql = withoutCommitNotice(`update automation_runs set status = ?, error = ?, completed_at = ?,
      started_at = coalesce(started_at, ?), lease_owner = null, lease_until = null
    where ${stillThere(tx)}`);
  return (await tx.run(sql, [status, error, now, now, id, owner, at])) === 1;
}

/**
 * Removes some of a team's runs that ended before a time, with their steps; returns how many. One that is being
 * written, as when its contact is erased, is left for the next time.
 */
export async function removeEndedRuns(
  tx: Executor,
  { teamId, beforeMs }: { teamId: string; beforeMs: number },
  limit: number,
): Promise<number> {
  const sql = `select id from automation_runs where team_id = ? and completed_at is not null and completed_at < ?
    order by completed_at limit ?${tx.dialect === 'pg' ? ' for update skip locked' : ''}`;
  const ids = (await tx.all<{ id: string }>(sql, [teamId, beforeMs, limit])).map(({ id }) => id);
  if (ids.length === 0) return 0;
  const steps = uuidsIn(tx.dialect, 'run_id', ids);
  await tx.run(`delete from automation_run_steps where ${steps.sql}`, [steps.value]);
  const runs = uuidsIn(tx.dialect, 'id', ids);
  return tx.run(withoutCommitNotice(`delete from automation_runs where ${runs.sql}`), [runs.value]);
}

const STEP_COLUMNS = ['run_id', 'step_key', 'status', 'output', 'error', 'started_at', 'completed_at'] as const;

/**
 * Writes the result of a step; one that waited keeps its start time. Returns false if the step was completed before: its
 * result stays, and a transaction that repeats its effects has to fail.
 */
export async function writeRunStep(tx: Executor, row: RunStepRow): Promise<boolean> {
  const changed = ['status', 'output', 'error', 'completed_at'].map((column) => `${column} = excluded.${column}`);
  const conflict = `on conflict (run_id, step_key) do update set ${changed.join(', ')}
    where automation_run_steps.status <> 'completed'`;
  const values = STEP_COLUMNS.map((column) => row[column]);
  return (await tx.insertMany('automation_run_steps', STEP_COLUMNS, [values], conflict)) === 1;
}

/** Reads the next failed runs of an automation, oldest first, whatever step they failed at. */
export function listFailedRuns(
  db: Executor,
  automationId: string,
  { after, limit }: { after: string | undefined; limit: number },
): Promise<RunRow[]> {
  const sql = `select * from automation_runs where automation_id = ? and status = 'failed' and id > ? order by id limit ?`;
  return db.all<RunRow>(sql, [automationId, after ?? BEFORE_ALL, limit]);
}

const BEFORE_ALL = '00000000-0000-0000-0000-000000000000';

/** Reads runs and locks them until the end of the transaction, in the order of their ids. */
export function lockRuns(tx: Executor, ids: readonly string[]): Promise<RunRow[]> {
  const among = uuidsIn(tx.dialect, 'id', ids);
  const lock = tx.dialect === 'pg' ? ' for update' : '';
  return tx.all<RunRow>(`select * from automation_runs where ${among.sql} order by id${lock}`, [among.value]);
}

/** Lets a failed run, which is locked, continue at a step. */
export async function reopenRun(
  tx: Executor,
  { id, stepKey, dueAt }: { id: string; stepKey: string | null; dueAt: number },
): Promise<void> {
  const sql = `update automation_runs set status = 'running', step_key = ?, due_at = ?, tries = 0, completed_at = null, error = null
    where id = ?`;
  await tx.run(sql, [stepKey, dueAt, id]);
}

/** Ends a failed run, which is locked, after its last step was skipped. */
export async function completeFailedRun(tx: Executor, id: string, now: number): Promise<void> {
  await tx.run("update automation_runs set status = 'completed', completed_at = ?, error = null where id = ?", [
    now,
    id,
  ]);
}

/** Removes the result of a step that failed, so that it is pending. */
export async function removeFailedStep(tx: Executor, runId: string, stepKey: string): Promise<void> {
  const sql = "delete from automation_run_steps where run_id = ? and step_key = ? and status = 'failed'";
  await tx.run(sql, [runId, stepKey]);
}

/** Marks a step that failed as skipped; its error stays. */
export async function markStepSkipped(tx: Executor, runId: string, stepKey: string): Promise<void> {
  const sql =
    "update automation_run_steps set status = 'skipped' where run_id = ? and step_key = ? and status = 'failed'";
  await tx.run(sql, [runId, stepKey]);
}

export interface OccurrenceRow {
  automation_id: string;
  contact_id: string;
  occurs_on: string;
  created_at: number;
}

const OCCURRENCE_COLUMNS = ['automation_id', 'contact_id', 'occurs_on', 'created_at'] as const;

/** Records dates of contacts, which are locked, and returns those that were not recorded before. */
export async function addOccurrences(tx: Executor, rows: readonly OccurrenceRow[]): Promise<OccurrenceRow[]> {
  const known = await knownOccurrences(tx, rows);
  const added = rows.filter((row) => !known.has(`${row.contact_id} ${row.occurs_on}`));
  if (added.length === 0) return [];
  const values = added.map((row) => OCCURRENCE_COLUMNS.map((column) => row[column]));
  await tx.insertMany('automation_occurrences', OCCURRENCE_COLUMNS, values);
  return added;
}

/** Locks contacts until the end of the transaction, in the order of their ids; returns those that exist. */
export async function lockContacts(tx: Executor, teamId: string, ids: readonly string[]): Promise<Set<string>> {
  const among = uuidsIn(tx.dialect, 'id', [...new Set(ids)]);
  const lock = tx.dialect === 'pg' ? ' for update' : '';
  const sql = `select id from contacts where team_id = ? and ${among.sql} order by id${lock}`;
  return new Set((await tx.all<{ id: string }>(sql, [teamId, among.value])).map(({ id }) => id));
}

async function knownOccurrences(tx: Executor, rows: readonly OccurrenceRow[]): Promise<Set<string>> {
  const [first] = rows;
  if (!first) return new Set();
  const contacts = uuidsIn(
    tx.dialect,
    'contact_id',
    rows.map((row) => row.contact_id),
  );
  const sql = `select contact_id, occurs_on from automation_occurrences where automation_id = ? and ${contacts.sql}`;
  type Row = Pick<OccurrenceRow, 'contact_id' | 'occurs_on'>;
  const known = await tx.all<Row>(sql, [first.automation_id, contacts.value]);
  return new Set(known.map((row) => `${row.contact_id} ${row.occurs_on}`));
}

/** Deletes occurrences that were recorded before a time, at most `limit`; returns how many. */
export function removeOldOccurrences(db: Executor, before: number, limit: number): Promise<number> {
  const key = 'automation_id, contact_id, occurs_on';
  const sql = `delete from automation_occurrences where (${key}) in (select ${key} from automation_occurrences
    where created_at < ? order by created_at limit ?)`;
  return db.run(sql, [before, limit]);
}

export async function forgetOccurrences(tx: Executor, automationId: string): Promise<void> {
  await tx.run('delete from automation_occurrences where automation_id = ?', [automationId]);
}
