import type { Executor } from '../../platform/db/index.ts';

/** The MTA-STS policy of a recipient's domain. */
export interface StsPolicyRow {
  domain: string;
  /** The id of the record when the policy was fetched; empty if it never was. */
  policy_id: string;
  /** The file as it was fetched. */
  content: string;
  fetched_at: number;
  expires_at: number;
  /** The last attempt to fetch it that failed since then. */
  failed_id: string | null;
  failed_at: number | null;
  failure: string | null;
  /** The day on which mail went to the domain last. */
  used_at: number;
}

const COLUMNS = [
  'domain',
  'policy_id',
  'content',
  'fetched_at',
  'expires_at',
  'failed_id',
  'failed_at',
  'failure',
  'used_at',
] as const;

const read = (row: StsPolicyRow): StsPolicyRow => ({
  ...row,
  fetched_at: Number(row.fetched_at),
  expires_at: Number(row.expires_at),
  failed_at: row.failed_at === null ? null : Number(row.failed_at),
  used_at: Number(row.used_at),
});

export async function findStsPolicy(db: Executor, domain: string): Promise<StsPolicyRow | undefined> {
  const row = await db.get<StsPolicyRow>('select * from sts_policies where domain = ?', [domain]);
  return row && read(row);
}

/** Stores a policy that was fetched, in place of the one before. */
export async function putStsPolicy(db: Executor, row: StsPolicyRow): Promise<void> {
  const sets = COLUMNS.filter((column) => column !== 'domain').map((column) => `${column} = excluded.${column}`);
  await db.insertMany(
    'sts_policies',
    [...COLUMNS],
    [COLUMNS.map((column) => row[column])],
    `on conflict (domain) do update set ${sets.join(', ')}`,
  );
}

/** Records that a policy could not be fetched. A policy that was fetched before stays as it is. */
export async function noteStsFailure(
  db: Executor,
  { domain, failed_id, failed_at, failure }: Pick<StsPolicyRow, 'domain' | 'failed_id' | 'failed_at' | 'failure'>,
): Promise<void> {
  await db.insertMany(
    'sts_policies',
    [...COLUMNS],
    [[domain, '', '', 0, 0, failed_id, failed_at, failure, failed_at]],
    `on conflict (domain) do update set failed_id = excluded.failed_id, failed_at = excluded.failed_at,
      failure = excluded.failure`,
  );
}

/** A policy in force that could not be fetched again. */
export type StalePolicy = Pick<StsPolicyRow, 'domain' | 'fetched_at' | 'expires_at'> & { failure: string };

/** A refresh that failed is tried again every hour, so this is no short outage. */
const STALE_AFTER_MS = 2 * 86_400_000;

/** Lists the policies in force that could not be fetched again for two days, or half of their time; the oldest come first. */
export async function listStalePolicies(db: Executor, now: number, limit: number): Promise<StalePolicy[]> {
  const rows = await db.all<StalePolicy>(
    `select domain, fetched_at, expires_at, failure from sts_policies
      where failed_at is not null and fetched_at > 0 and expires_at > ?
        and (fetched_at < ? or (? - fetched_at) * 2 > expires_at - fetched_at)
      order by fetched_at, domain limit ?`,
    [now, now - STALE_AFTER_MS, now, limit],
  );
  return rows.map((row) => ({ ...row, fetched_at: Number(row.fetched_at), expires_at: Number(row.expires_at) }));
}

export const noteStsUse = (db: Executor, domain: string, usedAt: number): Promise<number> =>
  db.run('update sts_policies set used_at = ? where domain = ? and used_at < ?', [usedAt, domain, usedAt]);

/**
 * Reads one batch of the policies that were fetched before a time and have not expired. A clock that was ahead may have written
 * a time that has not come.
 */
export async function stsPoliciesToRefresh(
  db: Executor,
  { fetchedBefore, now, after, limit }: { fetchedBefore: number; now: number; after: string; limit: number },
): Promise<StsPolicyRow[]> {
  const rows = await db.all<StsPolicyRow>(
    `select * from sts_policies where (fetched_at < ? or fetched_at > ?) and expires_at > ? and domain > ?
      order by domain limit ?`,
    [fetchedBefore, now, now, after, limit],
  );
  return rows.map(read);
}

/** Forgets policies of domains that got no mail for long, and failures to fetch one. */
export async function forgetStsPolicies(db: Executor, { unusedSince, now }: { unusedSince: number; now: number }) {
  await db.run('delete from sts_policies where used_at < ?', [unusedSince]);
  await db.run('delete from sts_policies where expires_at < ? and coalesce(failed_at, 0) < ?', [
    now - DAY_MS,
    now - DAY_MS,
  ]);
}

const DAY_MS = 86_400_000;
