import { isoTime } from '../../platform/clock/index.ts';
import { refuse, type Refusal } from '../../platform/refusal/index.ts';
import type { Store } from '../../platform/store/index.ts';
import type { Actor, Ctx } from '../access/index.ts';
import { tell } from '../accounts/index.ts';
import { nameOfGrant } from '../oauth/index.ts';
import { countPending, insertApproval, newestOfCall, subjectsThatWait, type ApprovalRow } from './approvals.store.ts';
import { callText, hashCall, heldText, keyOf, type HeldFile, type ProposedCall } from './proposed-call.ts';
import { brokenOffBefore } from './present.ts';
import { changedBy, lookAt } from './seen.ts';

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
  files: readonly HeldFile[],
): Promise<{ answered: unknown }> {
  const { store, teamId, actor } = ctx;
  const text = callText(call);
  if (Buffer.byteLength(text) > CALL_BYTES_MAX) {
    throw refuse('invalid_permission', {
      say: `This call waits for approval (approval of its grant), and one of more than ${CALL_BYTES_MAX} bytes cannot wait; send less.`,
    });
  }
  const callHash = hashCall(call.operationId, text);
  const { hash: seenHash, ids } = await lookAt(ctx, call, files);
  const now = store.clock.now();
  const held = await store.db.tx(async (tx): Promise<ApprovalRow | NewOne> => {
    // Locks the grant: of two calls at once, the second finds what the first has asked for.
    const clientName = await nameOfGrant(tx, actor.grantId);
    const before = await newestOfCall(tx, { grantId: actor.grantId, callHash });
    if (before && isSame(before, { call, now, seenHash })) return before;
    const pending = await countPending(tx, actor.grantId, now);
    if (pending >= PENDING_MAX) throw tooMany();
    const row: NewOne = {
      ...{ id: store.ids.uuid(), team_id: teamId, grant_id: actor.grantId, client_name: clientName },
      ...{ operation_id: call.operationId, call: heldText(text, files), call_hash: callHash, seen_hash: seenHash },
      subject_ids: JSON.stringify(ids),
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
 * Throws where an app would change what one of its calls that wait names: a person approves what they see, at whatever moment,
 * so it stands still until they have decided. Changes by others are found by the hash.
 */
export async function mustLeaveWhatWaits(ctx: AppCtx, call: ProposedCall): Promise<void> {
  const changed = await changedBy(ctx, call);
  if (changed.length === 0) return;
  const now = ctx.store.clock.now();
  const ids = await subjectsThatWait(ctx.store.db, {
    grantId: ctx.actor.grantId,
    now,
    brokenOff: brokenOffBefore(now),
  });
  if (!changed.some((id) => ids.has(id))) return;
  throw refuse('invalid_permission', {
    say: 'A call of this app that waits for approval (GET /approvals) names this, or is mail to it, so the app cannot change it until a person has decided.',
  });
}

type NewOne = Parameters<typeof insertApproval>[1] & { status: 'pending'; result?: undefined };

/** One that waits for the same content, or one with a key of the app that was done: a repeated call is then the same call. */
const isSame = (
  row: ApprovalRow,
  { call, now, seenHash }: { call: ProposedCall; now: number; seenHash: string },
): boolean =>
  (row.status === 'pending' && row.expires_at > now && row.seen_hash === seenHash) ||
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
