import { withoutCommitNotice, type Db, type Executor } from '../../platform/db/index.ts';

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
  const sql = withoutCommitNotice(`insert into node_reports (${COLUMNS.join(', ')}) values (?, ?, ?, ?, ?, ?, ?)
    on conflict (id) do update set seen_at = excluded.seen_at, findings = excluded.findings`);
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

/** Forgets one node, or with a time those that were not heard of since then. */
export const forgetReport = (db: Db, id: string): Promise<number> =>
  db.txUnsynced((tx) => tx.run(withoutCommitNotice('delete from node_reports where id = ?'), [id]));
export const forgetReportsBefore = (db: Db, seenBefore: number): Promise<number> =>
  db.txUnsynced((tx) => tx.run(withoutCommitNotice('delete from node_reports where seen_at <= ?'), [seenBefore]));
