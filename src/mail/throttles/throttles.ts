import {
  cutText,
  type Throttle,
  type ThrottledServers,
  type Throttles,
  type ThrottleTarget,
} from '../deliver/index.ts';
import { repeat } from '../../platform/clock.ts';
import type { ProviderPolicies, Reaction } from '../../platform/providers/index.ts';
import type { Store } from '../../platform/store.ts';
import { estimateOrganizationalDomain } from '../../protocol/organizational-domain.ts';
import { replyText, type Reply } from '../../protocol/smtp-reply/index.ts';
import {
  advanceThrottle,
  BY_BREAKER,
  isInForce,
  listThrottles,
  putThrottle,
  type ThrottleRow,
} from './throttles.store.ts';

/** Tells other processes that throttles have changed. */
export const THROTTLES_CHANGED = 'throttles changed';
/** Limits of other processes are read this often, in case a notice was lost. */
const RELOAD_MS = 10_000;
/** A limit is doubled after this time, until it is as it was. */
const STEP_MS = 5 * 60_000;
const STEPS_MAX = 5;
/** Messages per minute after a suspension. */
const RATE_AFTER_SUSPENSION = 20;
/** A reply that comes this soon after a limit began is about mail that was on its way already. */
const SETTLING_MS = 60_000;
const REASON_CHARS_MAX = 300;
/** The number of limits of receivers without a provider is bounded, because anybody may run any number of mail servers. */
const SITES_MAX = 1000;
/** Replies counted for rules that need several; the oldest places are forgotten first. */
const COUNTED_MAX = 10_000;

/** A limit of a circuit breaker whose time is over holds at least for this time, unless its breaker changes it. */
const OVERDUE_MS = 60_000;

/** A provider, or mail servers without one, and the sending domain whose mail is limited there or everywhere; empty: all mail. */
export type ThrottledPlace = Pick<ThrottleRow, 'provider' | 'servers' | 'sender_domain'>;

interface StoredThrottles extends Throttles {
  /** Lists everything that holds now. */
  list(): ThrottleRow[];
  /** Reads what other processes and operators have stored. */
  reload(): Promise<void>;
  /** Calls back when somebody ends a limit early, so that mail need not wait longer. */
  onLifted(notify: (place: ThrottledPlace) => void): void;
  /** Whether some throttles hold for single sending domains. */
  readonly isOfSenders: boolean;
  /** Loads what other processes and earlier runs have stored. */
  start(): Promise<void>;
  stop(): void;
  /** Resolves when everything noted so far is stored. */
  stored(): Promise<void>;
}

/**
 * Keeps the limits that hold for a while: applies the reactions of config/providers.toml to replies, stores them for a restart
 * and for the other nodes, and takes them back in steps. Replies that a rule needs several of are counted in this process.
 */
