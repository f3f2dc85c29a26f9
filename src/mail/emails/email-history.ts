import { defineHook } from '../../platform/hook.ts';
import {
  isByMachine,
  LAST_EVENTS,
  recordEvents,
  parseEventId,
  eventPage,
  publicEventId,
  type EventDraft,
  type LastEvent,
  type NewEvent,
  type EventData,
  type RecordedEvent,
} from '../events/index.ts';
import type { Executor, Page } from '../../platform/db/index.ts';
import type { Ids } from '../../platform/ids.ts';
import { advanceLastEvent, findEmail, type EmailRow } from './emails.store.ts';
import { isoTime } from '../../platform/clock.ts';
import { notFound } from '../../platform/refusal.ts';
import { parseMailbox } from '../../protocol/address/index.ts';
import { explainDelivery } from '../../protocol/explain-delivery.ts';
import { CAUSES } from '../../protocol/smtp-reply/index.ts';
import type { Ctx } from '../../tenancy/access/index.ts';
import { suppressedNow } from '../suppressions/index.ts';
import { mustBeWithinQuota } from '../../tenancy/usage/index.ts';
import { attemptPage, type AttemptRow, type TriedRecipient } from './attempts.store.ts';

/** Fields of an email that the envelope of its events contains. */
export type EventEmail = Pick<EmailRow, 'id' | 'team_id' | 'domain_id' | 'broadcast_id' | 'contact_id' | 'is_bulk'>;

export type EmailEvent = {
  email: EventEmail;
  at: number;
  /** Given if a repetition must be recognized. */
  id?: string;
  /**
   * True if the event is the first of its type for its email, so that counts of emails include it. Set by callers that
   * know it because they have moved the email to the state themselves; otherwise `recordEmailEvents` determines it.
   */
  isFirst?: boolean;
  /** It does not count towards the rates that put broadcasts on hold. */
  isExcused?: boolean;
} & EventDraft<`email.${LastEvent | 'unsubscribed'}`>;

/** Adds the events of emails of broadcasts to their reports. */
export const reportBroadcastEvents =
  defineHook<(tx: Executor, ids: Ids, events: readonly EmailEvent[]) => Promise<void>>('reportBroadcastEvents');

/** Records what happened to mail that was written for contacts. */
export const recordContactEngagement =
  defineHook<(tx: Executor, events: readonly EmailEvent[]) => Promise<void>>('recordContactEngagement');

/** The events with which an email starts: accepted emails are in the report of their broadcast from the beginning. */
const BORN = new Set<string>(['email.queued', 'email.scheduled']);

/**
 * Moves emails forward to the states of these events, and records the events. An email moves to a state at most once,
 * so the events of that move are the first of their type: several if deliveries of one email settle together. They are
 * counted once (`computeAdditions` of `events/metric-counts.ts`). Opens and clicks by machines move nothing, and neither
 * does an unsubscribe. Events of a broadcast are added to its report, and those of mail that was written for a contact to
 * the contact's engagement. States are written before counts, in the order of
 * `LAST_EVENTS`, so that transactions that write the same rows never deadlock.
 */
export async function recordEmailEvents(tx: Executor, ids: Ids, events: readonly EmailEvent[]): Promise<void> {
  if (events.length === 0) return;
  const moves = new Map<string, Set<string>>();
  for (const event of events) {
    const { type, email, isFirst } = event;
    if (isFirst !== undefined || isByMachine(event)) continue;
    const emails = moves.get(type);
    if (emails) emails.add(email.id);
    else moves.set(type, new Set([email.id]));
  }
  const moved = new Set<string>();
  for (const state of LAST_EVENTS) {
    const type = `email.${state}`;
    for (const id of await advanceLastEvent(tx, [...(moves.get(type) ?? [])], state)) moved.add(`${id} ${type}`);
  }
  await recordEvents(
    tx,
    ids,
    events.map(({ email, isFirst, isExcused: _, ...event }): NewEvent => {
      const { id: subjectId, team_id: teamId, domain_id: domainId, broadcast_id: broadcastId } = email;
      const isBulk = email.is_bulk === 1;
      const envelope = { teamId, subjectId, domainId, broadcastId: broadcastId ?? undefined, isBulk };
      return { ...event, ...envelope, isFirst: isFirst ?? moved.has(`${subjectId} ${event.type}`) };
    }),
  );
  const reported = events.filter(({ email, type }) => email.broadcast_id !== null && !BORN.has(type));
  if (reported.length > 0) await reportBroadcastEvents.call(tx, ids, reported);
  const engaged = events.filter(({ email, type }) => email.contact_id !== null && !BORN.has(type));
  if (engaged.length > 0) await recordContactEngagement.call(tx, engaged);
}

