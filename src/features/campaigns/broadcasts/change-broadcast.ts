import type {
  CreateBroadcastRequest,
  DuplicateBroadcastRequest,
  UpdateBroadcastRequest,
} from '../../../contract/index.ts';
import type { Executor } from '../../../platform/db/index.ts';
import {
  mustMayAlter,
  nextChangeAt,
  readAppName,
  readGrantId,
  readKeyId,
  readApproved,
  type Actor,
  type Approved,
  type Ctx,
} from '../../../tenancy/access/index.ts';
import { findKeyName } from '../../../tenancy/api-keys/index.ts';
import {
  insertBroadcast,
  lockBroadcast,
  clearHold,
  clearPause,
  deleteBroadcastRow,
  findBroadcast,
  markCanceled,
  markPaused,
  saveContent,
  listIds,
  referencedBroadcasts,
  AUDIENCE_GROWN,
  AUDIENCE_REPLACED,
  type BroadcastContent,
  type Pause,
  type ReferencedBroadcast,
  type NewBroadcastRow,
  type BroadcastRow,
  type BroadcastStatus,
  type WaitingReason,
} from './broadcasts.store.ts';
import { listEarlier, NOBODY, readSegments, readTarget, segmentIn, type Target } from './audience.ts';
import { loadRequirements, mustBeOffered, sendDraft, inOtherStatus } from './send-broadcast.ts';
import { prepareContent, repeatWhileChanged } from './freeze-broadcast.ts';
import { presentHeld } from './read-broadcasts.ts';
import { readWhen } from './send-time.ts';
import { notFound, invalidFields, refuse, type FieldFault } from '../../../platform/refusal.ts';
import { loadRateCounts } from '../broadcast-recipients/outcomes.store.ts';
import { findTopic, liveSegments } from '../../audience/index.ts';
import { findTemplate, messageFaults, readList } from '../../templates/index.ts';
import { abTestFaults, readAbTest, notTogether } from './ab-test.ts';

const NAME_CHARS_MAX = 200;

/** Reads a new draft as it is stored. `mustBeAddressed` checks the segment, `readTemplateId` the template. */
function readNewContent(input: CreateBroadcastRequest): BroadcastContent {
  const faults = findFaults(input);
  const { template, html, text } = input;
  if (template && ((html ?? null) !== null || (text ?? null) !== null)) {
    faults.push({ path: 'template', message: 'template cannot be used with html or text; send one or the other.' });
  }
  if (input.send !== true) {
    for (const field of ['scheduled_at', 'acknowledge_checks'] as const) {
      if (input[field] !== undefined)
        faults.push({ path: field, message: `${field} can only be used with send: true.` });
    }
  }
  faults.push(...abTestFaults(input.subject, input.ab));
  if (faults.length > 0) throw invalidFields(faults);
  if (input.ab && input.local_time === true) throw notTogether();
  return {
    name: input.name ?? nameFrom(input.subject),
    ...readTarget(NOBODY, input),
    sender: input.from.trim(),
    subject: input.subject,
    reply_to_list: JSON.stringify(readList(input.reply_to).map((address) => address.trim())),
    preview_text: input.preview_text ?? null,
    html: html ?? null,
    text: text ?? null,
    template_id: null,
    rate_per_minute: input.rate_per_minute ?? null,
    pool: input.pool ?? null,
    utm: writeUtm(input.utm),
    local_time: input.local_time === true ? 1 : 0,
    ab_test: input.ab ? JSON.stringify(input.ab) : null,
    require_review: input.require_review === true ? 1 : 0,
    archive: input.archive === true ? 1 : 0,
  };
}

/** Writes the `utm_` parameters as they are stored; `true` stands for those that are made from names. */
const writeUtm = (utm: CreateBroadcastRequest['utm']): string | null =>
  utm === undefined || utm === null || utm === false ? null : JSON.stringify(utm === true ? {} : utm);

