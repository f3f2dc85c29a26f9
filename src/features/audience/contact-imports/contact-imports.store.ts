import {
  cutPage,
  pageSql,
  pageValues,
  withoutCommitNotice,
  uuidsIn,
  type Executor,
  type Page,
} from '../../../platform/db/index.ts';

export type ImportStatus = 'queued' | 'in_progress' | 'completed' | 'failed';

export interface ImportRow {
  id: string;
  team_id: string;
  status: ImportStatus;
  /** JSON of ImportOptions. */
  options: string;
  total: number;
  created: number;
  updated: number;
  skipped: number;
  failed: number;
  skipped_values: number;
  rows_read: number;
  tries: number;
  created_at: number;
  completed_at: number | null;
  file_removed_at: number | null;
}

export async function insertImport(
  tx: Executor,
  row: Pick<ImportRow, 'id' | 'team_id' | 'options' | 'created_at'>,
): Promise<void> {
  await tx.insertMany(
    'contact_imports',
    ['id', 'team_id', 'status', 'options', 'created_at'],
    [[row.id, row.team_id, 'queued', row.options, row.created_at]],
  );
}

export function findImport(db: Executor, teamId: string, id: string): Promise<ImportRow | undefined> {
  return db.get<ImportRow>('select * from contact_imports where team_id = ? and id = ?', [teamId, id]);
}

export async function listImportRows(
  db: Executor,
  teamId: string,
  status: ImportStatus | undefined,
  page: Page,
): Promise<{ rows: ImportRow[]; hasMore: boolean }> {
  const where = status === undefined ? 'team_id = ?' : 'team_id = ? and status = ?';
  const values = status === undefined ? [teamId] : [teamId, status];
  const rows = await db.all<ImportRow>(pageSql('contact_imports', where, page), [...values, ...pageValues(page)]);
  return cutPage(rows, page);
}

/** Reports whether the team has at least `count` imports that are waiting or in progress. */
export async function hasOpenImports(db: Executor, teamId: string, count: number): Promise<boolean> {
  const sql = `select id from contact_imports where team_id = ? and status in ('queued', 'in_progress') limit ?`;
  return (await db.all(sql, [teamId, count])).length >= count;
}

interface Lease {
  owner: string;
  now: number;
  until: number;
}

const HEADS_MAX = 1000;

/** Returns the oldest open import of each team that has none in progress. */
export function oldestWaitingOfEachTeam(db: Executor, now: number): Promise<{ id: string; team_id: string }[]> {
  const sql = `select id, team_id from (
      select id, team_id, lease_until, row_number() over (partition by team_id order by id) as place,
        max(case when lease_until > ? then 1 else 0 end) over (partition by team_id) as is_busy
      from contact_imports where completed_at is null) as open_imports
    where place = 1 and is_busy = 0 order by id limit ?`;
  return db.all(sql, [now, HEADS_MAX]);
}

/** Leases the given imports, except those that another process has leased since they were read. */
export async function claimImports(
  db: Executor,
  { owner, now, until }: Lease,
  ids: readonly string[],
): Promise<ImportRow[]> {
  if (ids.length === 0) return [];
  const among = uuidsIn(db.dialect, 'id', ids);
  const sql =
    withoutCommitNotice(`update contact_imports set lease_owner = ?, lease_until = ?, status = 'in_progress', tries = tries + 1
    where ${among.sql} and completed_at is null and (lease_until is null or lease_until <= ?) returning *`);
  return db.all<ImportRow>(sql, [owner, until, among.value, now]);
}

/** A row that was not imported, or the row at which reading ended. */
export interface RowFailure {
  row: number;
  reason: string;
  value: string | null;
}

/** A value that a row was imported without. */
export interface SkippedValueRow extends RowFailure {
  column: number;
  /** The name of the column in the header; null if it has none. */
  name: string | null;
}

export interface Progress {
  id: string;
  owner: string;
  /** Number of the last row read, including the header. */
  rowsRead: number;
  counts: { total: number; created: number; updated: number; skipped: number; failed: number };
  failures: readonly RowFailure[];
  skippedValues: readonly SkippedValueRow[];
}

/** Failures that are listed, and skipped values that are kept. */
const LISTED_MAX = 1000;
/** Failures that are kept with the file, from which their rows are returned. */
const FAILURES_KEPT_MAX = 10_000;

/** Adds the results of a batch. Returns false if another process has taken over the import. */
export async function writeProgress(
  tx: Executor,
  { id, owner, rowsRead, counts, failures, skippedValues }: Progress,
): Promise<boolean> {
  const sql =
    withoutCommitNotice(`update contact_imports set rows_read = ?, tries = 0, total = total + ?, created = created + ?,
    updated = updated + ?, skipped = skipped + ?, failed = failed + ?, skipped_values = skipped_values + ?
    where id = ? and lease_owner = ? returning failed, skipped_values`);
  const { total, created, updated, skipped, failed } = counts;
  const values = [rowsRead, total, created, updated, skipped, failed, skippedValues.length, id, owner];
  const row = await tx.get<{ failed: number; skipped_values: number }>(sql, values);
  if (!row) return false;
  await insertFailures(tx, id, failures.slice(0, Math.max(0, FAILURES_KEPT_MAX - (row.failed - failed))));
  const keptBefore = row.skipped_values - skippedValues.length;
  await insertSkippedValues(tx, id, skippedValues.slice(0, Math.max(0, LISTED_MAX - keptBefore)));
  return true;
}

