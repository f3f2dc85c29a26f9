import { withoutCommitNotice, type Executor } from '../../../platform/db/index.ts';
import type { BroadcastRow, WaitingReason } from './broadcasts.store.ts';

interface ClaimOfBroadcasts {
  owner: string;
  now: number;
  until: number;
  limit: number;
}

/** When it goes on, of those whose time is known. */
const DUE = "coalesce(next_at, case when status = 'scheduled' then scheduled_at end)";

/** Written as the index of what is due says it. */
const OPEN = "status in ('scheduled', 'queued', 'sending')";

/** Takes broadcasts that are under way, to be sent now, or due; none that is held or that another process has. Those come first that were not looked at for the longest time. */
export async function claimDueBroadcasts(
  tx: Executor,
  { owner, now, until, limit }: ClaimOfBroadcasts,
): Promise<BroadcastRow[]> {
  const lock = tx.dialect === 'pg' ? ' for update skip locked' : '';
  const sql = withoutCommitNotice(`update broadcasts set lease_owner = ?, lease_until = ? where id in (
      select id from broadcasts where ${OPEN} and (${DUE} is null or ${DUE} <= ?)
        and held_reason is null and (lease_until is null or lease_until <= ?)
      order by coalesce(lease_until, 0), coalesce(scheduled_at, updated_at), id limit ?${lock})
    returning *`);
  const rows = await tx.all<BroadcastRow>(sql, [owner, until, now, now, limit]);
  return rows.sort((a, b) => dueAt(a) - dueAt(b) || (a.id < b.id ? -1 : 1));
}

const dueAt = (row: BroadcastRow): number => Number(row.scheduled_at ?? row.updated_at);

/** Gives it back until a time, for the reason that keeps it from moving; undefined where it only gives others their turn. */
export async function pauseBroadcast(
  db: Executor,
  { id, owner, until, reason }: Held & { until: number; reason: WaitingReason | undefined },
): Promise<void> {
  const sql = `update broadcasts set lease_owner = null, lease_until = ?, waiting_reason = ?
    where id = ? and lease_owner = ?`;
  await db.run(withoutCommitNotice(sql), [until, reason ?? null, id, owner]);
}

/** Ends the pauses that last beyond `latest`. Returns the number of broadcasts. */
export const endPausesAfter = (db: Executor, { now, latest }: { now: number; latest: number }): Promise<number> =>
  db.run(`update broadcasts set lease_until = ? where ${OPEN} and lease_owner is null and lease_until > ?`, [
    now,
    latest,
  ]);

/** When the next one is due, those included that another process has: its lease may run out. */
export async function nextBroadcastAt(db: Executor, now: number): Promise<number | undefined> {
  const sql = `select min(open.at) as at from (
      select case when ${DUE} > coalesce(lease_until, 0) then ${DUE} else coalesce(lease_until, ?) end as at
      from broadcasts where ${OPEN} and held_reason is null) as open`;
  const row = await db.get<{ at: number | null }>(sql, [now]);
  return row?.at === null || row?.at === undefined ? undefined : Number(row.at);
}

/** A broadcast, and the process that has claimed it. */
interface Held {
  id: string;
  owner: string;
}

/** From here on it is being sent; one that was sent in part keeps its beginning. Answers false where it was canceled or taken over. */
export async function beginBroadcast(
  tx: Executor,
  { id, owner, at, total, passAt = null }: Held & { at: number; total: number; passAt?: number | null },
): Promise<boolean> {
  const sql = `update broadcasts set status = 'sending', started_at = coalesce(started_at, ?), total = coalesce(total, ?),
    pass_at = ?, next_at = null where id = ? and lease_owner = ? and ${OPEN}`;
  return (await tx.run(sql, [at, total, passAt, id, owner])) === 1;
}

