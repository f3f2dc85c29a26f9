import {
  eventsByIds,
  type DomainData,
  type EventData,
  type EventType,
  type RecordedEvent,
} from '../../../mail/events/index.ts';
import { isoTime } from '../../../platform/clock.ts';
import { timeOfId } from '../../../platform/ids.ts';
import { emailRowsByIds, type EmailRow } from '../../../mail/emails/index.ts';
import type { Store } from '../../../platform/store.ts';
import { findPayloads, insertPayloads, type PayloadRow } from './webhook-events.store.ts';

/** A recorded event; one that has outlived everything else known about it keeps only its type and time. */
export type PayloadEvent = RecordedEvent | { type: EventType; at: number; subjectId?: undefined };

/**
 * Renders the body of a webhook delivery: the same text for the same event, on whichever node and whenever it is
 * rendered. For an email past retention, it contains what the event still has.
 */
export function renderPayload(event: PayloadEvent, email: PayloadEmail | undefined): string {
  return JSON.stringify({ type: event.type, created_at: isoTime(event.at), data: buildData(event, email) });
}

/** Fields of an email that an endpoint receives. */
export type PayloadEmail = Pick<
  EmailRow,
  'sender' | 'to_list' | 'subject' | 'message_id' | 'tags' | 'headers' | 'template_id' | 'created_at'
>;

/** Event of sent mail; `email.received` contains all of its own data. */
type EmailEvent = Exclude<Extract<RecordedEvent, { type: `email.${string}` }>, { type: 'email.received' }>;
/** Events of limits of a domain's mail contain all of their own data. */
type DomainEvent = Exclude<Extract<RecordedEvent, { type: `domain.${string}` }>, { type: `domain.sending_${string}` }>;

type ExtraOf<Type extends EmailEvent['type']> = EventData[Type] extends undefined
  ? never
  : Exclude<keyof NonNullable<EventData[Type]>, 'to'>;
/** Fields of each event that an endpoint receives besides the envelope; a missing one does not compile. */
const EXTRAS: { [Type in EmailEvent['type']]: Record<ExtraOf<Type>, true> } = {
  'email.queued': {},
  'email.scheduled': {},
  'email.sent': {},
  'email.canceled': {},
  'email.delivered': {},
  'email.complained': {},
  'email.bounced': { bounce: true },
  'email.unsubscribed': {},
  'email.opened': { open: true, machine: true },
  'email.clicked': { click: true, machine: true },
  'email.failed': { failed: true },
  'email.suppressed': { suppressed: true },
  'email.delivery_delayed': { delay: true },
};

/** Fields in the order in which they are sent. */
const DOMAIN_FIELDS: Record<keyof DomainData, true> = {
  id: true,
  name: true,
  status: true,
  created_at: true,
  region: true,
  records: true,
};
const DOMAIN_KEYS = Object.keys(DOMAIN_FIELDS) as (keyof DomainData)[];

const isEmailEvent = (event: RecordedEvent): event is EmailEvent =>
  event.type.startsWith('email.') && event.type !== 'email.received';
const isDomainEvent = (event: RecordedEvent): event is DomainEvent =>
  event.type.startsWith('domain.') && !event.type.startsWith('domain.sending_');

function buildData(event: PayloadEvent, email: PayloadEmail | undefined): object {
  if (event.subjectId === undefined) return {};
  if (isEmailEvent(event)) return emailData(event, email);
  if (isDomainEvent(event)) return Object.fromEntries(DOMAIN_KEYS.map((key) => [key, event.data[key]]));
  return event.data;
}

function emailData({ type, subjectId, at, data }: EmailEvent, email: PayloadEmail | undefined): object {
  const { template_id: templateId = null, tags = null, headers = null } = email ?? {};
  const told: Record<string, unknown> = { ...data };
  return {
    email_id: subjectId,
    from: email?.sender ?? '',
    to: told['to'] ?? (email ? readJson(email.to_list) : []),
    subject: email?.subject ?? '',
    message_id: email?.message_id ?? '',
    // The id of an email contains its time, even if nothing else of the email remains; it may run ahead of a clock that
    // was set back.
    created_at: isoTime(email?.created_at ?? Math.min(timeOfId(subjectId), at)),
    ...(templateId === null ? {} : { template_id: templateId }),
    ...(tags === null ? {} : { tags: readTags(tags) }),
    ...(headers === null ? {} : { headers: readHeaders(headers) }),
    ...Object.fromEntries(Object.keys(EXTRAS[type]).map((extra) => [extra, told[extra]])),
  };
}

const readTags = (json: string): Record<string, string> =>
  Object.fromEntries((readJson(json) as { name: string; value: string }[]).map(({ name, value }) => [name, value]));

const readHeaders = (json: string): { name: string; value: string }[] =>
  (readJson(json) as [string, string][]).map(([name, value]) => ({ name, value }));

const readJson = (json: string): unknown => JSON.parse(json);

/** Entry of an outbox, of any endpoint. */
export interface PayloadOrder {
  eventId: string;
  type: string;
  at: number;
}

/** Writes rows durably, so that a killed process does not lose them; returns how many were new. */
export type WritePayloads = (rows: readonly PayloadRow[]) => Promise<number>;

/**
 * Returns the exact bodies of a team's events, by event. A missing one is rendered and stored before it is returned, so
 * that every attempt, every replay and every reader get the same bytes.
 */
export async function loadPayloads(
  store: Store,
  teamId: string,
  orders: readonly PayloadOrder[],
  write: WritePayloads = (rows) => store.db.tx((tx) => insertPayloads(tx, rows)),
): Promise<Map<string, string>> {
  const ids = orders.map((order) => order.eventId);
  const found = await findPayloads(store.db, teamId, ids);
  const missing = orders.filter((order) => !found.has(order.eventId));
  if (missing.length === 0) return found;
  const rows = await render(store, teamId, missing);
  const written = await write(rows);
  // Another process was first, and its bytes count; or an event was erased meanwhile, and is rendered without its data.
  if (written < rows.length) return loadPayloads(store, teamId, orders, write);
  for (const row of rows) found.set(row.event_id, row.payload);
  return found;
}

async function render(store: Store, teamId: string, orders: readonly PayloadOrder[]): Promise<PayloadRow[]> {
  const standing = await eventsByIds(
    store.db,
    orders.map((order) => order.eventId),
  );
  const events = new Map(standing.map((event) => [event.id, event]));
  const subjects = standing.filter((event) => event.type.startsWith('email.')).map((event) => event.subjectId);
  const emails = new Map((await emailRowsByIds(store.db, [...new Set(subjects)])).map((row) => [row.id, row]));
  return orders.map(({ eventId, type, at }) => {
    const recorded = events.get(eventId);
    const event = recorded ?? { type: type as EventType, at };
    const email = 'subjectId' in event ? emails.get(event.subjectId) : undefined;
    const payload = renderPayload(event, email);
    return { event_id: eventId, team_id: teamId, payload, isOfRecorded: recorded !== undefined };
  });
}
