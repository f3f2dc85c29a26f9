import { isoTime, stopwatch } from '../../platform/clock.ts';
import type { Store } from '../../platform/store.ts';
import { createSendSwitch } from '../../tenancy/instance/index.ts';
import { suspendedTeams } from '../../tenancy/teams/index.ts';
import {
  countStates,
  holdsInForce,
  QUEUE_STATES,
  queuedRows,
  type QueueState,
  type StateCount,
} from '../queue/index.ts';
import type { Executor } from '../../platform/db/index.ts';
import { explainWaiting } from '../throttles/index.ts';
import { explainDelivery } from '../../protocol/explain-delivery.ts';
import { latestAttempts, type TriedRecipient } from '../emails/index.ts';

const DESTINATIONS_MAX = 100;
/** A count that took less time is made anew for everybody who asks. */
const QUICK_MS = 50;
/**
 * A longer one is not repeated before this multiple of its duration has passed, so that reading the queue never takes
 * more of a machine.
 */
const REST_FACTOR = 10;

export interface CountedDestination {
  destination: string;
  deliveries: number;
  oldest: number;
  next: number;
  states: Record<QueueState, number>;
  triedId: string | undefined;
}

export interface Counted {
  at: number;
  byDestination: Map<string, CountedDestination>;
}

const none = (): Record<QueueState, number> =>
  Object.fromEntries(QUEUE_STATES.map((state) => [state, 0])) as Record<QueueState, number>;

/** The count that calls share, one for each process. */
const counts = new WeakMap<Store['commits'], { counted: Promise<Counted>; isFresh: () => boolean }>();

/** Returns the numbers of deliveries in the queue, by destination and state. */
export async function readQueue(store: Store) {
  const { at, byDestination } = await countQueue(store);
  const holds = await holdsInForce(store.db);
  const holdOn = new Map(holds.filter(({ kind }) => kind === 'destination').map((hold) => [hold.value, hold]));
  const all = [...byDestination.values()];
  const largest = all.toSorted((a, b) => b.deliveries - a.deliveries || (a.destination < b.destination ? -1 : 1));
  const shown = largest.slice(0, DESTINATIONS_MAX);
  const tried = await queuedRows(
    store.db,
    shown.flatMap(({ triedId }) => triedId ?? []),
  );
  const triedAt = new Map(tried.map((row) => [row.destination, row]));
  const last = await lastAttempts(store.db, tried);
  const explain = await explainWaiting(store, shown);
  const { isOn, reason } = await createSendSwitch(store)();
  const states = none();
  for (const one of all) for (const state of QUEUE_STATES) states[state] += one.states[state];
  return {
    object: 'queue' as const,
    as_of: isoTime(at),
    sending: { is_on: isOn, reason },
    deliveries: all.reduce((sum, { deliveries }) => sum + deliveries, 0),
    oldest_at: timeOrNull(Math.min(...all.map(({ oldest }) => oldest))),
    states,
    holds: holds.length,
    destination_count: all.length,
    destinations: shown.map((one) => {
      const row = triedAt.get(one.destination);
      return {
        destination: one.destination,
        deliveries: one.deliveries,
        oldest_at: timeOrNull(one.oldest),
        next_attempt_at: timeOrNull(one.next),
        states: one.states,
        hold_id: holdOn.get(one.destination)?.id ?? null,
        hold_reason: holdOn.get(one.destination)?.reason ?? null,
        waits_because: explain(one),
        last_attempt: row ? last(row) : null,
      };
    }),
  };
}

const timeOrNull = (ms: number): string | null => (Number.isFinite(ms) ? isoTime(ms) : null);

/** Counts the queue. A request during a count, or soon after a long one, gets the result of that count. */
export function countQueue(store: Store): Promise<Counted> {
  const known = counts.get(store.commits);
  if (known?.isFresh()) return known.counted;
  const elapsedMs = stopwatch();
  let tookMs: number | undefined;
  const counted = count(store).finally(() => (tookMs = elapsedMs()));
  const isFresh = (): boolean =>
    tookMs === undefined || (tookMs >= QUICK_MS && elapsedMs() < tookMs * (1 + REST_FACTOR));
  counts.set(store.commits, { counted, isFresh });
  counted.catch(() => counts.delete(store.commits));
  return counted;
}

async function count({ db, clock }: Store): Promise<Counted> {
  const at = clock.now();
  const byDestination = new Map<string, CountedDestination>();
  const moment = { now: at, suspendedTeams: await suspendedTeams(db) };
  for await (const rows of countStates(db, moment)) for (const row of rows) add(byDestination, row);
  return { at, byDestination };
}

/**
 * States in which deliveries have a time of their next attempt; held, suspended, in-flight and in-doubt ones have none.
 */
const IS_TRIED: ReadonlySet<QueueState> = new Set(['waiting', 'retrying', 'scheduled', 'awaits_domain']);

function add(byDestination: Map<string, CountedDestination>, row: StateCount): void {
  let one = byDestination.get(row.destination);
  if (!one) {
    const { destination } = row;
    one = { destination, deliveries: 0, oldest: Infinity, next: Infinity, states: none(), triedId: undefined };
    byDestination.set(destination, one);
  }
  one.deliveries += row.count;
  one.states[row.state] += row.count;
  if (row.state !== 'scheduled') one.oldest = Math.min(one.oldest, row.oldest);
  if (IS_TRIED.has(row.state)) one.next = Math.min(one.next, row.next);
  one.triedId ??= row.tried_id ?? undefined;
}

interface Tried {
  email_id: string;
  destination: string;
}

interface LastAttempt {
  at: string;
  outcome: TriedRecipient['outcome'];
  reason: string | null;
  reply: string | null;
  explanation: string;
}

/** Finds how the last attempt of each ended for the first of its recipients, which is the reason why it waits. */
export async function lastAttempts(db: Executor, rows: readonly Tried[]): Promise<(row: Tried) => LastAttempt | null> {
  const attempts = await latestAttempts(
    db,
    rows.map((row) => row.email_id),
  );
  const latest = new Map(attempts.map((attempt) => [toKey(attempt), attempt]));
  return (row) => {
    const attempt = latest.get(toKey(row));
    const tried = attempt && (JSON.parse(attempt.recipients) as TriedRecipient[]);
    const [first] = tried?.filter(({ outcome }) => outcome !== 'delivered') ?? [];
    if (!attempt || !first) return null;
    const { outcome, reason, reply } = first;
    return { at: isoTime(attempt.created_at), outcome, reason, reply, explanation: explainDelivery(first).sentence };
  };
}

const toKey = ({ email_id: email, destination }: Tried): string => `${email} ${destination}`;