/** Applies a change to a draft; fields that the change omits stay as they are. */
function readChangedContent(before: BroadcastContent, input: UpdateBroadcastRequest): BroadcastContent {
  const { html = before.html, text = before.text, subject = before.subject } = input;
  const faults = findFaults({ ...input, subject, html, text });
  const testBefore = readAbTest(before) ?? null;
  faults.push(...abTestFaults(subject, input.ab === undefined ? testBefore : input.ab));
  if (faults.length > 0) throw invalidFields(faults);
  const hasBody = typeof input.html === 'string' || typeof input.text === 'string';
  const changed: BroadcastContent = {
    ...before,
    ...readTarget(before, input),
    html,
    text,
    subject,
    name: input.name ?? before.name,
    sender: input.from?.trim() ?? before.sender,
    reply_to_list:
      input.reply_to === undefined
        ? before.reply_to_list
        : JSON.stringify(readList(input.reply_to).map((address) => address.trim())),
    preview_text: input.preview_text === undefined ? before.preview_text : input.preview_text,
    template_id: hasBody ? null : before.template_id,
    rate_per_minute: input.rate_per_minute === undefined ? before.rate_per_minute : input.rate_per_minute,
    pool: input.pool === undefined ? before.pool : input.pool,
    utm: input.utm === undefined ? before.utm : writeUtm(input.utm),
    local_time: input.local_time === undefined ? before.local_time : Number(input.local_time),
    ab_test: input.ab === undefined ? before.ab_test : input.ab && JSON.stringify(input.ab),
    require_review: input.require_review === undefined ? before.require_review : Number(input.require_review),
    archive: input.archive === undefined ? before.archive : Number(input.archive),
  };
  if (changed.ab_test !== null && changed.local_time === 1) throw notTogether();
  return changed;
}

function findFaults(input: UpdateBroadcastRequest): FieldFault[] {
  const faults = messageFaults(input);
  const { segment_id: segment, audience_id: audience } = input;
  if (segment && audience && segment.toLowerCase() !== audience.toLowerCase()) {
    const message = 'audience_id, the former name of segment_id, does not match segment_id; omit it.';
    faults.push({ path: 'audience_id', message });
  }
  const named = segmentIn(input);
  const listed = input.segment_ids?.map((id) => id.toLowerCase());
  if (named && listed && !listed.includes(named)) {
    faults.push({
      path: 'segment_ids',
      message: 'segment_ids does not contain segment_id; add it, or omit segment_id.',
    });
  }
  return faults;
}

const nameFrom = (subject: string): string => {
  const name = [...subject.trim()].slice(0, NAME_CHARS_MAX).join('');
  return name === '' ? 'Untitled' : name;
};

/**
 * Refuses what a request newly names and does not exist: a segment, a topic or an earlier broadcast. A send checks for
 * missing segments that get the broadcast itself, in its own order.
 */
async function mustBeAddressed(
  db: Executor,
  teamId: string,
  { before, after, isListed, isSent }: { before: Target; after: Target; isListed: boolean; isSent: boolean },
): Promise<void> {
  const known = new Set([...readSegments(before), ...listIds(before.exclude_segment_ids), ...listEarlier(before)]);
  const segments = new Set((await liveSegments(db, teamId, listSegmentIds(after))).map(({ id }) => id));
  const isMissing = (id: string): boolean => !known.has(id) && !segments.has(id);
  const wanted = isSent ? [] : readSegments(after);
  const wantedAt = wanted.findIndex(isMissing);
  const field = isListed ? `segment_ids.${wantedAt}` : 'segment_id';
  if (wantedAt >= 0) throw unknownId(field, 'segment');
  const { topic_id: topicId } = after;
  if (topicId !== null && topicId !== before.topic_id && !(await findTopic(db, teamId, topicId))) {
    throw unknownId('topic_id', 'topic');
  }
  for (const [at, id] of listIds(after.exclude_segment_ids).entries()) {
    if (isMissing(id)) throw unknownId(`exclude_segment_ids.${at}`, 'segment');
    if (readSegments(after).includes(id)) throw excludesItself(at);
  }
  const earlier = await referencedBroadcasts(db, teamId, listEarlier(after));
  for (const [at, id] of listIds(after.not_received_from).entries()) {
    mustBeEarlier(`not_received_from.${at}`, earlier.get(id));
  }
  const { received_but_not_opened: notOpened } = after;
  if (notOpened !== null) mustBeEarlier('received_but_not_opened', earlier.get(notOpened));
}

