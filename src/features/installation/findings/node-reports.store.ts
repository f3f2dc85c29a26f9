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

/** Writes a node's report, or renews it. What a power cut takes back is written again half a minute later. */
export async function writeReport(db: Db, row: NodeReportRow): Promise<void> {
  const sql =
    withoutCommitNotice(`insert into node_reports (${COLUMNS.join(', ')}, heard_at) values (?, ?, ?, ?, ?, ?, ?, ${nowOf(db)})
    on conflict (id) do update set seen_at = excluded.seen_at, findings = excluded.findings, heard_at = excluded.heard_at`);
  await db.txUnsynced((tx) =>
    tx.run(
      sql,
      COLUMNS.map((column) => row[column]),
    ),
  );
}

/** Nodes that were heard of since, the longest running first. */
export const reportsSince = (db: Executor, since: number): Promise<NodeReportRow[]> =>
  // By name: it is asked before a migration too, and a prepared statement must not change what it answers.
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
  const now = nowOf(db);
  return db.all(
    `select name, version, ${now} - coalesce(heard_at, seen_at) as silent_ms from node_reports
      where heard_at > ${now} - ? or (heard_at is null and seen_at between ${now} - ? and ${now} + ?)
      order by started_at, id limit 1000`,
    [ms, unsureMs, unsureMs],
  );
}

/** By the clock of the database, in milliseconds. */
const nowOf = ({ dialect }: Pick<Db, 'dialect'>): string =>
  dialect === 'pg'
    ? 'cast(extract(epoch from clock_timestamp()) * 1000 as bigint)'
    : "cast(unixepoch('subsec') * 1000 as integer)";

/** Forgets one node, or those that were not seen since a time. */
export const forgetReport = (db: Db, id: string): Promise<number> =>
  db.txUnsynced((tx) => tx.run(withoutCommitNotice('delete from node_reports where id = ?'), [id]));
/** Whom the database itself heard in the last `heardMs` stays: it is the clock of that node that is behind. */
export const forgetReportsBefore = (db: Db, seenBefore: number, heardMs = 0): Promise<number> =>
  db.txUnsynced((tx) =>
    tx.run(
      withoutCommitNotice(
        `delete from node_reports where seen_at <= ? and (heard_at is null or heard_at <= ${nowOf(db)} - ?)`,
      ),
      [seenBefore, heardMs],
    ),
  );
