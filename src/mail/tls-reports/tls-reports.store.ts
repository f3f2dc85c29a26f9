import { textsIn, type Executor } from '../../platform/db/index.ts';

/** What identifies a count. */
interface CountKey {
  domain: string;
  policy_digest: string;
  /** Empty for sessions that succeeded. */
  failure_digest: string;
}

export interface SessionCountRow extends CountKey {
  /** 00:00 UTC of the day. */
  day: number;
  policy: string;
  failure: string | null;
  sessions: number;
}

/** Lists which counts the domains have on a day. */
export function listCountKeys(db: Executor, day: number, domains: readonly string[]): Promise<CountKey[]> {
  const among = textsIn(db.dialect, 'domain', domains);
  return db.all<CountKey>(
    `select domain, policy_digest, failure_digest from tls_session_counts where day = ? and ${among.sql}`,
    [day, among.value],
  );
}

const COUNT_COLUMNS = ['day', 'domain', 'policy_digest', 'failure_digest', 'policy', 'failure', 'sessions'] as const;

/** Adds to the counts. No two of the rows have the same key. */
export async function addSessionCounts(db: Executor, rows: readonly SessionCountRow[]): Promise<void> {
  if (rows.length === 0) return;
  const toKey = (row: SessionCountRow): string =>
    `${row.day}\n${row.domain}\n${row.policy_digest}\n${row.failure_digest}`;
  // The order is the same everywhere: two nodes that locked rows in opposite orders would deadlock.
  const ordered = rows.toSorted((a, b) => (toKey(a) < toKey(b) ? -1 : 1));
  await db.insertMany(
    'tls_session_counts',
    [...COUNT_COLUMNS],
    ordered.map((row) => COUNT_COLUMNS.map((column) => row[column])),
    `on conflict (day, domain, policy_digest, failure_digest)
      do update set sessions = tls_session_counts.sessions + excluded.sessions`,
  );
}