const listSegmentIds = (target: Target): string[] => [...readSegments(target), ...listIds(target.exclude_segment_ids)];

const excludesItself = (at: number) => {
  const say = `exclude_segment_ids.${at} is also a segment that gets the broadcast; remove it from one of the two.`;
  return refuse('invalid_parameter', { say });
};

function mustBeEarlier(field: string, broadcast: ReferencedBroadcast | undefined): void {
  if (!broadcast) throw unknownId(field, 'broadcast');
  if (broadcast.status !== 'draft') return;
  const say = `${field} is a draft, which nobody has received; name a broadcast that was sent or scheduled.`;
  throw refuse('invalid_parameter', { say });
}

const unknownId = (field: string, what: string) =>
  refuse('invalid_parameter', { say: `${field} does not match a ${what} of this team.` });

/** Returns the id of a published template. */
async function readTemplateId(db: Executor, teamId: string, idOrAlias: string): Promise<string> {
  const template = await findTemplate(db, teamId, idOrAlias);
  if (!template) throw notFound('Template');
  if (template.published_version_id !== null) return template.id;
  const message = `template.id: the template ${idOrAlias} is a draft; publish it before sending with it.`;
  throw refuse('validation_error', { status: 422, say: message, errors: [{ path: 'template.id', message }] });
}

export async function updateBroadcast({ store, teamId, actor }: Ctx, id: string, input: UpdateBroadcastRequest) {
  await store.db.tx(async (tx) => {
    const row = await locked(tx, teamId, id);
    if (row.status !== 'draft') throw inOtherStatus(row, 'only a draft can be changed', 400);
    const isOwn = row.author_grant_id === readGrantId(actor);
    mustMayAlter(actor, { isOwn });
    const content = readChangedContent(row, input);
    if (content.require_review < row.require_review && readAppName(actor) !== null) throw liftedByApp();
    const isNew = (after: string | null, before: string | null) => (after === before ? null : after);
    mustBeOffered(store.config, isNew(content.pool, row.pool));
    await mustBeAddressed(tx, teamId, {
      before: row,
      after: content,
      isListed: Array.isArray(input.segment_ids),
      isSent: false,
    });
    const authorGrantId = isOwn ? row.author_grant_id : null;
    // A person who changes one field may not have seen what the app wrote into the others.
    const changedByApp = readAppName(actor) ?? row.changed_by_app;
    await saveContent(tx, id, content, { authorGrantId, changedByApp, at: nextChangeAt(store.clock.now(), row) });
  });
  return broadcastNamed(id);
}

const liftedByApp = () =>
  refuse('invalid_permission', {
    say: 'require_review can be set to false only by a member or a key of the team, not by an app.',
  });

export async function deleteBroadcast({ store, teamId }: Ctx, id: string) {
  await store.db.tx(async (tx) => {
    const row = await locked(tx, teamId, id);
    if (row.status !== 'draft') throw inOtherStatus(row, 'only a draft can be deleted', 403);
    await deleteBroadcastRow(tx, id);
  });
  return { ...broadcastNamed(id), deleted: true as const };
}

export async function cancelBroadcast({ store, teamId }: Ctx, id: string) {
  await store.db.tx(async (tx) => {
    const row = await locked(tx, teamId, id);
    if (await markCanceled(tx, id, store.clock.now())) return;
    throw inOtherStatus(
      row,
      'only a broadcast that is scheduled, queued, being sent, paused or on hold can be canceled',
      403,
    );
  });
  return broadcastNamed(id);
}

/**
 * Pauses a broadcast: it creates no more emails, and those in the queue wait. One that is paused already stays as it
 * is, with the person who paused it first.
 */
