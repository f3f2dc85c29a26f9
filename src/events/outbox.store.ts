import { uuidsIn, type Executor } from '../platform/db/index.ts';
import { UNTOLD, type EventType } from './vocabulary.ts';

interface Recorded {
  id: string;
  teamId: string;
  type: EventType;
  at: number;
}

interface Subscriber {
  id: string;
  team_id: string;
  events: string;
  /** A listener's stream takes what waits for it; an endpoint is sent what is due. */
  status: 'enabled' | 'disabled' | 'listening';
}

const COLUMNS = ['webhook_id', 'event_id', 'team_id', 'type', 'status', 'parked', 'due_at', 'created_at'] as const;
const LISTENER_COLUMNS = ['listener_id', 'event_id', 'type', 'created_at'] as const;

/**
 * Puts events into the outbox of every endpoint that has subscribed to them, in the transaction that records them: no
 * event is lost between a state and its webhook. A disabled endpoint's events are kept, but nothing is due.
 */
export async function fillOutbox(tx: Executor, events: readonly Recorded[]): Promise<void> {
  // Nobody can subscribe to these, so accepting mail that is not scheduled does not even look.
  const offered = events.filter((event) => !isUntold(event.type));
  if (offered.length === 0) return;
  const subscribers = await subscribersOf(tx, [...new Set(offered.map((event) => event.teamId))]);
  if (subscribers.length === 0) return;
  const isListener = (subscriber: Subscriber): boolean => subscriber.status === 'listening';
  const rows = subscribers.flatMap((subscriber) => {
    if (isListener(subscriber)) return [];
    const isParked = subscriber.status === 'disabled';
    return eventsFor(subscriber, offered).map(({ id, teamId, type, at }) => {
      return [subscriber.id, id, teamId, type, 'pending', isParked ? 1 : 0, isParked ? null : at, at];
    });
  });
  if (rows.length > 0) await tx.insertMany('webhook_events', COLUMNS, rows);
  const heard = subscribers.filter(isListener).flatMap((listener) => {
    return eventsFor(listener, offered).map(({ id, type, at }) => [listener.id, id, type, at]);
  });
  if (heard.length > 0) await tx.insertMany('webhook_listener_events', LISTENER_COLUMNS, heard);
}

const isUntold = (type: EventType): boolean => (UNTOLD as readonly EventType[]).includes(type);

const SAMPLE_COLUMNS = [...COLUMNS, 'is_test'] as const;

/**
 * Puts an event that nothing caused where a real one would be put, as a test, and answers who gets it: whoever is enabled
 * or listening and takes its type, or of those the one endpoint that is named. A disabled endpoint keeps nothing of it.
 */
export async function offerSample(
  tx: Executor,
  sample: Recorded,
  only?: string,
): Promise<{ webhooks: string[]; listeners: number }> {
  const takers = (await subscribersOf(tx, [sample.teamId])).filter(
    (subscriber) =>
      subscriber.status !== 'disabled' &&
      (only === undefined || subscriber.id === only) &&
      eventsFor(subscriber, [sample]).length > 0,
  );
  const webhooks = takers.filter((subscriber) => subscriber.status === 'enabled').map((subscriber) => subscriber.id);
  const listeners = takers.filter((subscriber) => subscriber.status === 'listening').map((subscriber) => subscriber.id);
  const { id, teamId, type, at } = sample;
  const rows = webhooks.map((webhook) => [webhook, id, teamId, type, 'pending', 0, at, at, 1]);
  if (rows.length > 0) await tx.insertMany('webhook_events', SAMPLE_COLUMNS, rows);
  const heard = listeners.map((listener) => [listener, id, type, at]);
  if (heard.length > 0) await tx.insertMany('webhook_listener_events', LISTENER_COLUMNS, heard);
  return { webhooks, listeners: listeners.length };
}

function eventsFor(subscriber: Subscriber, offered: readonly Recorded[]): Recorded[] {
  const types = typesIn(subscriber.events);
  return offered.filter((event) => event.teamId === subscriber.team_id && types.has(event.type));
}

function subscribersOf(tx: Executor, teamIds: string[]): Promise<Subscriber[]> {
  const among = uuidsIn(tx.dialect, 'team_id', teamIds);
  const sql = `select id, team_id, events, status from webhooks where ${among.sql} and deleted_at is null
    union all select id, team_id, events, 'listening' from webhook_listeners where ${among.sql} order by id`;
  return tx.all<Subscriber>(sql, [among.value, among.value]);
}

const LISTS_KEPT_MAX = 1000;
const lists = new Map<string, ReadonlySet<string>>();

/** The same few lists are read over and over. */
function typesIn(json: string): ReadonlySet<string> {
  let types = lists.get(json);
  if (!types) {
    types = new Set(JSON.parse(json) as string[]);
    if (lists.size >= LISTS_KEPT_MAX) lists.clear();
    lists.set(json, types);
  }
  return types;
}
