import {
  cutPage,
  pageSql,
  pageValues,
  textsIn,
  type Executor,
  type Page,
  type Value,
} from '../../platform/db/index.ts';
import { isUuid } from '../../platform/ids.ts';

export interface CustomEventRow {
  id: string;
  team_id: string;
  name: string;
  /** JSON object from key to type; null if a payload may contain anything. */
  payload_schema: string | null;
  created_at: number;
  updated_at: number;
}

const COLUMNS = ['id', 'team_id', 'name', 'payload_schema', 'created_at', 'updated_at'] as const;
const LIVE = 'team_id = ? and deleted_at is null';

export async function insertCustomEvent(tx: Executor, row: CustomEventRow): Promise<void> {
  await tx.insertMany('custom_events', COLUMNS, [COLUMNS.map((column) => row[column])]);
}

/** Finds an event by id or name. A name may have the form of an id, and is then found if there is no such id. */
export async function findCustomEvent(
  db: Executor,
  teamId: string,
  idOrName: string,
): Promise<CustomEventRow | undefined> {
  const byId = isUuid(idOrName) ? await findBy(db, 'id', [teamId, idOrName.toLowerCase()]) : undefined;
  return byId ?? findCustomEventNamed(db, teamId, idOrName);
}

export const findCustomEventNamed = (db: Executor, teamId: string, name: string): Promise<CustomEventRow | undefined> =>
  findBy(db, 'name', [teamId, name]);

/** Returns the ids of the events with these names; those that do not exist are missing. */
export async function findEventIds(
  db: Executor,
  teamId: string,
  names: readonly string[],
): Promise<Map<string, string>> {
  if (names.length === 0) return new Map();
  const among = textsIn(db.dialect, 'name', names);
  const sql = `select id, name from custom_events where ${LIVE} and ${among.sql}`;
  const rows = await db.all<{ id: string; name: string }>(sql, [teamId, among.value]);
  return new Map(rows.map(({ id, name }) => [name, id]));
}

export function findCustomEventsNamed(
  db: Executor,
  teamId: string,
  names: readonly string[],
): Promise<CustomEventRow[]> {
  const among = textsIn(db.dialect, 'name', names);
  const sql = `select ${COLUMNS.join(', ')} from custom_events where ${LIVE} and ${among.sql}`;
  return db.all<CustomEventRow>(sql, [teamId, among.value]);
}

const findBy = (db: Executor, column: 'id' | 'name', values: Value[]): Promise<CustomEventRow | undefined> =>
  db.get<CustomEventRow>(`select ${COLUMNS.join(', ')} from custom_events where ${LIVE} and ${column} = ?`, values);

export async function listCustomEventRows(
  db: Executor,
  teamId: string,
  page: Page,
): Promise<{ rows: CustomEventRow[]; hasMore: boolean }> {
  const rows = await db.all<CustomEventRow>(pageSql('custom_events', LIVE, page), [teamId, ...pageValues(page)]);
  return cutPage(rows, page);
}

/** Sets the schema; returns false if the event was deleted meanwhile. */
export async function setPayloadSchema(
  tx: Executor,
  id: string,
  { schema, at }: { schema: string | null; at: number },
): Promise<boolean> {
  const sql = 'update custom_events set payload_schema = ?, updated_at = ? where id = ? and deleted_at is null';
  return (await tx.run(sql, [schema, at, id])) === 1;
}

/** Marks an event as deleted; returns whether this call did so. */
export async function markCustomEventDeleted(tx: Executor, id: string, at: number): Promise<boolean> {
  const sql = 'update custom_events set deleted_at = ? where id = ? and deleted_at is null';
  return (await tx.run(sql, [at, id])) === 1;
}