export async function pauseBroadcast({ store, teamId, actor }: Ctx, id: string) {
  const by = await describePauser(store.db, actor);
  await store.db.tx(async (tx) => {
    const row = await locked(tx, teamId, id);
    if (row.paused_at !== null && row.status !== 'canceled') return;
    if (await markPaused(tx, id, { at: store.clock.now(), by })) return;
    const rule = 'only a broadcast that is scheduled, queued, being sent or in the mail queue can be paused';
    throw inOtherStatus(row, rule, 403);
  });
  return broadcastNamed(id);
}

async function describePauser(db: Executor, actor: Actor): Promise<Pause['by']> {
  const app = readAppName(actor);
  if (app !== null) return { kind: 'app', name: app };
  if (actor.kind === 'session') return { kind: 'user', name: actor.name };
  const keyId = readKeyId(actor);
  return { kind: 'api_key', name: keyId === null ? null : await findKeyName(db, keyId) };
}

/** Reasons to wait that only an operator, or the end of the reason itself, removes. */
const LIFTED_BY_OTHERS: Readonly<Partial<Record<WaitingReason, string>>> = {
  hold: 'an operator holds the mail of this team',
  sending_off: 'sending is switched off on this installation',
  marketing_off: 'marketing mail is switched off on this installation',
  sending_limited: 'a circuit breaker has paused the marketing mail of its domain',
  team_suspended: 'the team is suspended',
};

/**
 * Resumes a broadcast where it was paused or held: pages that were sent stay sent. Of one that is paused and held, it
 * ends the pause alone, because the hold may have come later; the answer then has the reason, and another resume ends
 * the hold.
 */
export async function resumeBroadcast(ctx: Ctx, id: string) {
  const held = await ctx.store.db.tx(async (tx) => {
    const row = await locked(tx, ctx.teamId, id);
    if (row.paused_at === null || row.status === 'canceled') {
      await endHold(ctx, tx, row);
      return null;
    }
    const approved = readApprovedAgain(ctx, row);
    await clearPause(tx, id, { at: ctx.store.clock.now(), approved });
    return presentHeld(row);
  });
  return { ...broadcastNamed(id), held };
}

/** Returns the audience that the call was approved for; otherwise the one that the broadcast was approved for before. */
function readApprovedAgain(
  { actor }: Ctx,
  row: Pick<BroadcastRow, 'approved_contacts' | 'approved_audience'>,
): Approved {
  const again = readApproved(actor);
  return again.contacts === null ? { contacts: row.approved_contacts, audience: row.approved_audience } : again;
}

/** Ends a hold. Neither the outcomes so far nor the changes of the audience, which `held` describes, hold it again. */
async function endHold(ctx: Ctx, tx: Executor, row: BroadcastRow): Promise<void> {
  const { id } = row;
  const seen = (await loadRateCounts(tx, [id])).get(id) ?? { delivered: 0, bounced: 0, complained: 0 };
  const isOther = row.held_reason === AUDIENCE_GROWN || row.held_reason === AUDIENCE_REPLACED;
  const approved = readApprovedAgain(ctx, isOther ? { ...row, approved_contacts: null, approved_audience: null } : row);
  if (await clearHold(tx, id, { at: ctx.store.clock.now(), seen, approved })) return;
  const other = row.waiting_reason === null ? undefined : LIFTED_BY_OTHERS[row.waiting_reason];
  if (row.status !== 'sending' || other === undefined) {
    throw inOtherStatus(row, 'only a broadcast that is paused or on hold can be resumed', 403);
  }
  const say = `A team cannot resume this broadcast, because ${other}. It continues by itself when that ends.`;
  throw refuse('validation_error', { status: 403, say });
}

/** Broadcasts in these statuses reach nobody else. */
const ENDED: ReadonlySet<BroadcastStatus> = new Set(['sent', 'canceled', 'failed']);
const EARLIER_MAX = 20;

