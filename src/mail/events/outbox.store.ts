import { uuidsIn, type Executor, type Value } from '../../platform/db/index.ts';
import { UNTOLD, type EventType } from './event.ts';
import { BoundedMap } from '../../platform/limits/index.ts';

interface Recorded {
  id: string;
  teamId: string;
  type: EventType;
  at: number;
  isBulk?: boolean | undefined;
  depth?: number | undefined;
}

type Kind = 'endpoint' | 'listener';

/** A subscriber to a team's events: the endpoint of a webhook, or the stream of a listener. */
interface Subscriber {
  kind: Kind;
  id: string;
  team_id: string;
  /** A JSON array of types. */
  events: string;
  /** 1 if its events are kept but not due. */
  is_disabled: number;
}

/** The storage in which the events of one kind of subscriber wait. */
interface Outbox {
  row(subscriber: Subscriber, event: Recorded, isTest: boolean): Value[];
  insert(tx: Executor, rows: Value[][]): Promise<unknown>;
}

const ENDPOINT_COLUMNS = [
  'webhook_id',
  'event_id',
  'team_id',
  'type',
  'status',
  'parked',
  'due_at',
  'created_at',
  'is_test',
  'is_bulk',
] as const;
const LISTENER_COLUMNS = ['listener_id', 'event_id', 'type', 'created_at'] as const;

/** The outbox of each kind of subscriber. A new kind needs an entry here and a select in `listSubscribers`. */
const OUTBOXES: Record<Kind, Outbox> = {
  endpoint: {
    row: ({ id: webhook, is_disabled: isParked }, event, isTest) => [
      webhook,
      event.id,
      event.teamId,
      event.type,
      'pending',
      isParked,
      isParked ? null : event.at,
      event.at,
      isTest ? 1 : 0,
      isBulk(event) ? 1 : 0,
    ],
    insert: (tx, rows) => tx.insertMany('webhook_events', ENDPOINT_COLUMNS, rows),
  },
  listener: {
    row: ({ id: listener }, { id, type, at }) => [listener, id, type, at],
    insert: (tx, rows) => tx.insertMany('webhook_listener_events', LISTENER_COLUMNS, rows),
  },
};

/**
 * Puts events into the outbox of every subscriber to them, in the transaction that records them: no event is lost
 * between a state and its subscribers. A disabled endpoint's events are kept, but not due.
 */
export async function fillOutbox(tx: Executor, events: readonly Recorded[]): Promise<void> {
  // Nothing can subscribe to internal events, so accepting mail that is not scheduled needs no query.
  const offered = events.filter((event) => !isUntold(event.type));
  if (offered.length === 0) return;
  await fill(tx, await listSubscribers(tx, [...new Set(offered.map((event) => event.teamId))]), offered, false);
}

/** Reports whether the event is one of many that a campaign or an automation causes: those of other mail are sent first. */
const isBulk = ({ type, isBulk, depth = 0 }: Recorded): boolean =>
  isBulk === true || depth > 0 || type.startsWith('automation.run.');

const isUntold = (type: EventType): boolean => (UNTOLD as readonly EventType[]).includes(type);

/**
 * Puts a sample event where a real one would be put, as a test, and returns the recipients: enabled endpoints and
 * listeners that take its type, or of those only the named endpoint. Nothing is kept for a disabled endpoint.
 */
export async function offerSample(
  tx: Executor,
  sample: Recorded,
  only?: string,
): Promise<{ webhooks: string[]; listeners: number }> {
  const takers = (await listSubscribers(tx, [sample.teamId])).filter(
    (subscriber) =>
      !subscriber.is_disabled &&
      (only === undefined || subscriber.id === only) &&
      eventsFor(subscriber, [sample]).length > 0,
  );
  await fill(tx, takers, [sample], true);
  const of = (kind: Kind): string[] => takers.filter((taker) => taker.kind === kind).map(({ id }) => id);
  return { webhooks: of('endpoint'), listeners: of('listener').length };
}

async function fill(
  tx: Executor,
  subscribers: readonly Subscriber[],
  events: readonly Recorded[],
  isTest: boolean,
): Promise<void> {
  for (const [kind, those] of Map.groupBy(subscribers, (subscriber) => subscriber.kind)) {
    const { row, insert } = OUTBOXES[kind];
    const rows = those.flatMap((one) => eventsFor(one, events).map((event) => row(one, event, isTest)));
    if (rows.length > 0) await insert(tx, rows);
  }
}

function eventsFor(subscriber: Subscriber, offered: readonly Recorded[]): Recorded[] {
  const types = typesIn(subscriber.events);
  return offered.filter((event) => event.teamId === subscriber.team_id && types.has(event.type));
}

/** Finds the subscribers of teams in one statement, because each commit of mail needs them. */
function listSubscribers(tx: Executor, teamIds: string[]): Promise<Subscriber[]> {
  const among = uuidsIn(tx.dialect, 'team_id', teamIds);
  const sql = `select 'endpoint' as kind, id, team_id, events, case when status = 'disabled' then 1 else 0 end as is_disabled
      from webhooks where ${among.sql} and deleted_at is null
    union all select 'listener', id, team_id, events, 0 from webhook_listeners where ${among.sql} order by id`;
  return tx.all<Subscriber>(sql, [among.value, among.value]);
}

const LISTS_KEPT_MAX = 1000;
const lists = new BoundedMap<string, ReadonlySet<string>>(LISTS_KEPT_MAX);

/** Caches parsed lists: the same few are read over and over. */
function typesIn(json: string): ReadonlySet<string> {
  let types = lists.get(json);
  if (!types) {
    types = new Set(JSON.parse(json) as string[]);
    lists.set(json, types);
  }
  return types;
}
