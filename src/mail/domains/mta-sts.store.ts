import type { Executor } from '../../platform/db/index.ts';
import type { DomainRow, RecordRow } from './domain-rows.ts';

/** Notes until when senders may apply a policy that has ended; an earlier note that lasts longer stays. */
export const saveWithdrawal = (tx: Executor, name: string, cachedUntil: number): Promise<number> =>
  tx.insertMany(
    'sts_withdrawals',
    ['name', 'cached_until'],
    [[name, cachedUntil]],
    `on conflict (name) do update set cached_until = excluded.cached_until
      where sts_withdrawals.cached_until < excluded.cached_until`,
  );

/** Returns until when senders may apply a former policy of a name, if no domain of the team or of an owner has it. */
export async function withdrawalOfAbsent(
  db: Executor,
  { name, team_id: teamId }: Pick<DomainRow, 'name' | 'team_id'>,
  now: number,
): Promise<number | undefined> {
  const row = await db.get<{ cached_until: number }>(
    `select w.cached_until from sts_withdrawals w where w.name = ? and w.cached_until > ? and not exists (
      select 1 from domains d where d.name = w.name and (d.team_id = ? or d.held_at is not null))`,
    [name, now, teamId],
  );
  return row?.cached_until;
}

export const forgetWithdrawals = (db: Executor, now: number): Promise<number> =>
  db.run('delete from sts_withdrawals where cached_until <= ?', [now]);

/** What decides which policy is served for a name. */
export interface ServedName {
  /** The mode of the domain that owns the name; null if no domain does. */
  mode: DomainRow['mta_sts'] | null;
  /** The last result for the record that points the policy host to us; null if there is no such record. */
  status: RecordRow['status'] | null;
  cached_until: number | null;
}

export async function findServedName(db: Executor, name: string): Promise<ServedName> {
  const owner = await db.get<Pick<ServedName, 'mode' | 'status'>>(
    `select d.mta_sts as mode, r.status from domains d
      left join domain_records r on r.domain_id = d.id and r.record = 'MTA-STS' and r.type = 'CNAME'
      where d.name = ? and d.held_at is not null`,
    [name],
  );
  const withdrawal = await db.get<{ cached_until: number }>('select cached_until from sts_withdrawals where name = ?', [
    name,
  ]);
  return {
    mode: owner?.mode ?? null,
    status: owner?.status ?? null,
    cached_until: withdrawal?.cached_until ?? null,
  };
}

/** Counts the domains whose policy makes senders require a valid certificate. */
export async function countEnforcing(db: Executor): Promise<number> {
  const row = await db.get<{ n: number }>(
    "select count(*) as n from domains where mta_sts = 'enforce' and held_at is not null",
    [],
  );
  return Number(row?.n);
}

/** Lists domains whose policy makes senders require a valid certificate, and whose policy host points to us. */
export async function listEnforcing(db: Executor, limit: number): Promise<string[]> {
  const rows = await db.all<{ name: string }>(
    `select d.name from domains d join domain_records r on r.domain_id = d.id
      where d.mta_sts = 'enforce' and d.held_at is not null
        and r.record = 'MTA-STS' and r.type = 'CNAME' and r.status = 'verified'
      order by d.name limit ?`,
    [limit],
  );
  return rows.map(({ name }) => name);
}

/**
 * Lists the policy hosts that pointed to us when their DNS was last checked, and those of removed domains whose policy
 * senders may still apply.
 */
export async function policyHosts(db: Executor, now: number): Promise<string[]> {
  const rows = await db.all<{ host: string }>(
    `select r.name as host from domain_records r join domains d on d.id = r.domain_id
      where r.record = 'MTA-STS' and r.type = 'CNAME' and r.status = 'verified' and d.held_at is not null
    union select 'mta-sts.' || w.name from sts_withdrawals w where w.cached_until > ?
      and not exists (select 1 from domains d where d.name = w.name and d.held_at is not null)
    order by 1`,
    [now],
  );
  return rows.map(({ host }) => host.toLowerCase());
}