/**
 * Creates a draft with the same content; its recipients are determined when it is sent. With `remaining`, the copy goes
 * only to contacts who have not received the original, nor the broadcasts that the original left out.
 */
export async function duplicateBroadcast(ctx: Ctx, id: string, { remaining = false }: DuplicateBroadcastRequest = {}) {
  const { store, teamId } = ctx;
  const row = await findBroadcast(store.db, teamId, id);
  if (!row) throw notFound('Broadcast');
  if (remaining && !ENDED.has(row.status)) {
    throw inOtherStatus(row, 'only a broadcast that is sent, canceled or failed can be continued with remaining', 403);
  }
  const earlier = remaining ? [...new Set([...listIds(row.not_received_from), row.id])] : [];
  if (earlier.length > EARLIER_MAX) {
    const message = `remaining would add a broadcast to not_received_from of the original, which has ${EARLIER_MAX} already, the limit.`;
    throw invalidFields([{ path: 'remaining', message }]);
  }
  const prefix = remaining ? 'Continuation of' : 'Copy of';
  const name = [...`${prefix} ${row.name}`].slice(0, NAME_CHARS_MAX).join('');
  const draft = buildDraft(ctx, {
    ...row,
    name,
    not_received_from: remaining ? JSON.stringify(earlier) : row.not_received_from,
    // The archive would list the same email twice.
    archive: remaining ? 0 : row.archive,
  });
  const copy = {
    ...draft,
    changed_by_app: draft.changed_by_app ?? row.changed_by_app,
    duplicated_from: row.id,
  };
  await store.db.tx((tx) => insertBroadcast(tx, copy));
  return broadcastNamed(copy.id);
}

async function locked(tx: Executor, teamId: string, id: string): Promise<BroadcastRow> {
  const row = await lockBroadcast(tx, teamId, id);
  if (!row) throw notFound('Broadcast');
  return row;
}

const broadcastNamed = (id: string) => ({ object: 'broadcast' as const, id });

/**
 * Creates a draft. With `send`, it is sent in the same transaction, and a refusal leaves no draft. `keep` stores the
 * response in that transaction, for repetitions of the request.
 */
export async function createBroadcast(
  ctx: Ctx,
  input: CreateBroadcastRequest,
  keep?: (tx: Executor, answer: object) => Promise<void>,
) {
  const { store, teamId } = ctx;
  const content = readNewContent(input);
  mustBeOffered(store.config, content.pool);
  const when = readWhen(input.scheduled_at, store.clock.now());
  if (input.template) content.template_id = await readTemplateId(store.db, teamId, input.template.id);
  const isSent = input.send === true;
  const around = isSent ? await loadRequirements(store, teamId, content) : undefined;
  const row = buildDraft(ctx, content);
  const answer = broadcastNamed(row.id);
  await repeatWhileChanged(async () => {
    const prepared = isSent ? await prepareContent(store, row) : undefined;
    await store.db.tx(async (tx) => {
      await mustBeAddressed(tx, teamId, {
        before: NOBODY,
        after: content,
        isListed: Array.isArray(input.segment_ids),
        isSent,
      });
      await insertBroadcast(tx, row);
      const draft = around && (await lockBroadcast(tx, teamId, row.id));
      const isAcknowledged = input.acknowledge_checks === true;
      const isLocal = draft?.local_time === 1;
      if (draft) {
        const approved = readApproved(ctx.actor);
        await sendDraft(store, tx, draft, { around, prepared, when, isLocal, isAcknowledged, approved });
      }
      await keep?.(tx, answer);
    });
  });
  return answer;
}

function buildDraft({ store, teamId, actor }: Ctx, content: BroadcastContent): NewBroadcastRow {
  const now = store.clock.now();
  const author_grant_id = readGrantId(actor);
  const made = {
    id: store.ids.uuid(),
    team_id: teamId,
    status: 'draft' as const,
    author_grant_id,
    duplicated_from: null,
  };
  return { ...content, ...made, changed_by_app: readAppName(actor), created_at: now, updated_at: now };
}
