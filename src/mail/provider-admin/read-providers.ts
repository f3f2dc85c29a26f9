import { isoTime, nextTurn } from '../../platform/clock.ts';
import { describeSetting, type Config } from '../../platform/config/index.ts';
import type { Page } from '../../platform/db/index.ts';
import { notFound } from '../../platform/refusal.ts';
import type { Store } from '../../platform/store.ts';
import { countQueue, type Counted } from '../queue-admin/index.ts';
import {
  connectionsSince,
  isInForce,
  knowsReceiver,
  listThrottles,
  PERIOD_MS,
  providerTraffic,
  readOrigin,
  recipientDomainsAmong,
  type ConnectionRow,
  type ProviderTraffic,
  type ThrottleRow,
} from '../throttles/index.ts';

/** The receivers without a provider that are listed. */
const RECEIVERS_MAX = 100;
const DESTINATIONS_MAX = 20;
const HOUR_MS = 3_600_000;
/** Connections that a process has not confirmed for this time belong to one that is gone. */
const HEARD_MS = 30_000;
/** Far more than the receivers that can be listed. */
const TRAFFIC_MAX = 5000;
const NAMES_AT_ONCE = 1000;

/** The id of all waiting mail whose mail servers were not looked up yet. */
const UNKNOWN = 'not-looked-up';

/** A provider, or mail servers or a relay without one. */
export interface Place {
  id: string;
  provider: string;
  servers: string;
}

interface Waiting {
  deliveries: number;
  oldest: number;
  next: number;
  destinations: { destination: string; deliveries: number }[];
}

interface Entry {
  place: Place;
  waiting: Waiting | undefined;
  traffic: ProviderTraffic | undefined;
  connections: ConnectionRow[];
  throttles: ThrottleRow[];
}

const toPlace = ({ provider, servers }: { provider: string; servers: string }): Place =>
  provider === '' ? { id: servers, provider, servers } : { id: provider, provider, servers: '' };

/** The queue by receiver, one count for each count of the queue. */
const waitingByPlace = new WeakMap<Counted, Promise<Map<string, { place: Place; waiting: Waiting }>>>();

async function countByPlace({ db }: Store, { byDestination }: Counted) {
  const places = new Map<string, { place: Place; waiting: Waiting }>();
  const all = [...byDestination.values()];
  for (let from = 0; from < all.length; from += NAMES_AT_ONCE) {
    const some = all.slice(from, from + NAMES_AT_ONCE);
    const found = await recipientDomainsAmong(
      db,
      some.map(({ destination }) => destination),
    );
    const known = new Map(found.map((domain) => [domain.name, toPlace(domain)]));
    for (const { destination, deliveries, oldest, next } of some) {
      const place = known.get(destination) ?? { id: UNKNOWN, provider: '', servers: UNKNOWN };
      const waiting: Waiting = places.get(place.id)?.waiting ?? {
        deliveries: 0,
        oldest: Infinity,
        next: Infinity,
        destinations: [],
      };
      waiting.deliveries += deliveries;
      waiting.oldest = Math.min(waiting.oldest, oldest);
      waiting.next = Math.min(waiting.next, next);
      waiting.destinations.push({ destination, deliveries });
      places.set(place.id, { place, waiting });
    }
    await nextTurn();
  }
  for (const { waiting } of places.values())
    waiting.destinations = waiting.destinations
      .sort((a, b) => b.deliveries - a.deliveries || (a.destination < b.destination ? -1 : 1))
      .slice(0, DESTINATIONS_MAX);
  return places;
}