/** Lists everything that happened to an email, newest first. */
export async function listEmailEvents(ctx: Ctx, emailId: string, page: Page) {
  await mustBeReadable(ctx, emailId);
  // A malformed id matches no event, as an id of another list does.
  const toEventId = (publicId: string | undefined) => publicId && (parseEventId(publicId) ?? publicId);
  const within = { limit: page.limit, after: toEventId(page.after), before: toEventId(page.before) };
  const { rows, hasMore } = await eventPage(ctx.store.db, emailId, within);
  return { object: 'list' as const, has_more: hasMore, data: rows.map(presentEvent) };
}

/**
 * Lists every delivery attempt of an email, newest first, with the outcome for each recipient and its explanation, and
 * the recipients that are suppressed now.
 */
export async function listEmailAttempts(ctx: Ctx, emailId: string, page: Page) {
  const email = await mustBeReadable(ctx, emailId);
  const { rows, hasMore } = await attemptPage(ctx.store.db, emailId, page);
  const suppressed = await suppressedNow(ctx, readRecipients(email));
  return {
    object: 'list' as const,
    has_more: hasMore,
    data: rows.map(presentAttempt),
    suppressed,
    request_id: email.request_id,
  };
}

async function mustBeReadable(ctx: Ctx, emailId: string): Promise<EmailRow> {
  const email = await findEmail(ctx.store.db, ctx.teamId, emailId);
  if (!email) throw notFound('Email');
  await mustBeWithinQuota(ctx);
  return email;
}

/** Events caused by readers, which only their team may see. */
const OF_READERS: ReadonlySet<string> = new Set(['email.opened', 'email.clicked', 'email.unsubscribed']);
const STORY_MAX = 100;
const STORY_PAGES_MAX = 10;

/** Lists what became of an email on its way, newest first, without the actions of its readers. */
export async function loadStory(db: Executor, emailId: string) {
  const events: RecordedEvent[] = [];
  let page: Page = { limit: STORY_MAX };
  let isCut = true;
  for (let pages = 0; pages < STORY_PAGES_MAX && isCut && events.length < STORY_MAX; pages++) {
    const { rows, hasMore } = await eventPage(db, emailId, page);
    events.push(...rows.filter(({ type }) => !OF_READERS.has(type)));
    page = { limit: STORY_MAX, after: rows.at(-1)?.id };
    isCut = hasMore;
  }
  const tries = await attemptPage(db, emailId, { limit: STORY_MAX });
  return {
    events: events.slice(0, STORY_MAX).map(presentEvent),
    attempts: tries.rows.map(presentAttempt),
    is_cut: isCut || tries.hasMore || events.length > STORY_MAX,
  };
}

/** Returns the bare addresses, each once. */
function readRecipients({ to_list: to, cc_list: cc, bcc_list: bcc }: EmailRow): string[] {
  const written = [to, cc, bcc].flatMap((json) => (json === null ? [] : (JSON.parse(json) as string[])));
  const parsed = written.map((text) => parseMailbox(text));
  return [...new Set(parsed.flatMap((one) => (one.ok ? [one.mailbox.address] : [])))];
}

function presentEvent({ id, type, at, data }: RecordedEvent) {
  const failed = type === 'email.failed' ? (data as EventData['email.failed'] | undefined)?.failed : undefined;
  // No attempt has this explanation, because none ended so.
  const meaning = failed && explainDelivery({ outcome: 'failed', reason: failed.reason, reply: null });
  return {
    id: publicEventId(id),
    type,
    created_at: isoTime(at),
    data: (data as Record<string, unknown> | undefined) ?? null,
    explanation: meaning?.sentence ?? null,
    advice: meaning?.advice ?? null,
  };
}

function presentAttempt(row: AttemptRow) {
  const { tls_version: version, tls_cipher: cipher } = row;
  return {
    id: row.id,
    created_at: isoTime(row.created_at),
    attempt: row.attempt,
    destination: row.destination,
    mx: row.mx,
    relay: row.relay,
    source: row.source,
    provider: row.provider,
    address: row.address,
    tls: version === null || cipher === null ? null : { version, cipher },
    duration_ms: row.duration_ms,
    recipients: (JSON.parse(row.recipients) as TriedRecipient[]).map((recipient) => {
      const { sentence, advice } = explainDelivery(recipient, row);
      const cause = recipient.cause ?? null;
      const responsible = cause === null ? null : CAUSES[cause].responsible;
      return { ...recipient, cause, responsible, explanation: sentence, advice };
    }),
    transcript: row.transcript?.split('\n') ?? [],
  };
}
