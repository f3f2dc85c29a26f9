import type { Reentry } from '../../mail/events/index.ts';
import { cutPage, pageSql, pageValues, type Executor, type Page } from '../../platform/db/index.ts';
import { foldText } from '../../protocol/contact-filter/index.ts';
import type { ExitEvent, Trigger } from './check-steps.ts';

export type AutomationStatus = 'enabled' | 'disabled';

export interface AutomationRow extends Trigger {
  id: string;
  team_id: string;
  name: string;
  status: AutomationStatus;
  reentry: Reentry;
  /** Active version. */
  version: number;
  /** Time since which it has been disabled; null if it is enabled or never was. */
  disabled_at: number | null;
  /** Names of the events that end its runs, as JSON; null for none. */
  exit_on: string | null;
  /** Time until which runs were started for dates; null if no dates start it. */
  dates_done_at: number | null;
  /** Name of the app that wrote it or changed it last; null if no app did. */
  changed_by_app: string | null;
  created_at: number;
  updated_at: number;
}

const COLUMNS = [
  'id',
  'team_id',
  'name',
  'status',
  'reentry',
  'version',
  'disabled_at',
  'exit_on',
  'trigger_event_id',
  'trigger_type',
  'trigger_segment_id',
  'trigger_property_id',
  'trigger_date',
  'dates_done_at',
  'changed_by_app',
  'created_at',
  'updated_at',
] as const;
const LIVE = 'team_id = ? and deleted_at is null';

export async function insertAutomation(tx: Executor, row: AutomationRow): Promise<void> {
  await tx.insertMany('automations', COLUMNS, [COLUMNS.map((column) => row[column])]);
}

/**
 * Counts the enabled automations of a team, other than this one, that start at the same event, or at dates as this one
 * does.
 */
export async function countEnabledLike(tx: Executor, automation: AutomationRow): Promise<number> {
  const { id, team_id: teamId, trigger_type: type, trigger_event_id: eventId } = automation;
  const [same, value] =
    automation.trigger_date !== null
      ? ['trigger_date is not null and 1 = ?', 1]
      : eventId === null
        ? ['trigger_type = ?', type]
        : ['trigger_event_id = ?', eventId];
  const row = await tx.get<{ count: number }>(
    `select count(*) as count from automations where ${LIVE} and status = 'enabled' and id <> ? and ${same}`,
    [teamId, id, value],
  );
  return Number(row?.count ?? 0);
}

export async function insertVersion(
  tx: Executor,
  { automationId, version, graph, at }: { automationId: string; version: number; graph: string; at: number },
): Promise<void> {
  const columns = ['automation_id', 'version', 'graph', 'created_at'];
  await tx.insertMany('automation_versions', columns, [[automationId, version, graph, at]]);
}

export const findAutomation = (db: Executor, teamId: string, id: string): Promise<AutomationRow | undefined> =>
  db.get<AutomationRow>(`select ${COLUMNS.join(', ')} from automations where ${LIVE} and id = ?`, [teamId, id]);

/**
 * Reads the automation and locks it until the end of the transaction, so that changes are serialized and no run begins
 * meanwhile.
 */
export const lockAutomation = (tx: Executor, teamId: string, id: string): Promise<AutomationRow | undefined> =>
  findLocked(tx, [teamId, id], ' for update');

/**
 * Reads the automation, which is not changed until the end of the transaction. A transaction that locks contacts locks
 * them before: events of emails hold automations when they lock contacts, so that only this lock, which they share,
 * avoids a deadlock.
 */
export const holdAutomation = (tx: Executor, teamId: string, id: string): Promise<AutomationRow | undefined> =>
  findLocked(tx, [teamId, id], ' for share');

function findLocked(tx: Executor, values: string[], lock: string): Promise<AutomationRow | undefined> {
  const sql = `select ${COLUMNS.join(', ')} from automations where ${LIVE} and id = ?${tx.dialect === 'pg' ? lock : ''}`;
  return tx.get<AutomationRow>(sql, values);
}