export function createThrottles(store: Store, policies: ProviderPolicies): StoredThrottles {
  const { db, clock, log, ids } = store;
  let byPlace = new Map<string, ThrottleRow[]>();
  const listeners = new Set<Parameters<Throttles['onChange']>[0]>();
  const liftListeners = new Set<(place: ThrottledPlace) => void>();
  const matches = new Map<string, number[]>();
  let cancelExpiry = (): void => {};
  let nextExpiryAt = Infinity;
  let stopHearing = (): void => {};
  let stopReloading = (): void => {};
  let writing: Promise<unknown> = Promise.resolve();
  let reloading: Promise<unknown> = Promise.resolve();
  const unstored = new Map<string, ThrottleRow>();

  /** Replaces all limits by those that are stored. */
  function adopt(rows: readonly ThrottleRow[]): void {
    const before = byPlace;
    byPlace = Map.groupBy(rows, toPlace);
    scheduleExpiry();
    announceChanges(before, new Set([...before.keys(), ...byPlace.keys()]));
  }

  /** Replaces the limits of one place, at a cost that does not depend on how many others there are. */
  function adoptAt(place: string, rows: ThrottleRow[]): void {
    const before = byPlace.get(place) ?? [];
    if (rows.length === 0) byPlace.delete(place);
    else byPlace.set(place, rows);
    if (rows.some((row) => row.until_at < nextExpiryAt)) scheduleExpiry();
    announceChanges(new Map([[place, before]]), new Set([place]));
  }

  function announceChanges(before: ReadonlyMap<string, readonly ThrottleRow[]>, places: ReadonlySet<string>): void {
    const changed = [...places].filter((place) => describe(before.get(place)) !== describe(byPlace.get(place)));
    if (changed.length === 0) return;
    const targets = changed.flatMap((place) => (byPlace.get(place) ?? before.get(place) ?? []).slice(0, 1));
    for (const notify of listeners) notify(targets.map(toChanged));
    const rows = changed.flatMap((place) => before.get(place) ?? []);
    for (const place of findLifted(rows, byPlace, clock.now())) lift(place);
  }

  function lift(place: ThrottledPlace): void {
    for (const notify of liftListeners) notify(place);
  }

  const all = (): ThrottleRow[] => [...byPlace.values()].flat();

  /** Ends a limit of the organization with most of them, so that one with any number of mail servers leaves room for the others. */
  function makeRoom(): void {
    const ofSites = all().filter(
      ({ provider, servers, reaction }) => provider === '' && servers !== '' && reaction !== '',
    );
    if (ofSites.length < SITES_MAX) return;
    const organizations = Map.groupBy(ofSites, ({ servers }) => estimateOrganizationalDomain(readFirstHost(servers)));
    const [most = []] = [...organizations.values()].toSorted((one, other) => other.length - one.length);
    const [dropped] = most.toSorted((one, other) => one.until_at - other.until_at);
    if (!dropped) return;
    const place = toPlace(dropped);
    adoptAt(
      place,
      (byPlace.get(place) ?? []).filter((row) => row !== dropped),
    );
    unstored.delete(toKey(dropped));
    write(() => advanceThrottle(db, dropped, undefined));
  }

  /** Reads what is stored: one read after the other, and after all earlier writes, so that none adopts older rows. */
  async function reload(): Promise<void> {
    const reading = reloading.then(async () => {
      let rows: ThrottleRow[];
      let written: Promise<unknown>;
      // A limit that begins while the rows are being read is not among them.
      do {
        written = writing;
        await written;
        rows = await listThrottles(db);
      } while (written !== writing);
      adopt([...rows.filter((row) => !unstored.has(toKey(row))), ...unstored.values()]);
      for (const row of unstored.values()) storeThrottle(row);
    });
    reloading = reading.catch(() => undefined);
    await reading;
    await advanceExpired();
  }

  /** Stores a limit. One that could not be stored holds in this process, and is stored after the next reload. */
  function storeThrottle(row: ThrottleRow): void {
    unstored.delete(toKey(row));
    write(
      () => putThrottle(db, row),
      () => void unstored.set(toKey(row), row),
    );
  }

  /** Writes in order, and never fails. */
  function write(what: () => Promise<unknown>, onFailure = (): void => undefined): void {
    writing = writing
      .then(what)
      .then(() => db.announce(THROTTLES_CHANGED))
      .catch((err: unknown) => {
        onFailure();
        log.error({ err }, 'a limit for a provider could not be stored; it is tried again');
      });
  }

  function scheduleExpiry(): void {
    cancelExpiry();
    nextExpiryAt = Infinity;
    for (const row of all()) if (row.reaction !== BY_BREAKER) nextExpiryAt = Math.min(nextExpiryAt, row.until_at);
    if (nextExpiryAt === Infinity) return;
    cancelExpiry = clock.timer(Math.max(0, nextExpiryAt - clock.now()), () => {
      advanceExpired().catch((err: unknown) => log.error({ err }, 'a limit for a provider could not be raised'));
    });
  }

  async function advanceExpired(): Promise<void> {
    const now = clock.now();
    const over = Map.groupBy(
      all().filter((row) => !isInForce(row, now)),
      toPlace,
    );
    if (over.size === 0) return scheduleExpiry();
    for (const [place, rows] of over) {
      const after = (byPlace.get(place) ?? []).filter((row) => !rows.includes(row));
      for (const row of rows) {
        const step = nextStep(row, { now, id: ids.uuid(), policies });
        // After a suspension, a lower rate that the receiver also asked for still holds, and a place has one limit of a kind.
        const isLimited = step !== undefined && after.some((other) => isStricter(other, step));
        const next = isLimited ? undefined : step;
        if (next) after.push(next);
        write(() => advanceThrottle(db, row, next));
      }
      adoptAt(place, after);
      // Mail that was given a later turn at the lower rate can leave sooner.
      const rate = rows.find(({ kind }) => kind === 'rate');
      if (rate) lift(rate);
    }
    scheduleExpiry();
    await writing;
  }

  /** Counts a match; returns whether the rule has as many as it needs. */
  function isEnough(place: string, { id, matches: needed, withinMs }: Reaction): boolean {
    if (needed <= 1) return true;
    const key = `${id}\n${place}`;
    const now = clock.now();
    const times = [...(matches.get(key) ?? []).filter((at) => at > now - withinMs), now].slice(-needed);
    matches.delete(key);
    if (times.length >= needed) return true;
    matches.set(key, times);
    for (const oldest of matches.size > COUNTED_MAX ? matches.keys() : []) {
      matches.delete(oldest);
      break;
    }
    return false;
  }

  function react(target: ThrottleTarget, reaction: Reaction, reply: Reply): void {
    const isOfSender = reaction.scope === 'sender';
    if (isOfSender && target.senderDomain === undefined) return;
    // Where customers write texts, a rule for every receiver says something about these mail servers alone.
    const isOfProvider =
      target.provider !== undefined &&
      (reaction.provider !== undefined || !policies.customerTexts.has(target.provider));
    const at = {
      source: isOfSender ? '' : target.source,
      provider: isOfProvider ? (target.provider ?? '') : '',
      servers: isOfProvider ? '' : (target.servers ?? ''),
      sender_domain: isOfSender ? (target.senderDomain ?? '') : '',
      stream: '' as const,
    };
    const place = toPlace(at);
    if (!isEnough(place, reaction)) return;
    const now = clock.now();
    const { kind, value } = readAction(reaction);
    const known = byPlace.get(place)?.find((row) => row.kind === kind);
    if (known && Math.abs(now - known.started_at) < SETTLING_MS) return;
    if (!known && at.provider === '') makeRoom();
    // A receiver that asks again while it is limited wants still less.
    const lowest =
      known?.value === undefined || known.value === null || value === null
        ? value
        : Math.min(value, Math.max(1, known.value / 2));
    const row: ThrottleRow = {
      id: ids.uuid(),
      ...at,
      kind,
      value: lowest,
      started_at: now,
      until_at: Math.max(now + reaction.durationMs, known?.until_at ?? 0),
      step: 0,
      reaction: reaction.id,
      reason: cutText(replyText(reply)).slice(0, REASON_CHARS_MAX),
    };
    adoptAt(place, [...(byPlace.get(place) ?? []).filter((one) => one !== known), row]);
    log.warn(
      {
        provider: at.provider || at.servers,
        source: at.source,
        kind,
        value: lowest,
        until: row.until_at,
        reply: row.reason,
      },
      'a receiver limits our mail',
    );
    storeThrottle(row);
  }

  return {
    list: () => all().filter((row) => isInForce(row, clock.now())),
    reload,
    onLifted: (notify) => void liftListeners.add(notify),
    get isEmpty() {
      return byPlace.size === 0;
    },
    get isOfSenders() {
      return all().some((row) => row.sender_domain !== '');
    },
    inForce(target) {
      if (byPlace.size === 0) return [];
      const now = clock.now();
      return placesFor(target)
        .flatMap((place) => byPlace.get(place) ?? [])
        .filter((row) => isInForce(row, now))
        .map((row) => toThrottle(row, now));
    },
    remainingMs: ({ until }) => Math.max(0, until - clock.now()),
    note(target, reply, cause) {
      for (const reaction of policies.reactionsTo(target.provider, reply, cause)) react(target, reaction, reply);
    },
    onChange(notify) {
      listeners.add(notify);
      return () => void listeners.delete(notify);
    },
    async start() {
      await reload();
      const safely = (): Promise<void> =>
        reload().catch((err: unknown) => log.error({ err }, 'the limits for providers could not be read'));
      stopHearing = db.onAnnounced(THROTTLES_CHANGED, () => void safely());
      stopReloading = repeat(clock, RELOAD_MS, safely);
    },
    stop() {
      stopHearing();
      stopReloading();
      cancelExpiry();
    },
    stored: async () => void (await writing),
  };
}