/** Loads everything that is known now of each receiver with mail, traffic, connections or limits. */
async function loadEntries(store: Store): Promise<Map<string, Entry>> {
  const { db, clock } = store;
  const now = clock.now();
  const counted = await countQueue(store);
  const byPlace = waitingByPlace.get(counted) ?? countByPlace(store, counted);
  waitingByPlace.set(counted, byPlace);
  const entries = new Map<string, Entry>();
  const findEntry = (place: Place): Entry => {
    const entry = entries.get(place.id) ?? {
      place,
      waiting: undefined,
      traffic: undefined,
      connections: [],
      throttles: [],
    };
    entries.set(place.id, entry);
    return entry;
  };
  for (const { place, waiting } of (await byPlace).values()) findEntry(place).waiting = waiting;
  const periodAt = Math.floor(now / PERIOD_MS) * PERIOD_MS - PERIOD_MS;
  for (const traffic of await providerTraffic(db, { since: now - HOUR_MS, periodAt, max: TRAFFIC_MAX }))
    findEntry(toPlace(traffic)).traffic = traffic;
  for (const row of await connectionsSince(db, now - HEARD_MS)) findEntry(toPlace(row)).connections.push(row);
  for (const row of await listThrottles(db)) {
    // A limit for all receivers belongs to its sending domain.
    const isEverywhere = row.provider === '' && row.servers === '';
    if (isInForce(row, now) && !isEverywhere) findEntry(toPlace(row)).throttles.push(row);
  }
  return entries;
}

const measureTraffic = ({ traffic }: Entry): number =>
  traffic === undefined ? 0 : traffic.accepted + traffic.deferred + traffic.bounced;

const byAmount = (a: Entry, b: Entry): number =>
  (b.waiting?.deliveries ?? 0) - (a.waiting?.deliveries ?? 0) ||
  measureTraffic(b) - measureTraffic(a) ||
  (a.place.id < b.place.id ? -1 : 1);

/** Lists all providers, and the receivers without one that have most mail; largest queue first. */
export async function listProviders(store: Store, page: Page) {
  const ranked = [...(await loadEntries(store)).values()].sort(byAmount);
  const receivers = new Set(ranked.filter(({ place }) => place.provider === '').slice(0, RECEIVERS_MAX));
  const all = ranked.filter((entry) => entry.place.provider !== '' || receivers.has(entry));
  const { shown, hasMore } = cutRanking(all, page);
  return { object: 'list' as const, has_more: hasMore, data: shown.map((entry) => present(store.config, entry)) };
}

/** Returns the part of a ranking that follows or precedes an entry; an entry that is no longer in it follows all. */
function cutRanking(all: readonly Entry[], { after, before, limit }: Page): { shown: Entry[]; hasMore: boolean } {
  const find = (id: string): number => {
    const at = all.findIndex(({ place }) => place.id === id);
    return at < 0 ? all.length : at;
  };
  if (before !== undefined) {
    const end = find(before);
    const start = Math.max(0, end - limit);
    return { shown: all.slice(start, end), hasMore: start > 0 };
  }
  const start = after === undefined ? 0 : find(after) + 1;
  return { shown: all.slice(start, start + limit), hasMore: start + limit < all.length };
}

export async function getProvider(store: Store, id: string) {
  const { config } = store;
  const entries = await loadEntries(store);
  const entry = entries.get(id) ?? {
    place: await findPlace(store, id),
    waiting: undefined,
    traffic: undefined,
    connections: [],
    throttles: [],
  };
  return {
    ...present(config, entry),
    settings: listSettings(config, entry.place),
    destinations: entry.waiting?.destinations ?? [],
  };
}

/** Finds a provider of the settings, a relay, or mail servers that mail went to. */
export async function findPlace({ db, config }: Pick<Store, 'db' | 'config'>, id: string): Promise<Place> {
  if (Object.hasOwn(config.providers, id)) return { id, provider: id, servers: '' };
  if (Object.hasOwn(config.relays, id) || (await knowsReceiver(db, id))) return { id, provider: '', servers: id };
  throw notFound('Provider');
}

/** Presents a place as it is now, for example after a change of its limits. */
export async function presentPlace(store: Store, place: Place) {
  const entry = (await loadEntries(store)).get(place.id);
  return present(
    store.config,
    entry ?? { place, waiting: undefined, traffic: undefined, connections: [], throttles: [] },
  );
}

