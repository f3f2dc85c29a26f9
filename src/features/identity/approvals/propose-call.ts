import { isoTime } from '../../../platform/clock/index.ts';
import { refuse, type Refusal } from '../../../platform/refusal/index.ts';
import type { Store } from '../../../platform/store/index.ts';
import type { Actor, Ctx } from '../../../tenancy/access/index.ts';
import { tell } from '../accounts/index.ts';
import { nameOfGrant } from '../oauth/index.ts';
import {
  countPending,
  insertApproval,
  newestOfCall,
  subjectsThatLeave,
  subjectsThatWait,
  type ApprovalRow,
} from './approvals.store.ts';
import { callText, hashCall, heldText, keyOf, type HeldFile, type ProposedCall } from './proposed-call.ts';
import { brokenOffBefore } from './present.ts';
import { changedBy } from './changed-by.ts';
import { BROADCAST_TEXTS, CONTENT_BYTES_MAX, hasGrown, type Look, type Looked } from './looked.ts';

const WAITS_MS = 7 * 24 * 3_600_000;
const CALL_BYTES_MAX = 1024 * 1024;
const PENDING_MAX = 100;

type AppCtx = Ctx & { actor: Extract<Actor, { kind: 'oauth_grant' }> };

/**
 * Holds a call until a person decides. The same call waits once, however often it comes. Throws that it waits, or answers what
 * was answered to the same call with the same Idempotency-Key when it was approved.
 */
export async function proposeCall(
  ctx: AppCtx,
  call: ProposedCall,
  { files, look }: { files: readonly HeldFile[]; look: Look },
): Promise<{ answered: unknown }> {
  const { store, teamId, actor } = ctx;
  const text = callText(call);
  if (Buffer.byteLength(text) > CALL_BYTES_MAX) {
    throw refuse('invalid_permission', {
      say: `This call waits for approval (approval of its grant), and one of more than ${CALL_BYTES_MAX} bytes cannot wait; send less.`,
    });
  }
  const callHash = hashCall(call.operationId, text);
  const looked = await look(call, files);
  if (looked.bytes > CONTENT_BYTES_MAX) {
    throw refuse('invalid_permission', {
      say: `This call waits for approval (approval of its grant), and one that names more than ${CONTENT_BYTES_MAX} bytes of content cannot wait, because a person has to see all of it; name less in one call.`,
    });
  }
  const now = store.clock.now();
  const held = await store.db.tx(async (tx): Promise<ApprovalRow | NewOne> => {
    // Locks the grant: of two calls at once, the second finds what the first has asked for.
    const clientName = await nameOfGrant(tx, actor.grantId);
    const before = await newestOfCall(tx, { grantId: actor.grantId, callHash });
    if (before && isSame(before, { call, now, looked })) return before;
    const pending = await countPending(tx, actor.grantId, now);
    if (pending >= PENDING_MAX) throw tooMany();
    const row: NewOne = {
      ...{ id: store.ids.uuid(), team_id: teamId, grant_id: actor.grantId, client_name: clientName },
      ...{ operation_id: call.operationId, call: heldText(text, files), call_hash: callHash, seen_hash: looked.hash },
      subject_ids: JSON.stringify(looked.ids),
      broadcast_id: broadcastIn(call),
      seen_contacts: looked.content.audience?.subscribed ?? null,
      ...{ status: 'pending', created_at: now, expires_at: now + WAITS_MS },
    };
    await insertApproval(tx, row);
    // One mail says that something waits; the page shows all that does.
    if (pending === 0) await tell(tx, store, { userId: actor.userId, kind: 'approval_waits', address: null });
    return row;
  });
  if (held.status === 'done') return { answered: JSON.parse(held.result ?? 'null') as unknown };
  throw waits(store, held);
}

/**
 * Throws if an app would change something that one of its waiting calls names. A person approves what they see, so it
 * must not change until the decision, and the recipients of a broadcast must not change until it has been sent. Changes
 * by others are detected by the hash.
 */
export async function mustLeaveWhatWaits(ctx: AppCtx, call: ProposedCall): Promise<void> {
  const { db, clock } = ctx.store;
  const now = clock.now();
  const { grantId } = ctx.actor;
  const waiting = await subjectsThatWait(db, { grantId, now, brokenOff: brokenOffBefore(now) });
  const leaving = await subjectsThatLeave(db, grantId);
  // The text of a broadcast is fixed once it is sent or scheduled.
  leaving.delete(BROADCAST_TEXTS);
  if (waiting.size + leaving.size === 0) return;
  const changed = await changedBy(ctx, call);
  if (changed.some((id) => waiting.has(id))) throw untilDecided();
  if (changed.some((id) => leaving.has(id))) throw untilItHasLeft();
}

const untilDecided = (): Refusal =>
  refuse('invalid_permission', {
    say: 'A call of this app that waits for approval (GET /approvals) names this, or is mail to it, so the app cannot change it until a person has decided.',
  });

const untilItHasLeft = (): Refusal =>
  refuse('invalid_permission', {
    say: 'An approved broadcast of this app is mailed to this and has not been sent yet, so the app cannot change its recipients. Cancel the broadcast first, or wait until it is sent.',
  });

/** Returns the broadcast that a call sends by id; one that the call creates is known once it exists. */
const broadcastIn = ({ operationId, path }: ProposedCall): string | null =>
  operationId === 'sendBroadcast' || operationId === 'resumeBroadcast' ? String(path['broadcast_id']) : null;

type NewOne = Parameters<typeof insertApproval>[1] & { status: 'pending'; result?: undefined };

/** One that waits for the same content, or one with a key of the app that was done: a repeated call is then the same call. */
const isSame = (
  row: ApprovalRow,
  { call, now, looked }: { call: ProposedCall; now: number; looked: Looked },
): boolean =>
  (row.status === 'pending' &&
    row.expires_at > now &&
    row.seen_hash === looked.hash &&
    !hasGrown(row.seen_contacts, looked.content.audience?.subscribed)) ||
  (row.status === 'done' && keyOf(call) !== undefined) ||
  row.status === 'running';

function waits({ origin }: Store, { id, expires_at: expiresAt }: Pick<ApprovalRow, 'id' | 'expires_at'>): Refusal {
  const until = isoTime(expiresAt);
  return refuse('invalid_permission', {
    say: `Nothing was done yet: this waits for a person to approve it (approval of its grant), at ${origin()}/account/approvals, until ${until}. What becomes of it: GET /approvals/${id}.`,
    details: { approval_id: id, expires_at: until },
  });
}

const tooMany = (): Refusal =>
  refuse('invalid_permission', {
    say: `${PENDING_MAX} calls of this app wait for approval already, and no more may wait; a person has to decide on them first.`,
  });