/** Describes the limits of a place, to compare them. */
const describe = (rows: readonly ThrottleRow[] = []): string =>
  rows
    .map(({ kind, value, until_at: until }) => `${kind} ${value} ${until}`)
    .toSorted()
    .join('\n');

const toChanged = ({ provider, servers }: ThrottleRow): ThrottledServers => ({
  provider: provider || undefined,
  servers: provider === '' ? servers : undefined,
});

/** Reads the first host of a set of mail servers; a relay has a name in parentheses, which is none. */
const readFirstHost = (servers: string): string => servers.split(' ')[0] ?? '';

const isStricter = (row: ThrottleRow, than: ThrottleRow): boolean =>
  row.kind === than.kind && toPlace(row) === toPlace(than) && (row.value ?? 0) <= (than.value ?? 0);

const toKey = (row: ThrottleRow): string => `${toPlace(row)}\n${row.kind}`;

type PlaceOf = Pick<ThrottleRow, 'source' | 'provider' | 'servers' | 'sender_domain' | 'stream'>;

const toPlace = ({ source, provider, servers, sender_domain: sender, stream }: PlaceOf): string =>
  [source, provider, servers, sender, stream].join('\n');

/** Lists the places whose throttles hold for this mail. */
function placesFor({ source, provider, servers, senderDomain, stream }: ThrottleTarget): string[] {
  const where = [
    ...(provider === undefined ? [] : [{ provider, servers: '' }]),
    ...(servers === undefined ? [] : [{ provider: '', servers }]),
  ];
  const mail = [
    ...where.map((place) => ({ ...place, sender_domain: '' })),
    ...(senderDomain === undefined
      ? []
      : [...where, { provider: '', servers: '' }].map((place) => ({ ...place, sender_domain: senderDomain }))),
  ];
  const streams = stream === undefined ? ([''] as const) : (['', stream] as const);
  return ['', source].flatMap((one) =>
    mail.flatMap((place) => streams.map((oneStream) => toPlace({ source: one, ...place, stream: oneStream }))),
  );
}

