import { withoutCommitNotice, type Executor } from '../../../platform/db/index.ts';
import type { Tracked } from '../../../mail/domains/index.ts';
import type { BroadcastRow, WaitingReason } from './broadcasts.store.ts';

interface ClaimOfBroadcasts {
  owner: string;
  now: number;
  until: number;
  limit: number;
}

/** Time at which a broadcast continues, if it is known. */
const DUE = "coalesce(next_at, case when status = 'scheduled' then scheduled_at end)";

/** Must match the condition of the index of due broadcasts. */
const OPEN = "status in ('scheduled', 'queued', 'sending')";

/**
 * Claims broadcasts that are in progress or due, unless they are held, paused or leased by another process. The ones that
 * were not processed for the longest time come first.
 */
export async function claimDueBroadcasts(
  tx: Executor,
  { owner, now, until, limit }: ClaimOfBroadcasts,
): Promise<BroadcastRow[]> {
  const lock = tx.dialect === 'pg' ? ' for update skip locked' : '';
  const sql = withoutCommitNotice(`update broadcasts set lease_owner = ?, lease_until = ? where id in (
      select id from broadcasts where ${OPEN} and (${DUE} is null or ${DUE} <= ?)
        and held_reason is null and paused_at is null and (lease_until is null or lease_until <= ?)
      order by coalesce(lease_until, 0), coalesce(scheduled_at, updated_at), id limit ?${lock})
    returning *`);
  const rows = await tx.all<BroadcastRow>(sql, [owner, until, now, now, limit]);
  return rows.sort((a, b) => dueAt(a) - dueAt(b) || (a.id < b.id ? -1 : 1));
}

const dueAt = (row: BroadcastRow): number => Number(row.scheduled_at ?? row.updated_at);

/**
 * Releases a broadcast until the given time. `reason` is what stops it; undefined if it only gives others their turn.
 */
export async function releaseUntil(
  db: Executor,
  { id, owner, until, reason }: Held & { until: number; reason: WaitingReason | undefined },
): Promise<void> {
  const sql = `update broadcasts set lease_owner = null, lease_until = ?, waiting_reason = ?
    where id = ? and lease_owner = ?`;
  await db.run(withoutCommitNotice(sql), [until, reason ?? null, id, owner]);
}

/** Ends the waits that last beyond `latest`. Returns the number of broadcasts. */
export const endWaitsAfter = (db: Executor, { now, latest }: { now: number; latest: number }): Promise<number> =>
  db.run(`update broadcasts set lease_until = ? where ${OPEN} and lease_owner is null and lease_until > ?`, [
    now,
    latest,
  ]);

/**
 * Returns the time at which the next broadcast is due. Includes those leased by other processes, because a lease may
 * expire.
 */
export async function nextBroadcastAt(db: Executor, now: number): Promise<number | undefined> {
  const sql = `select min(open.at) as at from (
      select case when ${DUE} > coalesce(lease_until, 0) then ${DUE} else coalesce(lease_until, ?) end as at
      from broadcasts where ${OPEN} and held_reason is null and paused_at is null) as open`;
  const row = await db.get<{ at: number | null }>(sql, [now]);
  return row?.at === null || row?.at === undefined ? undefined : Number(row.at);
}

/** A broadcast and the process that claimed it. */
interface Held {
  id: string;
  owner: string;
}

/**
 * Marks a broadcast as being sent; one that was already sent in part keeps its start time. Returns false if it was
 * canceled or taken over.
 */
export async function beginBroadcast(
  tx: Executor,
  { id, owner, at, total, passAt = null }: Held & { at: number; total: number; passAt?: number | null },
): Promise<boolean> {
  const sql = `update broadcasts set status = 'sending', started_at = coalesce(started_at, ?), total = coalesce(total, ?),
    pass_at = ?, next_at = null where id = ? and lease_owner = ? and ${OPEN}`;
  return (await tx.run(sql, [at, total, passAt, id, owner])) === 1;
}

/** Begins sending to the recipients it was waiting for. Returns false if it was canceled or taken over. */
export async function beginPass(tx: Executor, { id, owner }: Held): Promise<boolean> {
  const sql = `update broadcasts set next_at = null, waiting_reason = null
    where id = ? and lease_owner = ? and status = 'sending'`;
  return (await tx.run(sql, [id, owner])) === 1;
}

/** Releases a broadcast until the first contacts are due. */
export async function waitForStart(db: Executor, { id, owner, nextAt }: Held & { nextAt: number }): Promise<void> {
  const sql =
    'update broadcasts set next_at = ?, lease_owner = null, lease_until = null where id = ? and lease_owner = ?';
  await db.run(sql, [nextAt, id, owner]);
}

/** Releases a broadcast until the next contacts are due; the next pass starts at the first contact. */
export async function waitForPass(
  tx: Executor,
  { id, owner, passAt, nextAt }: Held & { passAt: number; nextAt: number },
): Promise<boolean> {
  const sql = `update broadcasts set pass_at = ?, next_at = ?, cursor_id = null, waiting_reason = 'local_hour',
    lease_owner = null, lease_until = null where id = ? and lease_owner = ? and status = 'sending'`;
  return (await tx.run(sql, [passAt, nextAt, id, owner])) === 1;
}

