import type { Executor } from '../../../platform/db/index.ts';
import { hasGrown } from '../../campaigns/index.ts';
import { isoTime } from '../../../platform/clock.ts';
import { refuse, Refusal, notFound } from '../../../platform/refusal.ts';
import type { Store } from '../../../platform/store.ts';
import { authorize, isBatch, type Actor, type Ctx } from '../../../tenancy/access/index.ts';
import { findKeyName } from '../../../tenancy/api-keys/index.ts';
import { isReplaced, readSample, writeSample, type AudienceSample } from '../../audience/index.ts';
import { notifyByMail } from '../accounts/passwords.ts';
import { nameOfGrant, actorOfGrant } from '../oauth/grants.ts';
import {
  countPending,
  insertApproval,
  newestOfCall,
  subjectsThatLeave,
  subjectsThatWait,
  findApproval,
  lockApproval,
  noteDecision,
  noteEnd,
  approvalPage,
  type ApprovalRow,
  type StoredStatus,
  expireAll,
  removeApprovalsBefore,
  rejectPending,
} from './approvals.store.ts';
import {
  callText,
  hashCall,
  heldText,
  readIdempotencyKey,
  changedBy,
  mustHaveAllowedHeaders,
  BROADCAST_TEXTS,
  CONTENT_BYTES_MAX,
  readCall,
  type Content,
  type HeldFile,
  type ProposedCall,
  type ReviewCall,
  type ReviewedCall,
  type FilledCall,
} from './proposed-call.ts';
import type { Requirement, ApprovalAbout, ApprovalContent, BodyOf, QueryOf } from '../../../contract/index.ts';
import type { Page } from '../../../platform/db/index.ts';

/** No call takes this long: the process that made it has ended. */
const RUN_MS = 15 * 60_000;

const brokenOffBefore = (now: number): number => now - RUN_MS;

interface Around {
  describeOperation: (operationId: string) => string;
  now: number;
  /** An app gets no content: its scopes may not cover it. */
  isForApp: boolean;
}

const isBrokenOff = ({ status, decided_at: at }: ApprovalRow, now: number): boolean =>
  status === 'running' && (at ?? 0) <= brokenOffBefore(now);

/** Returns the status to show: a waiting call expires without a write. */
function statusAt(row: ApprovalRow, now: number): StoredStatus {
  if (row.status === 'pending' && row.expires_at <= now) return 'expired';
  return isBrokenOff(row, now) ? 'failed' : row.status;
}

const presentSummary = (row: ApprovalRow, { describeOperation, now, isForApp }: Around) => ({
  id: row.id,
  status: statusAt(row, now),
  operation_id: row.operation_id,
  summary: describeOperation(row.operation_id),
  about: isForApp || row.about === null ? null : (JSON.parse(row.about) as ApprovalAbout),
  grant: { id: row.grant_id, client_name: row.client_name },
  created_at: isoTime(row.created_at),
  expires_at: isoTime(row.expires_at),
  decided_at: row.decided_at === null ? null : isoTime(row.decided_at),
  decided_by: row.decided_by_kind === null ? null : { kind: row.decided_by_kind, name: row.decided_by_name },
});

interface Fault {
  statusCode: number;
  name: string;
  message: string;
}

const BROKEN_OFF: Fault = {
  statusCode: 500,
  name: 'application_error',
  message:
    'The service stopped while it carried out the request, so it is not known whether the request took effect. Check this before the app makes it again.',
};

function presentApproval(row: ApprovalRow, around: Around & { content: ApprovalContent | null }) {
  const { call, files } = readCall(row.operation_id, row.call);
  const { path, query, body } = call;
  const error = row.error === null ? null : (JSON.parse(row.error) as Fault);
  return {
    object: 'approval' as const,
    ...presentSummary(row, around),
    call: { path: { ...path }, query: { ...query }, body },
    content: around.content,
    files: files.map((file) => ({ ...file })),
    reason: row.reason,
    result: JSON.parse(row.result ?? 'null') as unknown,
    error: isBrokenOff(row, around.now) ? BROKEN_OFF : error,
  };
}

const WAITS_MS = 7 * 24 * 3_600_000;
const CALL_BYTES_MAX = 1024 * 1024;
const PENDING_MAX = 100;