/** Lists the places where a limit is over before its time, once each. */
function findLifted(
  before: readonly ThrottleRow[],
  after: ReadonlyMap<string, readonly ThrottleRow[]>,
  now: number,
): ThrottledPlace[] {
  const holds = (row: ThrottleRow): boolean =>
    (after.get(toPlace(row)) ?? []).some(
      (other) =>
        other.kind === row.kind &&
        other.until_at >= row.until_at &&
        (row.reaction !== BY_BREAKER || (other.value ?? 0) <= (row.value ?? 0)),
    );
  const lifted = before.filter((row) => isInForce(row, now) && !holds(row));
  const places = lifted.map(({ provider, servers, sender_domain: sender }) => [provider, servers, sender] as const);
  return [...new Map(places.map((place) => [place.join('\n'), place])).values()].map(([provider, servers, sender]) => ({
    provider,
    servers,
    sender_domain: sender,
  }));
}

/** Reads a row as delivery knows it. */
export const toThrottle = (row: ThrottleRow, now: number): Throttle => ({
  place: toPlace(row),
  kind: row.kind,
  value: row.value ?? undefined,
  until: row.reaction === BY_BREAKER ? Math.max(row.until_at, now + OVERDUE_MS) : row.until_at,
  reason: row.reason,
  setBy: readOrigin(row),
  ...(row.sender_domain === '' ? {} : { senderDomain: row.sender_domain }),
  ...(row.stream === '' ? {} : { stream: row.stream }),
  isEverywhere: row.provider === '' && row.servers === '',
});

/** Returns who or what set a limit. */
export function readOrigin({ reaction }: Pick<ThrottleRow, 'reaction'>): Throttle['setBy'] {
  if (reaction === '') return 'operator';
  return reaction === BY_BREAKER ? 'breaker' : 'reply';
}

function readAction({ action }: Reaction): Pick<ThrottleRow, 'kind' | 'value'> {
  switch (action.kind) {
    case 'suspend':
      return { kind: 'suspend', value: null };
    case 'rate':
      return { kind: 'rate', value: action.messagesPerMinute };
    case 'connections':
      return { kind: 'connections', value: action.connections };
    case 'messages_per_connection':
      return { kind: 'messages_per_connection', value: action.messages };
  }
}

/**
 * Returns the next step of a limit whose time is over: twice as much, until it is as it was. A limit that is lifted at once
 * brings the same refusal again.
 */
function nextStep(
  row: ThrottleRow,
  { now, id, policies }: { now: number; id: string; policies: ProviderPolicies },
): ThrottleRow | undefined {
  const step = row.step + 1;
  if (step > STEPS_MAX || row.reaction === '' || row.reaction === BY_BREAKER) return undefined;
  const raised = row.kind === 'suspend' ? RATE_AFTER_SUSPENSION : (row.value ?? 0) * 2;
  const kind = row.kind === 'suspend' ? 'rate' : row.kind;
  const limits = policies.all.find(({ name }) => name === row.provider)?.limits ?? policies.defaults;
  const usual = {
    suspend: Infinity,
    rate: limits.messagesPerMinute ?? Infinity,
    connections: limits.connections ?? limits.connectionsPerSite,
    messages_per_connection: limits.messagesPerConnection,
  }[kind];
  if (raised >= usual) return undefined;
  // Steps that passed while no process ran are not made up for.
  return { ...row, id, kind, value: raised, started_at: now, until_at: now + STEP_MS, step };
}