/** Those are sent to now for whom it was waiting. Answers false where it was canceled or taken over. */
export async function beginPass(tx: Executor, { id, owner }: Held): Promise<boolean> {
  const sql = `update broadcasts set next_at = null, waiting_reason = null
    where id = ? and lease_owner = ? and status = 'sending'`;
  return (await tx.run(sql, [id, owner])) === 1;
}

/** Gives it back until the first contacts are due. */
export async function waitForStart(db: Executor, { id, owner, nextAt }: Held & { nextAt: number }): Promise<void> {
  const sql =
    'update broadcasts set next_at = ?, lease_owner = null, lease_until = null where id = ? and lease_owner = ?';
  await db.run(sql, [nextAt, id, owner]);
}

/** Gives it back until the next contacts are due; they are walked through from the first one. */
export async function waitForPass(
  tx: Executor,
  { id, owner, passAt, nextAt }: Held & { passAt: number; nextAt: number },
): Promise<boolean> {
  const sql = `update broadcasts set pass_at = ?, next_at = ?, cursor_id = null, waiting_reason = 'local_hour',
    lease_owner = null, lease_until = null where id = ? and lease_owner = ? and status = 'sending'`;
  return (await tx.run(sql, [passAt, nextAt, id, owner])) === 1;
}

export interface PageDone extends Held {
  /** The last contact of the page. */
  cursorId: string;
  recipients: number;
  excluded: number;
}

/**
 * Adds a page, in the transaction that accepts its emails. Answers false where it was canceled or taken over meanwhile: that
 * transaction has to fail.
 */
export async function saveProgress(
  tx: Executor,
  { id, owner, cursorId, recipients, excluded }: PageDone,
): Promise<boolean> {
  const sql =
    withoutCommitNotice(`update broadcasts set cursor_id = ?, waiting_reason = null, recipients = recipients + ?, excluded = excluded + ?
    where id = ? and lease_owner = ? and status = 'sending'`);
  return (await tx.run(sql, [cursorId, recipients, excluded, id, owner])) === 1;
}

/** All pages are done. */
export const finishBroadcast = (tx: Executor, { id, owner, at }: Held & { at: number }): Promise<boolean> =>
  end(tx, { id, owner }, "status = 'sent', sent_at = ?, updated_at = ?", [at, at]);

/** It waits, in its status, until it is resumed or canceled. */
export const holdBroadcast = (
  tx: Executor,
  { id, owner, reason, detail = null, at }: Held & { reason: string; detail?: string | null; at: number },
): Promise<boolean> => end(tx, { id, owner }, 'held_reason = ?, held_since = ?, held_detail = ?', [reason, at, detail]);

/** It ends here; what was accepted goes out. */
export const failBroadcast = (
  tx: Executor,
  { id, owner, reason, at }: Held & { reason: string; at: number },
): Promise<boolean> => end(tx, { id, owner }, "status = 'failed', failed_reason = ?, updated_at = ?", [reason, at]);

/** Writes something and gives the lease back; answers false where the broadcast was canceled or taken over meanwhile. */
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

/** All who try a subject have it: gives the broadcast back until it is decided which one the others get. */
export async function waitForDecision(
  tx: Executor,
  { id, owner, decidesAt }: Held & { decidesAt: number },
): Promise<boolean> {
  const sql = `update broadcasts set ab_decides_at = ?, next_at = ?, cursor_id = null, waiting_reason = 'ab_test',
    lease_owner = null, lease_until = null where id = ? and lease_owner = ? and status = 'sending'`;
  return (await tx.run(sql, [decidesAt, decidesAt, id, owner])) === 1;
}

/** Once: answers false where it was decided before, canceled or taken over. */
export async function saveDecision(
  tx: Executor,
  { id, owner, decision }: Held & { decision: string },
): Promise<boolean> {
  const sql = `update broadcasts set ab_decision = ?, next_at = null, waiting_reason = null
    where id = ? and lease_owner = ? and status = 'sending' and ab_decision is null`;
  return (await tx.run(sql, [decision, id, owner])) === 1;
}
