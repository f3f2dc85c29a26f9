import type { Requirement } from '../../../contract/index.ts';
import { notFound, refuse, Refusal } from '../../../platform/refusal/index.ts';
import { mustReach, type Actor, type Ctx } from '../../../tenancy/access/index.ts';
import { actorOfGrant } from '../oauth/index.ts';
import { findApproval, keyName, lockApproval, noteDecision, noteEnd, type ApprovalRow } from './approvals.store.ts';
import { presentApproval } from './present.ts';
import { keyOf, readCall, type FilledCall, type HeldFile, type ProposedCall } from './proposed-call.ts';
import { hasGrown, type Look } from './looked.ts';

/** Makes a call for an app, without asking for approval again. */
export interface Maker {
  accessOf(operationId: string): Requirement;
  summaryOf(operationId: string): string;
  make(actor: Extract<Actor, { kind: 'oauth_grant' }>, call: ProposedCall): Promise<unknown>;
}

/** Fetches the files that a call names by URLs. */
export type Fill = (call: ProposedCall) => Promise<FilledCall>;

/** Answers once the call was made. What breaks off in between is never made again: how far it came is not known. */
export async function approveCall(ctx: Ctx, id: string, maker: Maker, { fill, look }: { fill: Fill; look: Look }) {
  const { store, teamId } = ctx;
  const row = await findApproval(store.db, teamId, id);
  if (!row) throw notFound('Approval');
  const access = maker.accessOf(row.operation_id);
  mustReach(ctx.actor, access);
  const actor = await actorOfGrant(store, row.grant_id);
  if (!actor) throw ended();
  mustReach(actor, access);
  const held = readCall(row.operation_id, row.call);
  const key = keyOf(held.call) ?? `approval ${id}`;
  const { call, files } = await fill(held.call);
  const other = files.find(({ sha256 }, i) => sha256 !== held.files[i]?.sha256);
  if (other) throw fileChanged(other);
  const { hash, content } = await look(held.call, files);
  if (hash !== row.seen_hash) throw changed();
  const now = content.audience?.subscribed;
  if (hasGrown(row.seen_contacts, now)) throw grown(Number(row.seen_contacts), Number(now));
  await claim(ctx, id, { status: 'running', reason: null });
  const approved = { ...actor, approvedContacts: now ?? null };
  const end = await endOf(() => maker.make(approved, { ...call, header: { ...call.header, 'idempotency-key': key } }));
  const broadcastId = row.operation_id === 'createBroadcast' ? idIn(end.result) : null;
  await store.db.tx((tx) => noteEnd(tx, id, { ...end, broadcastId }));
  return present(ctx, id, maker);
}

export async function rejectCall(ctx: Ctx, id: string, reason: string | undefined, maker: Pick<Maker, 'summaryOf'>) {
  if (!(await findApproval(ctx.store.db, ctx.teamId, id))) throw notFound('Approval');
  await claim(ctx, id, { status: 'rejected', reason: reason ?? null });
  return present(ctx, id, maker);
}

/** Of two who decide at once, one has. */
async function claim(
  { store, teamId, actor }: Ctx,
  id: string,
  { status, reason }: { status: 'running' | 'rejected'; reason: string | null },
): Promise<void> {
  const by = await deciderOf(store, actor);
  const at = store.clock.now();
  await store.db.tx(async (tx) => {
    const row = await lockApproval(tx, teamId, id);
    if (!row) throw notFound('Approval');
    if (row.status !== 'pending') throw decided(row);
    if (row.expires_at <= at) throw tooLate();
    await noteDecision(tx, id, { status, by, reason, at });
  });
}

async function deciderOf(
  { db }: Ctx['store'],
  actor: Actor,
): Promise<{ kind: 'user' | 'api_key'; name: string | null }> {
  if (actor.kind === 'session') return { kind: 'user', name: actor.name };
  return { kind: 'api_key', name: actor.kind === 'api_key' ? await keyName(db, actor.keyId) : null };
}

async function endOf(work: () => Promise<unknown>): Promise<{ result: string | null; error: string | null }> {
  try {
    return { result: JSON.stringify((await work()) ?? null), error: null };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const { status: statusCode, errorName: name, message } = error;
    return { result: null, error: JSON.stringify({ statusCode, name, message }) };
  }
}

function idIn(result: string | null): string | null {
  const { id } = (JSON.parse(result ?? '{}') ?? {}) as { id?: unknown };
  return typeof id === 'string' ? id : null;
}

async function present({ store, teamId }: Ctx, id: string, { summaryOf }: Pick<Maker, 'summaryOf'>) {
  const row = await findApproval(store.db, teamId, id);
  if (!row) throw notFound('Approval');
  return presentApproval(row, { summaryOf, now: store.clock.now(), content: null });
}

const decided = ({ status }: ApprovalRow): Refusal =>
  refuse('validation_error', { status: 422, say: `This was decided already: it is ${status}.` });
const tooLate = (): Refusal =>
  refuse('validation_error', { status: 422, say: 'This has expired; the app has to ask for it again.' });
const ended = (): Refusal =>
  refuse('validation_error', {
    status: 422,
    say: 'The grant of the app has ended, so nothing is done for it any more.',
  });
const fileChanged = ({ field, url }: HeldFile): Refusal =>
  refuse('validation_error', {
    status: 422,
    say: `${field}.path: ${url} is another file now than when the app has asked. Reject it, and let the app ask again.`,
  });
const changed = (): Refusal =>
  refuse('validation_error', {
    status: 422,
    say: 'What this names (a broadcast, a draft, an inbox or a template) was changed since the app has asked. Reject it, and let the app ask again.',
  });
const grown = (before: number, now: number): Refusal =>
  refuse('validation_error', {
    status: 422,
    say: `This would go to ${now} contacts, and it was ${before} when the app asked, so the audience has grown by more than a tenth. Check the segment, reject this, and let the app ask again.`,
  });