type AppCtx = Ctx & { actor: Extract<Actor, { kind: 'oauth_grant' }> };

/**
 * Holds a call until a person decides. Repeating the same call does not create another approval. Throws while the call
 * is pending. If the same call with the same Idempotency-Key was already approved, returns its response.
 */
export async function proposeCall(
  ctx: AppCtx,
  call: ProposedCall,
  { files, review }: { files: readonly HeldFile[]; review: ReviewCall },
): Promise<{ answered: unknown }> {
  const { store, teamId, actor } = ctx;
  mustHaveAllowedHeaders(call);
  const text = callText(call);
  if (Buffer.byteLength(text) > CALL_BYTES_MAX) {
    throw refuse('invalid_permission', {
      say: `This call needs approval (approval of its grant), but calls of more than ${CALL_BYTES_MAX} bytes cannot wait for it; send a smaller request.`,
    });
  }
  const callHash = hashCall(call.operationId, text);
  const looked = await review(call, files);
  if (looked.bytes > CONTENT_BYTES_MAX) {
    throw refuse('invalid_permission', {
      say: `This call needs approval (approval of its grant), but it refers to more than ${CONTENT_BYTES_MAX} bytes of content, more than a person can review at once; split it into several calls.`,
    });
  }
  const earlier = await newestOfCall(store.db, { grantId: actor.grantId, callHash });
  const recipients = await looked.sampleRecipients(
    earlier?.status === 'pending' ? readSample(earlier.seen_audience) : null,
  );
  const now = store.clock.now();
  const held = await store.db.tx(async (tx): Promise<ApprovalRow | NewOne> => {
    // Locks the grant, so that of two concurrent calls the second finds what the first has requested.
    const clientName = await nameOfGrant(tx, actor.grantId);
    const before = await newestOfCall(tx, { grantId: actor.grantId, callHash });
    if (before && isSame(before, { call, now, looked, recipients })) return before;
    const pending = await countPending(tx, actor.grantId, now);
    if (pending >= PENDING_MAX) throw tooMany();
    const row: NewOne = {
      id: store.ids.uuid(),
      team_id: teamId,
      grant_id: actor.grantId,
      client_name: clientName,
      operation_id: call.operationId,
      call: heldText(text, files),
      call_hash: callHash,
      seen_hash: looked.hash,
      subject_ids: JSON.stringify(looked.ids),
      broadcast_id: broadcastIn(call),
      seen_contacts: looked.content.audience?.subscribed ?? null,
      seen_audience: writeSample(recipients),
      about: JSON.stringify(summarize(call, looked.content)),
      status: 'pending',
      created_at: now,
      expires_at: now + WAITS_MS,
    };
    await insertApproval(tx, row);
    // A single mail announces pending calls; the page lists all of them.
    if (pending === 0) await notifyByMail(tx, store, { userId: actor.userId, kind: 'approval_waits', address: null });
    return row;
  });
  if (held.status === 'done') return { answered: JSON.parse(held.result ?? 'null') as unknown };
  throw waits(store, held);
}

/** The fields of `objects` that name contacts whom a call reaches. */
const CONTACTS: readonly string[] = ['contact', 'contact_id', 'run_id'];

/** Summarizes for a list what a call sends, to whom, and what it changes. */
function summarize({ operationId, path, body }: ProposedCall, content: Content): ApprovalAbout {
  const { messages, audience, changes, objects } = content;
  const mails = messages.filter(({ kind }) => kind !== 'template' && kind !== 'automation_step');
  const recipients = mails.reduce((sum, mail) => sum + mail.recipients, 0);
  const first = mails.flatMap(({ to, cc, bcc }) => [...to, ...cc, ...bcc])[0];
  const items: readonly unknown[] = Array.isArray(body) ? (body as unknown[]) : [body];
  const fields = (items[0] ?? {}) as Readonly<Record<string, unknown>>;
  const named = objects.filter(({ field }) => CONTACTS.includes(field)).map(({ name }) => name);
  const contact = [...named, fields['email'], path['contact']].find(
    (one) => typeof one === 'string' && one.includes('@'),
  );
  const reached = isBatch(operationId) ? items.length : objects.filter(({ field }) => field === 'run_id').length;
  const count = recipients > 0 ? recipients : reached;
  return {
    to:
      audience?.segments.map(({ name }) => name).join(', ') ?? first ?? (typeof contact === 'string' ? contact : null),
    recipients: audience?.subscribed ?? (count > 0 ? count : null),
    subject: messages.flatMap(({ subjects }) => subjects)[0] ?? null,
    // The changes of a batch are its items, by their positions.
    changes: isBatch(operationId) ? [] : changes.map(({ field }) => field),
    object: objects.findLast(({ field }) => Object.hasOwn(path, field))?.name ?? null,
  };
}