/**
 * Releases a broadcast that has passed over contacts until the first of them may get mail; it then begins at the first
 * contact. Returns false if it passed over none.
 */
export async function waitForQuietEnd(tx: Executor, { id, owner, now }: Held & { now: number }): Promise<boolean> {
  const sql = `update broadcasts set next_at = case when quiet_until > ? then quiet_until else ? end, quiet_until = null,
    pass_at = coalesce(pass_at, ?), cursor_id = null, waiting_reason = 'quiet_hours', lease_owner = null, lease_until = null
    where id = ? and lease_owner = ? and status = 'sending' and quiet_until is not null`;
  return (await tx.run(sql, [now, now, now, id, owner])) === 1;
}

export interface PageDone extends Held {
  /** Last contact of the page. */
  cursorId: string;
  recipients: number;
  excluded: number;
  /** Says whether the domain tracks opens and clicks in the emails of the page. */
  tracked: Tracked;
  /** Time at which the first of the contacts that the page passed over for their quiet hours may get it. */
  quietUntil?: number | undefined;
}

/**
 * Records a page in the transaction that accepts its emails. Returns false if the broadcast was canceled or taken over
 * meanwhile: that transaction must then fail.
 */
export async function saveProgress(
  tx: Executor,
  { id, owner, cursorId, recipients, excluded, tracked, quietUntil }: PageDone,
): Promise<boolean> {
  const earlier = tx.dialect === 'pg' ? 'least' : 'min';
  const isQuiet = quietUntil !== undefined;
  const quiet = isQuiet ? `, quiet_until = ${earlier}(coalesce(quiet_until, ?), ?)` : '';
  const measured = (['opens', 'clicks'] as const)
    .filter((what) => recipients > 0 && tracked[what])
    .map((what) => `, ${what}_measured = 1`)
    .join('');
  const sql =
    withoutCommitNotice(`update broadcasts set cursor_id = ?, waiting_reason = null, recipients = recipients + ?, excluded = excluded + ?${measured}${quiet}
    where id = ? and lease_owner = ? and status = 'sending'`);
  const until = isQuiet ? [quietUntil, quietUntil] : [];
  return (await tx.run(sql, [cursorId, recipients, excluded, ...until, id, owner])) === 1;
}

/** Marks a broadcast as sent after its last page. */
export const finishBroadcast = (tx: Executor, { id, owner, at }: Held & { at: number }): Promise<boolean> =>
  end(tx, { id, owner }, "status = 'sent', sent_at = ?, updated_at = ?", [at, at]);

/** Holds a broadcast in its current status until it is resumed or canceled. */
export const holdBroadcast = (
  tx: Executor,
  { id, owner, reason, detail = null, at }: Held & { reason: string; detail?: string | null; at: number },
): Promise<boolean> => end(tx, { id, owner }, 'held_reason = ?, held_since = ?, held_detail = ?', [reason, at, detail]);

/** Marks a broadcast as failed; mail that was already accepted is still sent. */
export const failBroadcast = (
  tx: Executor,
  { id, owner, reason, at }: Held & { reason: string; at: number },
): Promise<boolean> => end(tx, { id, owner }, "status = 'failed', failed_reason = ?, updated_at = ?", [reason, at]);

/** Updates a broadcast and releases its lease. Returns false if it was canceled or taken over meanwhile. */
async function end(
  tx: Executor,
  { id, owner }: Held,
  sets: string,
  values: (string | number | null)[],
): Promise<boolean> {
  const sql = `update broadcasts set ${sets}, waiting_reason = null, lease_owner = null, lease_until = null
    where id = ? and lease_owner = ? and ${OPEN}`;
  return (await tx.run(sql, [...values, id, owner])) === 1;
}

/** Releases a broadcast after the test was sent, until the subject for the remaining recipients is decided. */
export async function waitForDecision(
  tx: Executor,
  { id, owner, decidesAt }: Held & { decidesAt: number },
): Promise<boolean> {
  const sql = `update broadcasts set ab_decides_at = ?, next_at = ?, cursor_id = null, waiting_reason = 'ab_test',
    lease_owner = null, lease_until = null where id = ? and lease_owner = ? and status = 'sending'`;
  return (await tx.run(sql, [decidesAt, decidesAt, id, owner])) === 1;
}

/** Stores the decision. Returns false if it was already decided, canceled or taken over. */
export async function saveDecision(
  tx: Executor,
  { id, owner, decision }: Held & { decision: string },
): Promise<boolean> {
  const sql = `update broadcasts set ab_decision = ?, next_at = null, waiting_reason = null
    where id = ? and lease_owner = ? and status = 'sending' and ab_decision is null`;
  return (await tx.run(sql, [decision, id, owner])) === 1;
}