async function insertFailures(tx: Executor, id: string, failures: readonly RowFailure[]): Promise<void> {
  if (failures.length === 0) return;
  await tx.insertMany(
    'contact_import_failures',
    ['import_id', 'row', 'reason', 'value'],
    failures.map(({ row, reason, value }) => [id, row, reason, value]),
    // If a row fails twice, keep the first failure.
    'on conflict (import_id, row) do nothing',
  );
}

async function insertSkippedValues(tx: Executor, id: string, skipped: readonly SkippedValueRow[]): Promise<void> {
  if (skipped.length === 0) return;
  await tx.insertMany(
    'contact_import_skipped_values',
    ['import_id', 'row', 'column_number', 'column_name', 'reason', 'value'],
    skipped.map(({ row, column, name, reason, value }) => [id, row, column, name, reason, value]),
  );
}

/**
 * Ends an import; `failure` is the reason why the file could not be read to its end. Changes no counts: they count the
 * rows that `writeProgress` has written, and the row at which reading ended is not one of them.
 */
export async function finishImport(
  tx: Executor,
  { id, owner, at, failure }: { id: string; owner: string; at: number; failure?: RowFailure | undefined },
): Promise<void> {
  const status: ImportStatus = failure ? 'failed' : 'completed';
  const sql = `update contact_imports set status = ?, completed_at = ?, lease_owner = null, lease_until = null
    where id = ? and lease_owner = ?`;
  if ((await tx.run(sql, [status, at, id, owner])) === 0 || !failure) return;
  await insertFailures(tx, id, [failure]);
}

/** Stores what was found out about the file, before its first row is read. Returns false if another process took over. */
export async function updateOptions(
  tx: Executor,
  { id, owner, options }: { id: string; owner: string; options: string },
): Promise<boolean> {
  const sql = withoutCommitNotice('update contact_imports set options = ? where id = ? and lease_owner = ?');
  return (await tx.run(sql, [options, id, owner])) === 1;
}

/**
 * Returns the first failures, in the order of the file. Those of an import that failed end with the reason for its end.
 */
export async function listFailures(
  db: Executor,
  { id, status }: Pick<ImportRow, 'id' | 'status'>,
): Promise<RowFailure[]> {
  const first = await readFailures(db, id, LISTED_MAX);
  if (first.length < LISTED_MAX || status !== 'failed') return first;
  const sql = 'select row, reason, value from contact_import_failures where import_id = ? order by row desc limit 1';
  return [...first.slice(0, -1), ...(await db.all<RowFailure>(sql, [id]))];
}

/** Returns all failures that are kept with the file, in its order. */
export const listKeptFailures = (db: Executor, id: string): Promise<RowFailure[]> =>
  readFailures(db, id, FAILURES_KEPT_MAX);

const readFailures = (db: Executor, id: string, limit: number): Promise<RowFailure[]> =>
  db.all<RowFailure>(
    'select row, reason, value from contact_import_failures where import_id = ? order by row limit ?',
    [id, limit],
  );

export const listSkippedValues = (db: Executor, id: string): Promise<SkippedValueRow[]> =>
  db.all<SkippedValueRow>(
    `select row, column_number as "column", column_name as name, reason, value from contact_import_skipped_values
      where import_id = ? order by row, column_number limit ?`,
    [id, LISTED_MAX],
  );

/** Returns those of the blob owners that are imports whose file is still needed. */
export async function importsWithFileAmong(db: Executor, ids: readonly string[]): Promise<string[]> {
  const among = uuidsIn(db.dialect, 'id', ids);
  const sql = `select id from contact_imports where ${among.sql} and file_removed_at is null`;
  return (await db.all<{ id: string }>(sql, [among.value])).map((row) => row.id);
}

export async function importsWithOldFile(db: Executor, before: number, limit: number): Promise<string[]> {
  const sql = `select id from contact_imports where completed_at is not null and file_removed_at is null
    and completed_at <= ? order by completed_at limit ?`;
  return (await db.all<{ id: string }>(sql, [before, limit])).map((row) => row.id);
}

/** Lists the imports of a team whose file is kept, and whether each has ended. */
export async function importsWithFile(db: Executor, teamId: string): Promise<{ id: string; hasEnded: boolean }[]> {
  const sql = `select id, completed_at from contact_imports where team_id = ? and file_removed_at is null order by id`;
  const rows = await db.all<{ id: string; completed_at: number | null }>(sql, [teamId]);
  return rows.map(({ id, completed_at: at }) => ({ id, hasEnded: at !== null }));
}

/** Needs a transaction: an import with `file_removed_at` is never processed again. */
export async function noteFileRemoved(tx: Executor, id: string, at: number): Promise<void> {
  await tx.run(withoutCommitNotice('update contact_imports set file_removed_at = ? where id = ?'), [at, id]);
  // Without the file, the rows of more failures than the listed ones cannot be returned.
  const last = (await readFailures(tx, id, LISTED_MAX))[LISTED_MAX - 1];
  if (last) {
    const end = 'select max(row) from contact_import_failures where import_id = ?';
    const sql = `delete from contact_import_failures where import_id = ? and row > ? and row < (${end})`;
    await tx.run(sql, [id, last.row, id]);
  }
  // The values of failed rows, and skipped ones, may be addresses.
  await tx.run('update contact_import_failures set value = null where import_id = ?', [id]);
  await tx.run('update contact_import_skipped_values set value = null where import_id = ?', [id]);
}
