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

/** Lists the domains that have counts on a day, those with the most sessions first. */
export async function listCountedDomains(
  db: Executor,
  { day, limit, failuresOnly }: { day: number; limit: number; failuresOnly: boolean },
): Promise<string[]> {
  const rows = await db.all<{ domain: string }>(
    `select domain from tls_session_counts
      where day = ? ${failuresOnly ? "and failure_digest <> ''" : ''}
      group by domain order by sum(sessions) desc, domain limit ?`,
    [day, limit],
  );
  return rows.map(({ domain }) => domain);
}

export async function listSessionCounts(db: Executor, day: number, domain: string): Promise<SessionCountRow[]> {
  const rows = await db.all<SessionCountRow>(
    `select * from tls_session_counts where day = ? and domain = ? order by policy_digest, sessions desc, failure_digest`,
    [day, domain],
  );
  return rows.map((row) => ({ ...row, day: Number(row.day), sessions: Number(row.sessions) }));
}

export const removeSessionCounts = (db: Executor, day: number, domain: string): Promise<number> =>
  db.run('delete from tls_session_counts where day = ? and domain = ?', [day, domain]);

/** A report of a day to one target; without a target, the look-up of the targets. */
export interface OutgoingReportRow {
  day: number;
  domain: string;
  target: string;
  attempts: number;
  /** When it is due. */
  next_at: number;
  /** What became of it at the last attempt; null if there was none. */
  outcome: string | null;
}

/** Stores reports that are to be sent; those that are stored already stay as they are. */
export async function insertOutgoingReports(
  db: Executor,
  rows: readonly Omit<OutgoingReportRow, 'attempts' | 'outcome'>[],
): Promise<void> {
  if (rows.length === 0) return;
  await db.insertMany(
    'outgoing_tls_reports',
    ['day', 'domain', 'target', 'attempts', 'next_at'],
    rows.map(({ day, domain, target, next_at }) => [day, domain, target, 0, next_at]),
    'on conflict (day, domain, target) do nothing',
  );
}

export async function listDueReports(db: Executor, now: number, limit: number): Promise<OutgoingReportRow[]> {
  const rows = await db.all<OutgoingReportRow>(
    `select day, domain, target, attempts, next_at, outcome from outgoing_tls_reports
      where next_at is not null and next_at <= ? order by next_at limit ?`,
    [now, limit],
  );
  return rows.map((row) => ({
    ...row,
    day: Number(row.day),
    attempts: Number(row.attempts),
    next_at: Number(row.next_at),
  }));
}

/**
 * Records what becomes of a due report, and counts an attempt. Returns whether this caller was the first: another node may
 * process the same report.
 */
export async function takeReport(
  db: Executor,
  { day, domain, target, attempts }: OutgoingReportRow,
  { nextAt, outcome }: { nextAt: number | null; outcome: string | null },
): Promise<boolean> {
  const changed = await db.run(
    `update outgoing_tls_reports set attempts = attempts + 1, next_at = ?, outcome = ?
      where day = ? and domain = ? and target = ? and attempts = ? and next_at is not null`,
    [nextAt, outcome, day, domain, target, attempts],
  );
  return changed === 1;
}

/** Records how an attempt of this process ended. */
export async function noteReport(
  db: Executor,
  { day, domain, target }: Pick<OutgoingReportRow, 'day' | 'domain' | 'target'>,
  { nextAt, outcome }: { nextAt: number | null; outcome: string },
): Promise<void> {
  await db.run('update outgoing_tls_reports set next_at = ?, outcome = ? where day = ? and domain = ? and target = ?', [
    nextAt,
    outcome,
    day,
    domain,
    target,
  ]);
}

/** Lists the reports of a day that have a target. */
export const listAddressedReports = (db: Executor, day: number): Promise<{ domain: string; target: string }[]> =>
  db.all("select domain, target from outgoing_tls_reports where day = ? and target <> ''", [day]);

/** Ends the look-ups of a day that are still due, and returns their number. */
export const endLookUps = (tx: Executor, day: number, outcome: string): Promise<number> =>
  tx.run(
    "update outgoing_tls_reports set next_at = null, outcome = ? where day = ? and target = '' and next_at is not null",
    [outcome, day],
  );

/** Removes everything about days before a time. */
export async function forgetTlsReports(db: Executor, before: number): Promise<void> {
  await db.run('delete from tls_session_counts where day < ?', [before]);
  await db.run('delete from outgoing_tls_reports where day < ?', [before]);
}

/** Removes all counts, and all reports that are still to be sent. */
export async function forgetAllTlsReports(tx: Executor): Promise<void> {
  await tx.run('delete from tls_session_counts');
  await tx.run('delete from outgoing_tls_reports');
}
