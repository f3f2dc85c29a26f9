import type { Executor } from '../../platform/db/index.ts';
import type { BlockedReason } from './claim-blocks.ts';

export type ClaimStatus =
  | 'pending'
  | 'verified'
  | 'completed'
  | 'blocked'
  | 'expired'
  | 'superseded'
  | 'canceled'
  | 'failed';
/** Statuses in which a claim ends. */
export type EndStatus = Extract<ClaimStatus, 'completed' | 'expired' | 'superseded' | 'canceled' | 'failed'>;
export type ProofStatus = 'not_started' | 'pending' | 'verified' | 'temporary_failure' | 'failed';

export interface ClaimRow {
  id: string;
  team_id: string;
  domain_id: string;
  name: string;
  proof: string;
  status: 'pending' | EndStatus;
  record_status: ProofStatus;
  diagnosis: string | null;
  blocked_reason: BlockedReason | null;
  failure_reason: string | null;
  created_at: number;
  expires_at: number;
  /** 0 before the first check. */
  checked_at: number;
  concluded_at: number | null;
}

const COLUMNS = [
  'id',
  'team_id',
  'domain_id',
  'name',
  'proof',
  'status',
  'record_status',
  'diagnosis',
  'blocked_reason',
  'failure_reason',
  'created_at',
  'expires_at',
  'checked_at',
  'concluded_at',
] as const;

export async function insertClaim(tx: Executor, row: ClaimRow): Promise<void> {
  await tx.insertMany('domain_claims', COLUMNS, [COLUMNS.map((column) => row[column])]);
}

export const latestClaim = (db: Executor, teamId: string, domainId: string): Promise<ClaimRow | undefined> =>
  db.get<ClaimRow>('select * from domain_claims where domain_id = ? and team_id = ? order by id desc limit 1', [
    domainId,
    teamId,
  ]);

/** Lists every open claim of a name, locked to the end of the transaction and always in the same order. */
export function lockClaims(tx: Executor, name: string): Promise<ClaimRow[]> {
  const lock = tx.dialect === 'pg' ? 'for update' : '';
  return tx.all<ClaimRow>(`select * from domain_claims where name = ? and status = 'pending' order by id ${lock}`, [
    name,
  ]);
}

export type ClaimCheck = Pick<ClaimRow, 'record_status' | 'diagnosis' | 'blocked_reason' | 'checked_at'>;

/** Saves the result of a check. A claim that is over keeps the status it ended with. */
export const saveClaimCheck = (db: Executor, id: string, check: ClaimCheck): Promise<number> =>
  db.run(
    `update domain_claims set record_status = ?, diagnosis = ?, blocked_reason = ?, checked_at = ?
      where id = ? and status = 'pending'`,
    [check.record_status, check.diagnosis, check.blocked_reason, check.checked_at, id],
  );

/** Notes a check of this claim that had no result. */
export const noteTried = (db: Executor, id: string, now: number): Promise<number> =>
  db.run('update domain_claims set checked_at = ? where id = ?', [now, id]);

export interface Ending {
  status: EndStatus;
  failure_reason: string | null;
}

export const endClaim = (tx: Executor, id: string, ending: Ending, now: number): Promise<number> =>
  tx.run(
    `update domain_claims set status = ?, failure_reason = ?, blocked_reason = null, concluded_at = ?
      where id = ? and status = 'pending'`,
    [ending.status, ending.failure_reason, now, id],
  );

/** Ends the other claims of a name that has just changed hands. */
export const supersedeOthers = (tx: Executor, name: string, id: string, why: string, now: number): Promise<number> =>
  tx.run(
    `update domain_claims set status = 'superseded', failure_reason = ?, blocked_reason = null, concluded_at = ?
      where name = ? and status = 'pending' and id <> ?`,
    [why, now, name, id],
  );

/** Lists open claims that need a look-up, least recently checked first. */
export const claimsToCheck = (db: Executor, checkedBefore: number, limit: number): Promise<ClaimRow[]> =>
  db.all<ClaimRow>(
    `select * from domain_claims where status = 'pending' and checked_at < ? order by checked_at, id limit ?`,
    [checkedBefore, limit],
  );

/** Ends every open claim that is over; `why` gives the reason for each way in which it can be. */
export function endOverdueClaims(
  db: Executor,
  why: Record<'removed' | 'ownVerification' | 'unproven' | 'blocked', string>,
  now: number,
): Promise<number> {
  const isRemoved = 'not exists (select 1 from domains d where d.id = domain_claims.domain_id)';
  const isOwn = `exists (select 1 from domains d where d.id = domain_claims.domain_id and d.held_at is not null)`;
  return db.run(
    `update domain_claims set concluded_at = ?, blocked_reason = null,
      status = case when ${isRemoved} then 'canceled' when ${isOwn} then 'superseded' else 'expired' end,
      failure_reason = case when ${isRemoved} then ? when ${isOwn} then ? when blocked_reason is null then ? else ? end
      where status = 'pending' and (expires_at <= ? or ${isRemoved} or ${isOwn})`,
    [now, why.removed, why.ownVerification, why.unproven, why.blocked, now],
  );
}

/**
 * Reports whether a copy of a name is out of use because another team completed a claim, and that team still has the
 * name or still waits for its records. False again once the copy is verified.
 */
export async function hasLostName(
  db: Executor,
  domain: { id: string; team_id: string; name: string },
): Promise<boolean> {
  const found = await db.get(
    `select 1 as found from domains d where d.id = ? and d.held_at is null and exists (
      select 1 from domain_claims c join domains k on k.id = c.domain_id and k.held_at is not null
        where c.name = ? and c.status = 'completed' and c.team_id <> ? and c.concluded_at >= d.created_at)`,
    [domain.id, domain.name, domain.team_id],
  );
  return found !== undefined;
}
