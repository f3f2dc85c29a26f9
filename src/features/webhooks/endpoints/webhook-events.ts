import { parseEventId } from '../../../mail/events/index.ts';
import type { QueryOf, WebhookPayload } from '../../../contract/index.ts';
import { isoTime } from '../../../platform/clock.ts';
import { mustBeAlone, type Page, type Executor } from '../../../platform/db/index.ts';
import { notFound, refuse } from '../../../platform/refusal.ts';
import { parseIsoTime } from '../../../protocol/iso-time.ts';
import { lockTeam, type Ctx } from '../../../tenancy/access/index.ts';
import { loadPayloads } from './payload.ts';
import { presentAttempt, presentWebhookEvent, webhookNamed } from './webhooks.ts';
import {
  findWebhookEvent,
  listAttemptRows,
  listParkedRows,
  listWebhookEventRows,
  webhookEventRowsEnding,
  makeDue,
  noteReplay,
  replaysSince,
  type WebhookEventRow,
} from './webhook-events.store.ts';
import { lockWebhook } from './webhooks.store.ts';

const REPLAYS_MAX = 10;
const WINDOW_MS = 60_000;

/**
 * Sends an event again, with the same id and bytes and from the first try of the schedule. A refused replay counts
 * towards no limit; the others are counted in the database, for all nodes together.
 */
export async function replayWebhookEvent(
  ctx: Ctx,
  webhookId: string,
  publicId: string,
): Promise<{ object: 'webhook_event'; id: string }> {
  const { store, teamId } = ctx;
  const eventId = parseEventId(publicId);
  await store.db.tx(async (tx) => {
    await lockTeam(tx, teamId);
    const webhook = await lockWebhook(tx, teamId, webhookId);
    if (!webhook || eventId === undefined) throw notFound('Webhook event');
    const now = store.clock.now();
    if (!(await makeDue(tx, webhookId, eventId, now))) throw notFound('Webhook event');
    if (webhook.status === 'disabled') throw disabled(webhookId);
    await mustBeWithinLimit(tx, teamId, now);
    await noteReplay(tx, { teamId, id: store.ids.uuid(), at: now, since: now - WINDOW_MS });
  });
  return { object: 'webhook_event', id: publicId };
}

async function mustBeWithinLimit(tx: Executor, teamId: string, now: number): Promise<void> {
  const made = await replaysSince(tx, teamId, now - WINDOW_MS);
  if (made.length < REPLAYS_MAX) return;
  const freeAt = (made.at(-REPLAYS_MAX) ?? now) + WINDOW_MS;
  const retryAfterSeconds = Math.min(WINDOW_MS / 1000, Math.max(1, Math.ceil((freeAt - now) / 1000)));
  throw refuse('rate_limit_exceeded', {
    say: `A team may replay ${REPLAYS_MAX} events a minute. Try again in ${retryAfterSeconds} s.`,
    retryAfterSeconds,
  });
}

const disabled = (id: string) =>
  refuse('validation_error', {
    status: 422,
    say: `The webhook ${id} is disabled; enable it before replaying its events.`,
  });

export async function listWebhookEvents(ctx: Ctx, webhookId: string, filter: QueryOf<'listWebhookEvents'>, page: Page) {
  const { status, type, start_date: start, end_date: end, id_end: idEnd } = filter;
  if (idEnd !== undefined) mustBeAlone(filter);
  const createdFrom = readInstant('start_date', start);
  const createdTo = readInstant('end_date', end);
  if (createdFrom !== undefined && createdTo !== undefined && createdTo < createdFrom) {
    throw refuse('invalid_parameter', {
      say: `end_date must not be before start_date (${isoTime(createdFrom)}); got ${isoTime(createdTo)}.`,
    });
  }
  await webhookNamed(ctx, webhookId);
  const { db } = ctx.store;
  const within = { limit: page.limit, after: toCursor(page.after), before: toCursor(page.before) };
  const { rows, hasMore } =
    idEnd === undefined
      ? await listWebhookEventRows(db, webhookId, { status, type, createdFrom, createdTo }, within)
      : await webhookEventRowsEnding(db, webhookId, idEnd, within);
  return { object: 'list' as const, has_more: hasMore, data: rows.map(presentWebhookEvent) };
}

/** Returns an event with the exact bytes that every attempt sends, read as JSON. */
export async function getWebhookEvent(ctx: Ctx, webhookId: string, publicId: string) {
  const row = await webhookEventNamed(ctx, webhookId, publicId);
  const order = { eventId: row.event_id, type: row.type, at: row.created_at };
  const payload = (await loadPayloads(ctx.store, ctx.teamId, [order])).get(row.event_id);
  // The event expired between the two queries.
  if (payload === undefined) throw notFound('Webhook event');
  return {
    object: 'webhook_event' as const,
    ...presentWebhookEvent(row),
    next_attempt_at: row.due_at === null ? null : isoTime(row.due_at),
    payload: JSON.parse(payload) as WebhookPayload,
  };
}

export async function listWebhookAttempts(ctx: Ctx, webhookId: string, publicId: string, page: Page) {
  const { event_id: eventId } = await webhookEventNamed(ctx, webhookId, publicId);
  const { rows, hasMore } = await listAttemptRows(ctx.store.db, { webhookId, eventId }, page);
  return { object: 'list' as const, has_more: hasMore, data: rows.map(presentAttempt) };
}

/** Lists events oldest first, since clients process them in the order in which they happened. */
export async function listParkedWebhookEvents(
  ctx: Ctx,
  webhookId: string,
  { start_date: start }: QueryOf<'listParkedWebhookEvents'>,
  { limit, after }: Pick<Page, 'limit' | 'after'>,
) {
  const createdFrom = readInstant('start_date', start);
  await webhookNamed(ctx, webhookId);
  const range = { createdFrom, after: toCursor(after), limit };
  const { rows, hasMore } = await listParkedRows(ctx.store.db, webhookId, range);
  return { object: 'list' as const, has_more: hasMore, data: rows.map(presentWebhookEvent) };
}

async function webhookEventNamed(ctx: Ctx, webhookId: string, publicId: string): Promise<WebhookEventRow> {
  const eventId = parseEventId(publicId);
  const isOwn = eventId !== undefined && (await webhookNamed(ctx, webhookId));
  const row = isOwn ? await findWebhookEvent(ctx.store.db, webhookId, eventId) : undefined;
  if (!row) throw notFound('Webhook event');
  return row;
}

const toCursor = (publicId: string | undefined): string | undefined =>
  publicId === undefined ? undefined : parseEventId(publicId);

/** Reads an instant, to the millisecond: a bare date would leave open which of its moments is meant. */
function readInstant(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const time = parseIsoTime(text);
  if (time && !time.isDateAlone) return time.ms;
  throw refuse('invalid_parameter', {
    say: `${name} must be an ISO 8601 time with date and time of day, such as 2027-01-31T12:00:00Z; got ${JSON.stringify(text.slice(0, 40))}.`,
  });
}