/**
 * Throws if an app would change something that one of its waiting calls names. A person approves what they see, so it
 * must not change until the decision, and the recipients of a broadcast must not change until it has been sent. Changes
 * by others are detected by the hash.
 */
export async function mustLeaveWaitingMail(ctx: AppCtx, call: ProposedCall): Promise<void> {
  const { db, clock } = ctx.store;
  const now = clock.now();
  const app = { teamId: ctx.teamId, grantId: ctx.actor.grantId };
  const waiting = await subjectsThatWait(db, app, { now, brokenOff: brokenOffBefore(now) });
  const leaving = await subjectsThatLeave(db, app);
  // The text of a broadcast is fixed once it is sent or scheduled.
  leaving.delete(BROADCAST_TEXTS);
  if (waiting.size + leaving.size === 0) return;
  const changed = await changedBy(ctx, call);
  if (changed.some((id) => waiting.has(id))) throw untilDecided();
  if (changed.some((id) => leaving.has(id))) throw refuseUntilSent();
}

const untilDecided = (): Refusal =>
  refuse('invalid_permission', {
    say: 'A call of this app that waits for approval (GET /approvals) refers to this or sends mail to it, so the app cannot change it until a person has decided.',
  });

const refuseUntilSent = (): Refusal =>
  refuse('invalid_permission', {
    say: 'An approved broadcast of this app goes to these contacts and has not been sent yet, so the app cannot change its recipients. Cancel the broadcast first, or wait until it is sent.',
  });

/** Returns the broadcast that a call sends by id; one that the call creates is known once it exists. */
const broadcastIn = ({ operationId, path }: ProposedCall): string | null =>
  operationId === 'sendBroadcast' || operationId === 'resumeBroadcast' ? String(path['broadcast_id']) : null;

type NewOne = Parameters<typeof insertApproval>[1] & { status: 'pending'; result?: undefined };

/**
 * Reports whether a call repeats an earlier one: one that is pending with the same content, one that is running, or one
 * that is done and had an idempotency key of the app.
 */
const isSame = (
  row: ApprovalRow,
  {
    call,
    now,
    looked,
    recipients,
  }: { call: ProposedCall; now: number; looked: ReviewedCall; recipients: AudienceSample | null },
): boolean =>
  (row.status === 'pending' &&
    row.expires_at > now &&
    row.seen_hash === looked.hash &&
    !hasGrown(row.seen_contacts, looked.content.audience?.subscribed) &&
    !isReplaced(readSample(row.seen_audience), recipients)) ||
  (row.status === 'done' && readIdempotencyKey(call) !== undefined) ||
  row.status === 'running';

function waits({ origin }: Store, { id, expires_at: expiresAt }: Pick<ApprovalRow, 'id' | 'expires_at'>): Refusal {
  const until = isoTime(expiresAt);
  return refuse('invalid_permission', {
    say: `Nothing has been done yet. A person has to approve this request (approval of its grant) at ${origin()}/account/approvals by ${until}. To see the result: GET /approvals/${id}.`,
    details: { approval_id: id, expires_at: until },
  });
}

const tooMany = (): Refusal =>
  refuse('invalid_permission', {
    say: `${PENDING_MAX} calls of this app already wait for approval, which is the limit; a person has to decide on them first.`,
  });

type Words = Pick<Maker, 'describeOperation'>;

/** Restricts an app to its own approvals. */
const grantIn = (actor: Actor): string | undefined => (actor.kind === 'oauth_grant' ? actor.grantId : undefined);