/** Returns the graph of a version, as JSON. */
export async function findGraph(db: Executor, id: string, version: number): Promise<string | undefined> {
  const sql = 'select graph from automation_versions where automation_id = ? and version = ?';
  return (await db.get<{ graph: string }>(sql, [id, version]))?.graph;
}

export async function listAutomationRows(
  db: Executor,
  teamId: string,
  { status, search }: { status?: AutomationStatus | undefined; search?: string | undefined },
  page: Page,
): Promise<{ rows: AutomationRow[]; hasMore: boolean }> {
  const where = status === undefined ? LIVE : `${LIVE} and status = ?`;
  const values = status === undefined ? [teamId] : [teamId, status];
  const read = (part: Page) =>
    db.all<AutomationRow>(pageSql('automations', where, part, COLUMNS.join(', ')), [...values, ...pageValues(part)]);
  if (search === undefined) return cutPage(await read(page), page);
  // Letter case is folded here and not in SQL, because SQLite folds only ASCII. A team has few automations.
  const wanted = foldText(search);
  const rows = await read({ ...page, limit: Number.MAX_SAFE_INTEGER - 1 });
  return cutPage(rows.filter(({ name }) => foldText(name).includes(wanted)).slice(0, page.limit + 1), page);
}

/** Writes a row that is locked. */
export async function saveAutomation(tx: Executor, row: AutomationRow): Promise<void> {
  const changed = COLUMNS.filter((column) => !FIXED.has(column));
  const sql = `update automations set ${changed.map((column) => `${column} = ?`).join(', ')} where id = ?`;
  await tx.run(sql, [...changed.map((column) => row[column]), row.id]);
}

const FIXED: ReadonlySet<string> = new Set(['id', 'team_id', 'created_at']);

export async function markAutomationDeleted(tx: Executor, id: string, at: number): Promise<void> {
  await tx.run("update automations set status = 'disabled', deleted_at = ? where id = ?", [at, id]);
}

const EXIT_COLUMNS = ['automation_id', 'name', 'team_id', 'event_id', 'event_type'] as const;

/** Replaces the events that end the runs of an automation. */
export async function saveExits(
  tx: Executor,
  { id, team_id: teamId }: Pick<AutomationRow, 'id' | 'team_id'>,
  exits: readonly ExitEvent[],
): Promise<void> {
  await tx.run('delete from automation_exits where automation_id = ?', [id]);
  const rows = exits.map(({ name, event_id, event_type }) => [id, name, teamId, event_id, event_type]);
  if (rows.length > 0) await tx.insertMany('automation_exits', EXIT_COLUMNS, rows);
}

export async function copyExits(tx: Executor, fromId: string, toId: string): Promise<void> {
  const sql = `insert into automation_exits (automation_id, name, team_id, event_id, event_type)
    select cast(? as ${tx.dialect === 'pg' ? 'uuid' : 'text'}), name, team_id, event_id, event_type from automation_exits
    where automation_id = ?`;
  await tx.run(sql, [toId, fromId]);
}

/** Returns the ids of the properties whose dates start enabled automations of a team. */
export async function listDateProperties(db: Executor, teamId: string): Promise<ReadonlySet<string>> {
  const sql = `select distinct trigger_property_id as id from automations
    where ${LIVE} and status = 'enabled' and trigger_property_id is not null`;
  return new Set((await db.all<{ id: string }>(sql, [teamId])).map(({ id }) => id));
}

/** Returns enabled automations whose dates were not looked up until this time, those that waited longest first. */
export function listDueForDates(db: Executor, until: number, limit: number): Promise<AutomationRow[]> {
  const sql = `select ${COLUMNS.join(', ')} from automations
    where dates_done_at is not null and dates_done_at < ? and status = 'enabled' and deleted_at is null
    order by dates_done_at limit ?`;
  return db.all<AutomationRow>(sql, [until, limit]);
}

/** Records until when dates were looked up, unless the automation was enabled or changed meanwhile. */
export async function saveDatesDone(
  db: Executor,
  { id, dates_done_at: before }: AutomationRow,
  until: number,
): Promise<void> {
  const sql = 'update automations set dates_done_at = ? where id = ? and dates_done_at = ?';
  await db.run(sql, [until, id, before]);
}
