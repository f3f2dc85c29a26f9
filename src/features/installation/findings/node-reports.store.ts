import { withoutCommitNotice, type Db, type Executor } from '../../../platform/db/index.ts';

export interface NodeReportRow {
  id: string;
  name: string;
  version: string;
  /** JSON array of names. */
  roles: string;
  started_at: number;
  seen_at: number;
  /** JSON array of findings. */
  findings: string;
}

const COLUMNS = ['id', 'name', 'version', 'roles', 'started_at', 'seen_at', 'findings'] as const;

/** Writes or renews the report of a node. A report lost in a power cut is written again half a minute later. */
export async function writeReport(db: Db, row: NodeReportRow): Promise<void> {
  const sql =
    withoutCommitNotice(`insert into node_reports (${COLUMNS.join(', ')}, heard_at) values (?, ?, ?, ?, ?, ?, ?, ${buildNowSql(db)})
    on conflict (id) do update set seen_at = excluded.seen_at, findings = excluded.findings, heard_at = excluded.heard_at`);
  await db.txUnsynced((tx) =>
    tx.run(
      sql,
      COLUMNS.map((column) => row[column]),
    ),
  );
}

/** Lists nodes seen since a time, longest running first. */
export const reportsSince = (db: Executor, since: number): Promise<NodeReportRow[]> =>
  // Names the columns: this also runs before a migration, and the columns of a prepared statement must not change.
  db.all<NodeReportRow>(
    `select ${COLUMNS.join(', ')} from node_reports where seen_at > ? order by started_at, id limit 1000`,
    [since],
  );

/**
 * Loads the nodes that the database itself heard in the last `ms`. A node without that time counts by its own clock, which
 * may be wrong by `unsureMs`. Runs before migrations too.
 */
export async function reportsHeardFor(
  db: Db,
  { ms, unsureMs }: { ms: number; unsureMs: number },
): Promise<{ name: string; version: string; silent_ms: number }[]> {
  const now = buildNowSql(db);
  return db.all(
    `select name, version, ${now} - coalesce(heard_at, seen_at) as silent_ms from node_reports
      where heard_at > ${now} - ? or (heard_at is null and seen_at between ${now} - ? and ${now} + ?)
      order by started_at, id limit 1000`,
    [ms, unsureMs, unsureMs],
  );
}

/** Current time of the database clock in milliseconds, as SQL. */
const buildNowSql = ({ dialect }: Pick<Db, 'dialect'>): string =>
  dialect === 'pg'
    ? 'cast(extract(epoch from clock_timestamp()) * 1000 as bigint)'
    : "cast(unixepoch('subsec') * 1000 as integer)";

/** Removes the report of one node. */
export const forgetReport = (db: Db, id: string): Promise<number> =>
  db.txUnsynced((tx) => tx.run(withoutCommitNotice('delete from node_reports where id = ?'), [id]));
/** Removes old reports but keeps nodes that the database heard from within `heardMs`: only their clock is wrong. */
export const forgetReportsBefore = (db: Db, seenBefore: number, heardMs = 0): Promise<number> =>
  db.txUnsynced((tx) =>
    tx.run(
      withoutCommitNotice(
        `delete from node_reports where seen_at <= ? and (heard_at is null or heard_at <= ${buildNowSql(db)} - ?)`,
      ),
      [seenBefore, heardMs],
    ),
  );