export async function listApprovals(
  { store, teamId, actor }: Ctx,
  { status }: NonNullable<QueryOf<'listApprovals'>>,
  page: Page,
  { describeOperation }: Words,
) {
  const now = store.clock.now();
  const filter = { teamId, grantId: grantIn(actor), status, now, brokenOff: brokenOffBefore(now) };
  const { rows, hasMore } = await approvalPage(store.db, filter, page);
  return {
    object: 'list' as const,
    has_more: hasMore,
    data: rows.map((row) => presentSummary(row, { describeOperation, now, isForApp: filter.grantId !== undefined })),
  };
}

/** Returns an approval. An app gets no content: its scopes may not cover it, and it is for the person who decides. */
export async function getApproval(
  { store, teamId, actor }: Ctx,
  id: string,
  { describeOperation }: Words,
  review: ReviewCall,
) {
  const row = await findApproval(store.db, teamId, id);
  const only = grantIn(actor);
  if (!row || (only !== undefined && row.grant_id !== only)) throw notFound('Approval');
  const now = store.clock.now();
  const isForApp = only !== undefined;
  const isShown = !isForApp && statusAt(row, now) === 'pending';
  const content = isShown ? await readContent(row, review) : null;
  return presentApproval(row, { describeOperation, now, isForApp, content });
}

async function readContent(row: ApprovalRow, review: ReviewCall): Promise<ApprovalContent> {
  const { call, files } = readCall(row.operation_id, row.call);
  const before = readSample(row.seen_audience);
  const { content, bytes, hash, sampleRecipients } = await review(call, files);
  const { audience } = content;
  const isChanged =
    hash !== row.seen_hash ||
    hasGrown(row.seen_contacts, audience?.subscribed) ||
    isReplaced(before, await sampleRecipients(before));
  // It had less when the app asked, so it cannot be approved; what is too large to show is omitted.
  if (bytes > CONTENT_BYTES_MAX) {
    return { is_changed: true, objects: [], messages: [], sender: null, audience: null, automation: null, changes: [] };
  }
  return {
    is_changed: isChanged,
    ...content,
    audience: audience && { ...audience, subscribed_before: row.seen_contacts },
  };
}

/** Makes a call for an app, without asking for approval again. */
export interface Maker {
  findRequirement(operationId: string): Requirement;
  describeOperation(operationId: string): string;
  make(actor: Extract<Actor, { kind: 'oauth_grant' }>, call: ProposedCall): Promise<unknown>;
}

/** Fetches the files that a call names by URLs. */
export type Fill = (call: ProposedCall) => Promise<FilledCall>;

/**
 * Approves a call and makes it. Returns after the call was made. A call that breaks off is never made again, because it
 * is unknown how far it came.
 */
export async function approveCall(
  ctx: Ctx,
  id: string,
  maker: Maker,
  { fill, review }: { fill: Fill; review: ReviewCall },
) {
  const { store, teamId } = ctx;
  const row = await findApproval(store.db, teamId, id);
  if (!row) throw notFound('Approval');
  const access = maker.findRequirement(row.operation_id);
  authorize(ctx.actor, access);
  const actor = await actorOfGrant(store, row.grant_id);
  if (!actor) throw ended();
  authorize(actor, access);
  const held = readCall(row.operation_id, row.call);
  const key = readIdempotencyKey(held.call) ?? `approval ${id}`;
  const { call, files } = await fill(held.call);
  const other = files.find(({ sha256 }, i) => sha256 !== held.files[i]?.sha256);
  if (other) throw fileChanged(other);
  const before = readSample(row.seen_audience);
  const { hash, content, draftAt, sampleRecipients } = await review(held.call, files);
  if (hash !== row.seen_hash) throw changed();
  const now = content.audience?.subscribed;
  if (hasGrown(row.seen_contacts, now)) throw grown(Number(row.seen_contacts), Number(now));
  const audience = await sampleRecipients(before);
  if (isReplaced(before, audience)) throw replaced();
  await claim(ctx, id, { status: 'running', reason: null });
  const approved = {
    ...actor,
    approvedContacts: now ?? null,
    approvedAudience: writeSample(audience),
    approvedDraftAt: draftAt,
  };
  const end = await runToEnd(() =>
    maker.make(approved, { ...call, header: { ...call.header, 'idempotency-key': key } }),
  );
  const broadcastId = row.operation_id === 'createBroadcast' ? idIn(end.result) : null;
  await store.db.tx((tx) => noteEnd(tx, id, { ...end, broadcastId }));
  return present(ctx, id, maker);
}