function present(config: Config, { place, waiting, traffic, connections, throttles }: Entry) {
  const { rate, open } = readConfigured(config, place);
  const general = throttles.filter((row) => row.sender_domain === '');
  const suspensions = general.filter(({ kind }) => kind === 'suspend').map((row) => row.until_at);
  return {
    object: 'provider' as const,
    id: place.id,
    title: findTitle(config, place),
    deliveries: waiting?.deliveries ?? 0,
    oldest_at: timeOrNull(waiting?.oldest),
    next_attempt_at: timeOrNull(waiting?.next),
    messages_per_minute: {
      now: Math.round(((traffic?.recent ?? 0) * 60_000 * 10) / PERIOD_MS) / 10,
      limit: findLowest(general, 'rate', rate),
    },
    connections: {
      now: connections.reduce((sum, row) => sum + Number(row.connections), 0),
      limit: sumLimits(connections) ?? findLowest(general, 'connections', open),
    },
    suspended_until: suspensions.length === 0 ? null : isoTime(Math.max(...suspensions)),
    limits: throttles.map(presentLimit),
    last_hour: {
      accepted: traffic?.accepted ?? 0,
      deferred: traffic?.deferred ?? 0,
      bounced: traffic?.bounced ?? 0,
    },
  };
}

const timeOrNull = (ms = Infinity): string | null => (Number.isFinite(ms) ? isoTime(ms) : null);

const KINDS = {
  suspend: 'suspended',
  rate: 'messages_per_minute',
  connections: 'connections',
  messages_per_connection: 'messages_per_connection',
} as const;

const presentLimit = (row: ThrottleRow) => ({
  kind: KINDS[row.kind],
  value: row.value,
  until: isoTime(row.until_at),
  reason: row.reason,
  set_by: readOrigin(row),
  sender_domain: row.sender_domain === '' ? null : row.sender_domain,
  stream: row.stream === '' ? null : row.stream,
  source: row.source === '' ? null : row.source,
  is_recovering: row.step > 0,
});

function findTitle(config: Config, { id, provider, servers }: Place): string {
  if (id === UNKNOWN) return 'Not looked up yet';
  if (provider !== '') return config.providers[provider]?.title ?? provider;
  return Object.hasOwn(config.relays, servers) ? `Relay ${servers}` : servers;
}

/** Returns the limits of the settings: messages a minute, and connections of one source. */
function readConfigured(config: Config, { provider, servers }: Place): { rate: number | null; open: number | null } {
  const settings = config.providers[provider];
  if (settings) return { rate: settings.messages_per_minute, open: settings.connections };
  const relay = config.relays[servers];
  if (relay) return { rate: relay.messages_per_minute, open: relay.max_connections };
  return { rate: null, open: servers === UNKNOWN ? null : config.delivery.max_connections_per_destination };
}

function findLowest(
  throttles: readonly ThrottleRow[],
  kind: ThrottleRow['kind'],
  configured: number | null,
): number | null {
  const values = throttles.flatMap((row) => (row.kind === kind ? (row.value ?? []) : []));
  const all = configured === null ? values : [configured, ...values];
  return all.length === 0 ? null : Math.min(...all);
}

/** Adds up the parts of all processes; undefined if there are none, or one has no limit. */
function sumLimits(connections: readonly ConnectionRow[]): number | undefined {
  const parts = connections.flatMap((row) => (row.connections_max === null ? [] : [Number(row.connections_max)]));
  if (parts.length === 0 || parts.length < connections.length) return undefined;
  return parts.reduce((sum, part) => sum + part, 0);
}

const OF_PROVIDER = [
  'connections',
  'connections_per_site',
  'messages_per_connection',
  'messages_per_minute',
  'message_burst',
  'connections_per_minute',
  'connection_burst',
  'idle_seconds',
  'address_family',
  'tls',
] as const;
const OF_RELAY = ['max_connections', 'max_messages_per_connection', 'messages_per_minute'] as const;
const OF_OTHERS = ['max_connections_per_destination', 'max_messages_per_connection', 'idle_seconds'] as const;

/** Lists the settings that limit a place, with the origin of each value. */
function listSettings(config: Config, { id, provider, servers }: Place) {
  const describe = (key: string, value: string | number | null) => ({
    key,
    value,
    origin: describeSetting(config, key),
  });
  const settings = config.providers[provider];
  if (settings) return OF_PROVIDER.map((field) => describe(`providers.${provider}.${field}`, settings[field]));
  const relay = config.relays[servers];
  if (relay) return OF_RELAY.map((field) => describe(`relays.${servers}.${field}`, relay[field]));
  if (id === UNKNOWN) return [];
  return OF_OTHERS.map((field) => describe(`delivery.${field}`, config.delivery[field]));
}
