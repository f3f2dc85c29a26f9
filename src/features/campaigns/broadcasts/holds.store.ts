import { uuidsIn, type Executor } from '../../../platform/db/index.ts';

/** Reasons that hold a broadcast's accepted mail as well as its pages. */
export const COVER_MAIL = "('bounces', 'complaints', 'restored')";

/** Reason that holds an approved broadcast whose segment has more contacts than a person approved. */
export const AUDIENCE_GROWN = 'audience_grown';

/** The detail of what was canceled before the copy was made: its mail waits for a resume, and not to be taken out of the queue. */
const CANCELED_BEFORE = 'mail of before its cancel';
const WAS_CANCELED_BEFORE = "(held_reason = 'restored' and held_detail is not null)";

export interface HeldForOutcome {
  reason: 'bounces' | 'complaints';
  /** The figures, in words. */
  detail: string;
  at: number;
}

export interface JudgedRow {
  id: string;
  team_id: string;
  resumed_delivered: number;
  resumed_bounced: number;
  resumed_complained: number;
}

/** Of these broadcasts, those that are sent or being sent and not held. */
export function judgeable(db: Executor, ids: readonly string[]): Promise<JudgedRow[]> {
  const among = uuidsIn(db.dialect, 'id', ids);
  const sql = `select id, team_id, resumed_delivered, resumed_bounced, resumed_complained from broadcasts
    where ${among.sql} and held_reason is null and status in ('sending', 'sent')`;
  return db.all<JudgedRow>(sql, [among.value]);
}

/** Takes the lease away too, so that a page under way is rolled back. Answers whether this call held it. */
export async function holdForOutcome(
  tx: Executor,
  id: string,
  { reason, detail, at }: HeldForOutcome,
): Promise<boolean> {
  const sql = `update broadcasts set held_reason = ?, held_since = ?, held_detail = ?,
      waiting_reason = null, lease_owner = null, lease_until = null
    where id = ? and held_reason is null and status in ('sending', 'sent')`;
  return (await tx.run(sql, [reason, at, detail, id])) === 1;
}

/**
 * Holds all that is under way, scheduled, or has mail in the queue, also what was canceled before; answers how many that are.
 * What is held for a reason of its own that leaves its mail to go is held for this one.
 */
export const holdRestored = (tx: Executor, at: number): Promise<number> =>
  tx.run(
    `update broadcasts set held_reason = 'restored', held_since = ?,
        held_detail = case when status = 'canceled' then '${CANCELED_BEFORE}' end,
        waiting_reason = null, lease_owner = null, lease_until = null
      where (held_reason is null or held_reason not in ${COVER_MAIL})
        and (status in ('scheduled', 'queued', 'sending') or (status in ('sent', 'canceled')
        and exists (select 1 from deliveries where deliveries.broadcast_id = broadcasts.id)))`,
    [at],
  );

export interface MailHold {
  id: string;
  reason: string;
  /** One that was canceled since it is held keeps its mail held until that is taken out of the queue. */
  is_canceled: number;
}

/** Of these broadcasts, those whose mail is not to be delivered. */
export function mailHoldsAmong(db: Executor, ids: readonly string[]): Promise<MailHold[]> {
  const among = uuidsIn(db.dialect, 'id', ids);
  const sql = `select id, held_reason as reason, case when status = 'canceled' and not ${WAS_CANCELED_BEFORE} then 1 else 0 end as is_canceled
    from broadcasts where ${among.sql} and held_reason in ${COVER_MAIL}`;
  return db.all<MailHold>(sql, [among.value]);
}

/** Makes all that is held since a restore go on; what is due goes out now. */
export const resumeRestored = (db: Executor, at: number): Promise<number> =>
  db.run(
    `update broadcasts set held_reason = null, held_since = null, updated_at = ?,
        status = case when status = 'scheduled' and coalesce(next_at, scheduled_at) <= ? then 'queued' else status end,
        next_at = case when next_at <= ? then ? else next_at end
      where held_reason = 'restored' and (status <> 'canceled' or ${WAS_CANCELED_BEFORE})`,
    [at, at, at, at],
  );

export async function countRestored(db: Executor): Promise<number> {
  const sql = `select count(*) as n from broadcasts
    where held_reason = 'restored' and (status <> 'canceled' or ${WAS_CANCELED_BEFORE})`;
  return Number((await db.get<{ n: number }>(sql))?.n ?? 0);
}
