import {
  cutPage,
  pageSql,
  pageValues,
  prefixPage,
  rowsEnding,
  textsIn,
  type Executor,
  type Page,
} from '../../platform/db/index.ts';
import { normalizeAddressStart } from '../../protocol/address/index.ts';

export type Origin = 'bounce' | 'complaint' | 'manual';

export interface SuppressionRow {
  id: string;
  team_id: string;
  email: string;
  email_key: string;
  origin: Origin;
  source_id: string | null;
  created_at: number;
}

const COLUMNS = ['id', 'team_id', 'email', 'email_key', 'origin', 'source_id', 'created_at'] as const;

/** Inserts suppressions. Leaves addresses that are suppressed already as they are; returns how many are new. */
export function insertSuppressions(tx: Executor, rows: readonly SuppressionRow[]): Promise<number> {
  // The order is the same everywhere: two batches with the same addresses would otherwise deadlock.
  const ordered = rows.toSorted((a, b) => (a.email_key < b.email_key ? -1 : a.email_key > b.email_key ? 1 : 0));
  return tx.insertMany(
    'suppressions',
    COLUMNS,
    ordered.map((row) => COLUMNS.map((column) => row[column])),
    'on conflict (team_id, email_key) do nothing',
  );
}

export function findByKeys(db: Executor, teamId: string, emailKeys: string[]): Promise<SuppressionRow[]> {
  const among = textsIn(db.dialect, 'email_key', emailKeys);
  return db.all<SuppressionRow>(`select * from suppressions where team_id = ? and ${among.sql}`, [teamId, among.value]);
}

export function findByIds(db: Executor, teamId: string, ids: string[]): Promise<SuppressionRow[]> {
  const among = textsIn(db.dialect, 'id', ids);
  return db.all<SuppressionRow>(`select * from suppressions where team_id = ? and ${among.sql}`, [teamId, among.value]);
}

export async function listSuppressionRows(
  db: Executor,
  teamId: string,
  { origin, search }: { origin?: Origin | undefined; search?: string | undefined },
  page: Page,
): Promise<{ rows: SuppressionRow[]; hasMore: boolean }> {
  const where = origin === undefined ? { sql: 'true', values: [] } : { sql: 'origin = ?', values: [origin] };
  if (search !== undefined) {
    const prefix = normalizeAddressStart(search);
    return prefixPage<SuppressionRow>(db, { table: 'suppressions', teamId, where, column: 'email_key', prefix }, page);
  }
  const sql = pageSql('suppressions', `team_id = ? and ${where.sql}`, page);
  const rows = await db.all<SuppressionRow>(sql, [teamId, ...where.values, ...pageValues(page)]);
  return cutPage(rows, page);
}

export const suppressionRowsEnding = (db: Executor, teamId: string, end: string, page: Page) =>
  rowsEnding<SuppressionRow>(db, { ...LISTED, where: { sql: 'team_id = ?', values: [teamId] } }, end, page);

const LISTED = { table: 'suppressions', columns: '*', id: 'id', form: 'text', noun: 'suppressions' } as const;

/** Deletes suppressions; returns the ids that this call deleted: of two concurrent calls only one returns an id. */
export async function deleteRows(tx: Executor, teamId: string, ids: string[]): Promise<Set<string>> {
  const among = textsIn(tx.dialect, 'id', ids);
  const sql = `delete from suppressions where team_id = ? and ${among.sql} returning id`;
  return new Set((await tx.all<{ id: string }>(sql, [teamId, among.value])).map((row) => row.id));
}

export interface SuppressedAddress {
  team_id: string;
  email_key: string;
  origin: Origin;
}

/** Returns which of many addresses, of any teams, are suppressed: one statement for a whole batch of mail. */
export function suppressionsAmong(
  tx: Executor,
  wanted: readonly (readonly [teamId: string, emailKey: string])[],
): Promise<SuppressedAddress[]> {
  const source =
    tx.dialect === 'pg'
      ? `jsonb_array_elements(?::jsonb) as w(pair) join suppressions on team_id = (w.pair->>0)::uuid and email_key = w.pair->>1`
      : `json_each(?) as w cross join suppressions on team_id = json_extract(w.value, '$[0]') and email_key = json_extract(w.value, '$[1]')`;
  return tx.all<SuppressedAddress>(`select team_id, email_key, origin from ${source}`, [JSON.stringify(wanted)]);
}