export async function rejectCall(
  ctx: Ctx,
  id: string,
  reason: string | undefined,
  maker: Pick<Maker, 'describeOperation'>,
) {
  if (!(await findApproval(ctx.store.db, ctx.teamId, id))) throw notFound('Approval');
  await claim(ctx, id, { status: 'rejected', reason: reason ?? null });
  return present(ctx, id, maker);
}

/** Rejects all pending calls of one app. */
export async function rejectCallsOfApp({ store, teamId, actor }: Ctx, { app, reason }: BodyOf<'rejectCallsOfApp'>) {
  const by = await loadDecider(store, actor);
  const now = store.clock.now();
  const rejected = await store.db.tx((tx) => rejectPending(tx, { teamId, app, now }, { by, reason: reason ?? null }));
  return { object: 'approval_rejection' as const, app, rejected };
}

/** Stores the decision; of two concurrent decisions the second one fails. */
async function claim(
  { store, teamId, actor }: Ctx,
  id: string,
  { status, reason }: { status: 'running' | 'rejected'; reason: string | null },
): Promise<void> {
  const by = await loadDecider(store, actor);
  const at = store.clock.now();
  await store.db.tx(async (tx) => {
    const row = await lockApproval(tx, teamId, id);
    if (!row) throw notFound('Approval');
    if (row.status !== 'pending') throw decided(row);
    if (row.expires_at <= at) throw tooLate();
    await noteDecision(tx, id, { status, by, reason, at });
  });
}

async function loadDecider(
  { db }: Ctx['store'],
  actor: Actor,
): Promise<{ kind: 'user' | 'api_key'; name: string | null }> {
  if (actor.kind === 'session') return { kind: 'user', name: actor.name };
  return { kind: 'api_key', name: actor.kind === 'api_key' ? await findKeyName(db, actor.keyId) : null };
}

async function runToEnd(work: () => Promise<unknown>): Promise<{ result: string | null; error: string | null }> {
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

async function present({ store, teamId }: Ctx, id: string, { describeOperation }: Pick<Maker, 'describeOperation'>) {
  const row = await findApproval(store.db, teamId, id);
  if (!row) throw notFound('Approval');
  return presentApproval(row, { describeOperation, now: store.clock.now(), isForApp: false, content: null });
}

const decided = ({ status }: ApprovalRow): Refusal =>
  refuse('validation_error', { status: 422, say: `This request was already decided; its status is ${status}.` });
const tooLate = (): Refusal =>
  refuse('validation_error', { status: 422, say: 'This request has expired; the app has to make it again.' });
const ended = (): Refusal =>
  refuse('validation_error', {
    status: 422,
    say: 'The grant of the app has ended, so its requests are no longer carried out.',
  });
const fileChanged = ({ field, url }: HeldFile): Refusal =>
  refuse('validation_error', {
    status: 422,
    say: `${field}.path: the file at ${url} has changed since the app made the request. Reject the request, and have the app make it again.`,
  });
const changed = (): Refusal =>
  refuse('validation_error', {
    status: 422,
    say: 'Content of this request (a broadcast, a draft, an inbox, a template, an automation or what it refers to) has changed since the app made it. Reject the request, and have the app make it again.',
  });
const grown = (before: number, now: number): Refusal =>
  refuse('validation_error', {
    status: 422,
    say: `This would now go to ${now} contacts. It was ${before} when the app made the request, so the audience has grown by more than a tenth. Check the segment, reject the request, and have the app make it again.`,
  });

const replaced = (): Refusal =>
  refuse('validation_error', {
    status: 422,
    say: 'This would now go to other contacts than when the app made the request: contacts of the segment were replaced. Check the segment, reject the request, and have the app make it again.',
  });

const KEPT_MS = 90 * 24 * 3_600_000;

export const removeOldApprovals = ({ db, clock }: Store): Promise<number> =>
  removeApprovalsBefore(db, clock.now() - KEPT_MS);

/** Expires everything pending in a restored copy, because the original may have done it since. */
export const expireAllApprovals = (tx: Executor): Promise<number> => expireAll(tx);
