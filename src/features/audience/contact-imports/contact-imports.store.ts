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
  rows_read: number;
  tries: number;
  created_at: number;
  completed_at: number | null;
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

export interface Progress {
  id: string;
  owner: string;
  /** Number of the last row read, including the header. */
  rowsRead: number;
  counts: { total: number; created: number; updated: number; skipped: number; failed: number };
  failures: readonly { row: number; reason: string; value: string | null }[];
}

const FAILURES_KEPT_MAX = 1000;

/** Adds the results of a batch. Returns false if another process has taken over the import. */
export async function writeProgress(
  tx: Executor,
  { id, owner, rowsRead, counts, failures }: Progress,
): Promise<boolean> {
  const sql =
    withoutCommitNotice(`update contact_imports set rows_read = ?, tries = 0, total = total + ?, created = created + ?,
    updated = updated + ?, skipped = skipped + ?, failed = failed + ? where id = ? and lease_owner = ? returning failed`);
  const { total, created, updated, skipped, failed } = counts;
  const row = await tx.get<{ failed: number }>(sql, [rowsRead, total, created, updated, skipped, failed, id, owner]);
  if (!row) return false;
  await insertFailures(tx, id, failures.slice(0, Math.max(0, FAILURES_KEPT_MAX - (row.failed - failed))));
  return true;
}

async function insertFailures(tx: Executor, id: string, failures: Progress['failures']): Promise<void> {
  if (failures.length === 0) return;
  await tx.insertMany(
    'contact_import_failures',
    ['import_id', 'row', 'reason', 'value'],
    failures.map(({ row, reason, value }) => [id, row, reason, value]),
    // If a row fails twice, keep the first failure.
    'on conflict (import_id, row) do nothing',
  );
}

/**
 * Ends an import; `failure` is the reason why the file could not be read to its end. Changes no counts: they count the
 * rows that `writeProgress` has written, and the row at which reading ended is not one of them.
 */
export async function finishImport(
  tx: Executor,
  {
    id,
    owner,
    at,
    failure,
  }: { id: string; owner: string; at: number; failure?: Progress['failures'][number] | undefined },
): Promise<void> {
  const status: ImportStatus = failure ? 'failed' : 'completed';
  const sql = `update contact_imports set status = ?, completed_at = ?, lease_owner = null, lease_until = null
    where id = ? and lease_owner = ?`;
  if ((await tx.run(sql, [status, at, id, owner])) === 0 || !failure) return;
  // Keep the reason for the end: if the import already has the maximum number of failures, delete the last one.
  const kept = await listFailures(tx, id);
  const last = kept.length < FAILURES_KEPT_MAX ? undefined : kept.at(-1);
  if (last) await tx.run('delete from contact_import_failures where import_id = ? and row = ?', [id, last.row]);
  await insertFailures(tx, id, [failure]);
}

export function listFailures(
  db: Executor,
  id: string,
): Promise<{ row: number; reason: string; value: string | null }[]> {
  return db.all('select row, reason, value from contact_import_failures where import_id = ? order by row limit ?', [
    id,
    FAILURES_KEPT_MAX,
  ]);
}

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

/** Needs a transaction: an import with `file_removed_at` is never processed again. */
export async function noteFileRemoved(tx: Executor, id: string, at: number): Promise<void> {
  await tx.run(withoutCommitNotice('update contact_imports set file_removed_at = ? where id = ?'), [at, id]);
  // The values of failed rows may be addresses.
  await tx.run('update contact_import_failures set value = null where import_id = ?', [id]);
}
