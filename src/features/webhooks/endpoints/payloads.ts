import { eventsByIds, type EventType } from '../../../mail/events/index.ts';
import type { Store } from '../../../platform/store/index.ts';
import { emailRowsByIds } from '../../../mail/emails/index.ts';
import { renderPayload } from './payload.ts';
import { findPayloads, insertPayloads, type PayloadRow } from './payloads.store.ts';

/** An entry of an outbox, of whichever endpoint. */
export interface PayloadOrder {
  eventId: string;
  type: string;
  at: number;
}

/** Writes rows, so that a killed process does not lose them, and answers how many were new. */
export type WritePayloads = (rows: readonly PayloadRow[]) => Promise<number>;

/**
 * The exact bodies of a team's events, by event. What has none yet is rendered and stored before it is answered,
 * so that every attempt, every replay and everybody who reads it get the same bytes.
 */
export async function payloadsOf(
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
  // Another process was first, and its bytes stand; or an event was erased meanwhile, and is rendered without its data.
  if (written < rows.length) return payloadsOf(store, teamId, orders, write);
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
