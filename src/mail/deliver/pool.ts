import type { Clock } from '../../platform/clock.ts';
import type { Provider, ProviderLimits } from '../../platform/providers/index.ts';
import type { Reply, ReplyCause } from '../../protocol/smtp-reply/index.ts';
import { BackOff } from './back-off.ts';
import { Capacity } from './capacity.ts';
import { Concurrency } from './concurrency.ts';
import type { Deferral, JobOutcome, RecipientOutcome } from './delivery-job.ts';
import type { Ending } from './ending.ts';
import type { Route, Target } from './mx-route.ts';
import { asDown } from './opening-outcome.ts';
import { MessageRate } from './rate.ts';
import { relayKey } from './relay.ts';
import type { RoutedJob } from './source.ts';
import { Site, STOPPING, type Lease as SiteLease, type PooledSession } from './site.ts';
import type { Opened } from './smtp-session.ts';
import type { MailStream, Throttle, ThrottledServers, ThrottleTarget, Throttles } from './throttles.ts';
import { describeThrottle, findMailStream, NO_THROTTLES } from './throttles.ts';
import { toTenant } from './waiters-by-tenant.ts';

/** The mail servers that a job goes to, and the limits that hold there. */
export interface Location {
  /** The sending address or relay that the mail leaves by; limits are counted for each. */
  source: string;
  /** Name of the set of mail servers: their host names, sorted. */
  servers: string;
  /** The order in which they are tried. */
  order: string;
  provider: Provider | undefined;
  limits: ProviderLimits;
  /** Differs if the policies of the recipient's domain demand something else of the servers. */
  tls: string;
  /** The job, with the TLS policy and the address families that hold there. */
  job: RoutedJob;
  route: () => Promise<Route>;
}

/** This process's part of the limits that several processes share. */
export interface Parts {
  partOf(limit: number, kind: 'connections' | 'rate'): number;
  /** Calls back when parts change; the returned function ends that. */
  onChange(notify: () => void): () => void;
}

/** A domain that mail goes to, with its TLS policies. Domains with the same mail servers share a site. */
export type Destination = Pick<RoutedJob, 'domain' | 'policies'>;

/** A connection for one transaction, and the destination as it was located; or why there is none. */
export type Lease = { kind: 'lease'; session: PooledSession; destination: Destination } | JobOutcome;

export interface PoolOptions {
  limits: { connectionsTotalMax: number; connectionsPerAddressMax: number; openMs: number };
  /** Finds the mail servers of a job, or says why there are none. */
  locate: (job: RoutedJob) => Promise<Location | JobOutcome>;
  open: (job: RoutedJob, target: Target, skipTls: boolean, openMs: number, signal: AbortSignal) => Promise<Opened>;
  /** Called before a connection is opened, with the destinations whose mail waits for it. */
  onOpening?: ((waiting: readonly Destination[]) => void) | undefined;
  /** Called when a mail server could not be connected to, with the destinations whose mail waited for it. */
  onOpeningFailed?: ((waiting: readonly Destination[], target: Target, opened: Opened) => void) | undefined;
  /** Returns the provider that a mail server belongs to by its name. */
  findProvider?: ((host: string) => Provider | undefined) | undefined;
  throttles?: Throttles | undefined;
  /** Called with the outcomes of each transaction and where it took place. */
  onOutcomes?: ((target: SiteTarget, outcomes: readonly RecipientOutcome[]) => void) | undefined;
  parts?: Parts | undefined;
  clock: Clock;
  now: () => number;
  random: () => number;
  quitMs: number;
}

export interface PoolStats {
  sites: number;
  connections: number;
  idle: number;
  waiting: number;
  down: number;
}

/** The present state of a provider, or of mail servers without one. */
export interface Traffic extends ThrottleTarget {
  title: string;
  connections: number;
  connectionsMax: number;
  messagesPerMinute: number | undefined;
  waiting: number;
}

/** The fields that deliveries must have in common to go to the same place. */
export type Place = Pick<RoutedJob, 'domain' | 'region' | 'tls' | 'ignoresPolicies' | 'families' | 'relay' | 'from'>;

/** The reason why mail to a place is not tried now: its servers failed a moment ago, or it waits until a time. */
export type Obstacle = { kind: 'down' } | { kind: 'suspended'; untilMs: number };

const SWEEP_EVERY = 256;
/** The largest number of addresses of providers that are remembered. */
const OWNERS_MAX = 10_000;
/** The mail servers of a domain are looked up again after this time. */
const LOCATION_MS = 30_000;
/** A message that got its turn this long ago, and waited for a connection since then, takes another one. */
const TURN_MS = 1_000;
/** A process without a connection asks again after this time. */
const NO_CONNECTION_MS = 20_000;
/** The part of a limit that is used, so that a receiver never counts more although clocks and networks shift messages. */
const USED_SHARE = 0.95;

const toKey = (place: Place): string =>
  relayKey(place) ??
  `${place.domain} ${place.region} ${place.tls} ${place.ignoresPolicies ? 'without policies' : ''} ${place.families} ${place.from?.name ?? ''}`;

/** One set of mail servers, and the provider that it belongs to. */
export type SiteTarget = ThrottleTarget & { servers: string };

/** A delivery that wants a connection. */
interface Wanted {
  tenant: string;
  signal: AbortSignal;
  fresh: boolean;
  sender: Sender;
}

/** The sending domain and the stream of mail, as far as limits depend on them. */
interface Sender {
  senderDomain: string | undefined;
  stream: MailStream;
}

/** The result of the last look-up of a place. */
interface Known {
  site: Located | undefined;
  destination: Destination;
  until: number;
  failures: BackOff<JobOutcome>;
}

/** Everything that counts at one provider or one set of mail servers. */
interface Shared {
  target: ThrottleTarget;
  title: string;
  capacity: Capacity;
  concurrency: Concurrency;
  rate: MessageRate | undefined;
  limits: ProviderLimits;
  isProvider: boolean;
  /** The mail servers belong to a provider, which has most of the limits. */
  isMember: boolean;
  messagesPerConnectionMax: number;
  hasBeenSuspended: boolean;
  /** Connections of this process that the settings and throttles allow. */
  connectionsMax: number;
}

interface Located {
  site: Site;
  servers: Shared;
  provider: Shared | undefined;
  /** The providers of single servers, where the set as a whole belongs to none. */
  owners: readonly Shared[];
  target: SiteTarget;
  title: string;
  location: Location;
  /** Counts the deliveries that wait for a connection. */
  waiting: Map<Destination, number>;
}

/** A place that was looked up. */
type Found = Known & { site: Located };

/**
 * The connections of a process. Domains with the same mail servers share a site; sites of one provider share its limits. A
 * delivery asks for a connection, waits at its site if there is none, and returns to the queue at once if it would wait for long.
 */
export class Pool {
  #options: PoolOptions;
  #throttles: Throttles;
  #process: Capacity;
  #known = new Map<string, Known>();
  #sites = new Map<string, Located>();
  #shared = new Map<string, Shared>();
  #addresses = new Map<string, Capacity>();
  /** Maps addresses of mail servers to their providers: anybody may give these addresses other names. */
  #owners = new Map<string, Provider>();
  #bySite = new WeakMap<Site, Located>();
  #isClosing = false;
  #onFewer = (): void => {};
  /** The rates of sending domains, by the place of their limit, and the mail that each was last asked for. */
  #senderRates = new Map<string, { rate: MessageRate; target: ThrottleTarget }>();
  #stopListening: () => void;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#throttles = options.throttles ?? NO_THROTTLES;
    const { connectionsTotalMax } = options.limits;
    this.#process = new Capacity({
      ...options,
      connectionsMax: connectionsTotalMax,
      openingsMax: Math.ceil(connectionsTotalMax / 2),
      timesFree: 1,
    });
    const stops = [
      this.#throttles.onChange((changed) => this.#applyLimits(changed)),
      options.parts?.onChange(() => this.#applyLimits()),
    ];
    this.#stopListening = () => stops.forEach((stop) => stop?.());
  }

  /** Leases a connection for one transaction of the job, or says why there is none. `fresh` passes over idle connections. */
  async acquire(job: RoutedJob, signal: AbortSignal, fresh: boolean): Promise<Lease> {
    const place = this.#recall(job) ?? (await this.#locate(job));
    if ('kind' in place) return place;
    const { site: found, destination } = place;
    const tenant = toTenant(job);
    const sender = toSender(job);
    for (;;) {
      const suspended = this.#findSuspension(found, sender);
      if (suspended) return suspended;
      const rates = this.#listRates(found, sender);
      // Another process has all connections that the limit allows until the next turn.
      if ([found.provider, found.servers].some((one) => one && one.connectionsMax < 1))
        return this.#throttled(found, sender, NO_CONNECTION_MS);
      const lease =
        rates.length === 0
          ? await this.#await(place, { tenant, signal, fresh, sender })
          : await this.#acquireInTurn(place, rates, { tenant, signal, fresh, sender });
      if (lease.kind !== 'lease') return lease;
      // A limit that began while the message waited for a connection holds for it too.
      const isSuspended = this.#findThrottle(found, sender) !== undefined;
      if (!isSuspended && this.#listRates(found, sender).every((rate) => rates.includes(rate)))
        return { ...lease, destination };
      found.site.release(tenant, lease.session, undefined);
    }
  }

  /** Lists the rates that hold for this mail now. */
  #listRates(found: Located, sender: Sender): MessageRate[] {
    return [
      ...this.#listSenderRates(found, sender),
      found.provider?.rate,
      ...found.owners.map(({ rate }) => rate),
      found.servers.rate,
    ].filter((rate) => rate !== undefined);
  }

  /** Waits for the turns that the rates give, and then for a connection; a turn that passed meanwhile is taken again. */
  async #acquireInTurn(place: Found, rates: readonly MessageRate[], wanted: Wanted): Promise<SiteLease> {
    const { now } = this.#options;
    const { site: found } = place;
    const { tenant, signal, sender } = wanted;
    const from = now();
    const turns = await this.#takeTurns(found, rates, wanted);
    if ('kind' in turns) return turns;
    const lease = await this.#await(place, wanted);
    if (lease.kind !== 'lease' || now() - from <= TURN_MS) return lease;
    for (const [rate, number] of turns) {
      const turn = await rate.takeAgain(tenant, number, signal);
      if (turn.kind === 'now') continue;
      found.site.release(tenant, lease.session, undefined);
      return turn.kind === 'later' ? this.#throttled(found, sender, turn.afterMs) : STOPPING;
    }
    return lease;
  }

  /** Waits for a connection. */
  async #await({ site: found, destination }: Found, { tenant, signal, fresh }: Wanted): Promise<SiteLease> {
    const { waiting } = found;
    waiting.set(destination, (waiting.get(destination) ?? 0) + 1);
    try {
      return await found.site.acquire(tenant, signal, fresh);
    } finally {
      const left = (waiting.get(destination) ?? 0) - 1;
      if (left > 0) waiting.set(destination, left);
      else waiting.delete(destination);
    }
  }

  async #takeTurns(
    found: Located,
    rates: readonly MessageRate[],
    { tenant, signal, sender }: Wanted,
  ): Promise<Map<MessageRate, number> | JobOutcome> {
    const entered: MessageRate[] = [];
    const turns = new Map<MessageRate, number>();
    try {
      for (const rate of rates) {
        const later = rate.enter(tenant);
        if (later) return this.#throttled(found, sender, later.afterMs);
        entered.push(rate);
      }
      for (const rate of rates) {
        const turn = await rate.take(tenant, signal);
        if (turn.kind === 'later') return this.#throttled(found, sender, turn.afterMs);
        if (turn.kind === 'stopped') return STOPPING;
        turns.set(rate, turn.number);
      }
      return turns;
    } finally {
      for (const rate of entered) rate.leave(tenant);
    }
  }

  /** Returns a leased session and says how its transaction ended. */
  release(job: RoutedJob, session: PooledSession, ending: Ending | undefined): void {
    session.site.release(toTenant(job), session, ending);
  }

  /** Records the outcomes of a transaction; their replies may slow the place down. */
  noteOutcomes(job: RoutedJob, session: PooledSession, outcomes: readonly RecipientOutcome[]): void {
    const found = this.#bySite.get(session.site);
    if (!found) return;
    this.#options.onOutcomes?.(found.target, outcomes);
    // Recipients that were refused by one reply share it.
    const noted = new Set<Reply>();
    for (const outcome of outcomes) {
      if (outcome.kind !== 'deferred' && outcome.kind !== 'bounced') continue;
      if (outcome.reply === undefined || noted.has(outcome.reply)) continue;
      noted.add(outcome.reply);
      const target = { ...found.target, senderDomain: job.senderDomain };
      this.#throttles.note(target, withoutNames(outcome.reply, job, found.target.servers), outcome.cause);
    }
  }

  /** Records a reply that ended a session before the transaction began. */
  noteReply(job: RoutedJob, session: PooledSession, reply: Reply, cause: ReplyCause | undefined): void {
    const found = this.#bySite.get(session.site);
    if (found)
      this.#throttles.note(
        { ...found.target, senderDomain: job.senderDomain },
        withoutNames(reply, job, found.target.servers),
        cause,
      );
  }

  /** Returns why mail to this place would not be tried now; undefined if it would, or if nothing is known of the place. */
  findObstacle(
    place: Place & Pick<RoutedJob, 'teamId' | 'isMarketing' | 'isBulk' | 'senderDomain'>,
  ): Obstacle | undefined {
    const known = this.#known.get(toKey(place));
    if (!known) return undefined;
    const { site: found } = known;
    if (!found) return known.failures.why ? { kind: 'down' } : undefined;
    const suspension = this.#findThrottle(found, toSender(place));
    if (suspension) return { kind: 'suspended', untilMs: suspension.until };
    return found.site.findDeferral(toTenant(place)) ? { kind: 'down' } : undefined;
  }

  /** Returns where mail of a job goes; undefined if its mail servers have not been found. */
  findTarget(job: RoutedJob): SiteTarget | undefined {
    return this.#known.get(toKey(job))?.site?.target;
  }

  #recall(job: RoutedJob): Found | JobOutcome | undefined {
    const known = this.#known.get(toKey(job));
    if (!known) return undefined;
    if (isFound(known) && known.until > this.#options.now()) return known;
    return known.site === undefined && known.failures.why ? asDown(known.failures.why) : undefined;
  }

  async #locate(job: RoutedJob): Promise<Found | JobOutcome> {
    const key = toKey(job);
    const location = await this.#options.locate(job);
    if (this.#isClosing) return STOPPING;
    if (this.#known.size % SWEEP_EVERY === SWEEP_EVERY - 1) this.#sweep();
    const known = this.#known.get(key) ?? {
      site: undefined,
      destination: { domain: job.domain },
      until: 0,
      failures: new BackOff<JobOutcome>(this.#options),
    };
    this.#known.set(key, known);
    if ('kind' in location) {
      known.site = undefined;
      // A domain that takes no mail is no failure: its mail bounces each time, as its DNS says then.
      if (location.kind === 'deferred') known.failures.failedTogether(location);
      return location;
    }
    known.failures.answered();
    known.failures.worked();
    const site = this.#findSite(location);
    known.until = this.#options.now() + LOCATION_MS;
    known.destination = { domain: job.domain, policies: location.job.policies };
    return Object.assign(known, { site });
  }

  #findSite(location: Location): Located {
    const { source, servers, order, provider, limits, tls, job } = location;
    const key = `${source}\n${servers}\n${order}\n${provider?.name ?? ''}\n${job.relay ? '' : `${job.tls} ${job.families}`}\n${tls}`;
    const known = this.#sites.get(key);
    if (known) {
      known.location = location;
      return known;
    }
    if (this.#sites.size % SWEEP_EVERY === SWEEP_EVERY - 1) this.#sweep();
    const shared = this.#findShared(location, false);
    const ofProvider = provider && this.#findShared(location, true);
    const owners = provider || job.relay ? [] : this.#findOwners(location);
    const { openMs } = this.#options.limits;
    const { clock, now, random, quitMs, onOpening, onOpeningFailed } = this.#options;
    const target = { source, provider: provider?.name, servers };
    const waiting = new Map<Destination, number>();
    const located: Located = {
      location,
      waiting,
      servers: shared,
      provider: ofProvider,
      owners,
      target,
      title: provider?.title ?? describeServers(servers),
      site: new Site({
        capacities: [this.#process, ...(ofProvider ? [ofProvider.capacity] : []), shared.capacity],
        findPlaces: (where) => this.#findPlaces(location, where),
        concurrency: shared.concurrency,
        onConcurrency: () => this.#applyConnections(shared),
        route: () => {
          onOpening?.([...waiting.keys()]);
          return located.location.route();
        },
        open: async (where, skipTls, leftMs, signal) => {
          const opened = await this.#options.open(located.location.job, where, skipTls, leftMs, signal);
          if (opened.kind === 'failed') onOpeningFailed?.([...waiting.keys()], where, opened);
          return opened;
        },
        onRefusal: (reply, cause) => this.#throttles.note({ ...target, senderDomain: undefined }, reply, cause),
        messagesPerConnectionMax: () =>
          Math.min(
            shared.messagesPerConnectionMax,
            ...[ofProvider, ...owners].map((one) => one?.messagesPerConnectionMax ?? Infinity),
          ),
        idleMs: () => limits.idleMs,
        openMs,
        quitMs,
        clock,
        now,
        random,
        onFewer: () => this.#onFewer(),
      }),
    };
    this.#sites.set(key, located);
    this.#bySite.set(located.site, located);
    return located;
  }

  #findShared(
    { source, servers, provider, limits }: Pick<Location, 'source' | 'servers' | 'provider' | 'limits'>,
    isProvider: boolean,
  ): Shared {
    const key = isProvider
      ? `provider ${source}\n${provider?.name}`
      : `servers ${source}\n${servers}\n${provider?.name ?? ''}`;
    const known = this.#shared.get(key);
    if (known) return known;
    const connectionsMax = isProvider ? (limits.connections ?? Infinity) : limits.connectionsPerSite;
    const made: Shared = {
      target: isProvider
        ? { source, provider: provider?.name, servers: undefined }
        : { source, provider: undefined, servers },
      isMember: provider !== undefined,
      title: provider?.title ?? describeServers(servers),
      capacity: new Capacity({ ...this.#options, connectionsMax }),
      concurrency: new Concurrency(connectionsMax),
      rate: undefined,
      limits,
      isProvider,
      messagesPerConnectionMax: limits.messagesPerConnection,
      hasBeenSuspended: false,
      connectionsMax,
    };
    this.#shared.set(key, made);
    this.#applyTo(made);
    return made;
  }

  /**
   * Returns what a connection to a mail server counts for, in addition to its site: its address, and the provider that its name or
   * address belongs to, if the site as a whole does not; or the reason why that provider gets no connection now.
   */
  #findPlaces({ source, provider, job }: Location, { host, address, port }: Target): Capacity[] | Deferral {
    const own = this.#findAddress(`${source} ${address}:${port}`, job);
    if (job.relay) return [own];
    const owner = this.#findOwner(host, address);
    if (provider || !owner) return [own];
    const shared = this.#findShared({ source, servers: host, provider: owner, limits: owner.limits }, true);
    const suspension = this.#listThrottles(shared).find(({ kind }) => kind === 'suspend');
    if (suspension) return this.#toDeferral(shared.title, suspension);
    if (shared.connectionsMax >= 1) return [shared.capacity, own];
    const detail = `Mail to ${shared.title} waits for its turn`;
    return { kind: 'deferred', reason: 'throttled', detail, retryAfterMs: NO_CONNECTION_MS };
  }

  /** Finds the providers that single servers of a set belong to by their names. */
  #findOwners({ source, servers }: Location): Shared[] {
    const owners = servers.split(' ').map((host) => this.#options.findProvider?.(host));
    return [...new Set(owners)].flatMap((owner) =>
      owner ? this.#findShared({ source, servers, provider: owner, limits: owner.limits }, true) : [],
    );
  }

  /** Finds the provider of a mail server by its name, or by a name of the provider that had the same address. */
  #findOwner(host: string, address: string): Provider | undefined {
    const owner = this.#options.findProvider?.(host);
    if (!owner) return this.#owners.get(address);
    this.#owners.delete(address);
    this.#owners.set(address, owner);
    const [oldest] = this.#owners.keys();
    if (this.#owners.size > OWNERS_MAX && oldest !== undefined) this.#owners.delete(oldest);
    return owner;
  }

  #findAddress(key: string, job: RoutedJob): Capacity {
    const known = this.#addresses.get(key);
    if (known) return known;
    if (this.#addresses.size % SWEEP_EVERY === SWEEP_EVERY - 1) forgetQuietOnes(this.#addresses);
    const connectionsMax = job.relay?.connectionsMax ?? this.#options.limits.connectionsPerAddressMax;
    const made = new Capacity({ ...this.#options, connectionsMax, probesMax: 2 });
    this.#addresses.set(key, made);
    return made;
  }

  /** Applies the limits of this moment where they have changed; by default everywhere. */
  #applyLimits(changed?: readonly ThrottledServers[]): void {
    const providers = new Set(changed?.map(({ provider }) => provider));
    const servers = new Set(changed?.map((one) => one.servers));
    const isConcerned = ({ target }: { target: ThrottleTarget }): boolean =>
      changed === undefined ||
      (target.provider !== undefined && providers.has(target.provider)) ||
      (target.servers !== undefined && servers.has(target.servers));
    for (const shared of this.#shared.values()) if (isConcerned(shared)) this.#applyTo(shared);
    for (const located of this.#sites.values()) {
      // Mail of a single sending domain finds out when it has its connection.
      const suspended = isConcerned(located) ? this.#listSuspensions(located.target)[0] : undefined;
      if (suspended) located.site.refuseWaiting(this.#toDeferral(located.title, suspended));
    }
    this.#forgetSenderRates();
  }

  #applyTo(shared: Shared): void {
    const { limits, isProvider } = shared;
    // A throttle of a provider holds for all its sites together, and one of mail servers without a provider for those.
    const throttles = this.#listThrottles(shared);
    const isSuspended = throttles.some(({ kind }) => kind === 'suspend');
    if (shared.hasBeenSuspended && !isSuspended) shared.concurrency.startSlowly();
    shared.hasBeenSuspended = isSuspended;
    const isRated = isProvider || !shared.isMember;
    const perMinute = findLeast(throttles, 'rate', isRated ? limits.messagesPerMinute : undefined);
    this.#applyRate(shared, perMinute, perMinute === limits.messagesPerMinute ? limits.messageBurst : 1);
    shared.messagesPerConnectionMax =
      findLeast(throttles, 'messages_per_connection', limits.messagesPerConnection) ?? Infinity;
    this.#applyConnections(shared);
    if (isSuspended) shared.rate?.sendAway();
  }

  #applyRate(shared: Shared, perMinute: number | undefined, burst: number): void {
    if (perMinute === undefined) {
      shared.rate?.sendAway();
      shared.rate = undefined;
      return;
    }
    const own = Math.max(this.#partOf(perMinute, 'rate') * USED_SHARE, 1e-3);
    if (shared.rate) shared.rate.change(own, burst);
    else shared.rate = new MessageRate(own, burst, this.#options);
  }

  #applyConnections(shared: Shared): void {
    const { limits, isProvider, capacity, concurrency } = shared;
    const configured = isProvider ? (limits.connections ?? Infinity) : limits.connectionsPerSite;
    const max = findLeast(this.#listThrottles(shared), 'connections', configured) ?? Infinity;
    const own = Number.isFinite(max) ? this.#partOf(max, 'connections') : max;
    shared.connectionsMax = own;
    concurrency.max = Math.max(1, own);
    const connects = isProvider || !shared.isMember ? limits.connectionsPerMinute : undefined;
    const allowed = isProvider ? own : Math.min(own, concurrency.allowed);
    capacity.change(
      // Sites with one mail server of a suspended provider wait too.
      shared.hasBeenSuspended ? 0 : allowed,
      connects === undefined
        ? undefined
        : { perMinute: this.#partOf(connects, 'rate') * USED_SHARE, burst: limits.connectionBurst },
    );
  }

  #partOf(limit: number, kind: 'connections' | 'rate'): number {
    return this.#options.parts?.partOf(limit, kind) ?? limit;
  }

  #listThrottles({ target }: Shared): readonly Throttle[] {
    return this.#throttles.inForce(target);
  }

  /** Returns the suspension of this mail that ends last. */
  #findThrottle({ target }: Located, sender: Sender): Throttle | undefined {
    if (this.#throttles.isEmpty) return undefined;
    return this.#listSuspensions({ ...target, ...sender }).toSorted((a, b) => b.until - a.until)[0];
  }

  #listSuspensions(target: ThrottleTarget): Throttle[] {
    return this.#throttles.inForce(target).filter(({ kind }) => kind === 'suspend');
  }

  #findSuspension(found: Located, sender: Sender): Deferral | undefined {
    const throttle = this.#findThrottle(found, sender);
    return throttle && this.#toDeferral(found.title, throttle);
  }

  #toDeferral(title: string, suspension: Throttle): Deferral {
    return {
      kind: 'deferred',
      reason: 'suspended',
      detail: describeThrottle(title, suspension),
      retryAfterMs: this.#throttles.remainingMs(suspension),
    };
  }

  /**
   * Lists the rates of a sending domain, because a provider complained about its reputation or a circuit breaker limits it. All
   * mail that a limit holds for shares one rate, whatever receivers it goes to.
   */
  #listSenderRates({ target }: Located, sender: Sender): MessageRate[] {
    if (this.#throttles.isEmpty || sender.senderDomain === undefined) return [];
    const asked = { ...target, ...sender };
    return this.#throttles.inForce(asked).flatMap(({ kind, value, senderDomain, place }) => {
      if (kind !== 'rate' || value === undefined || senderDomain === undefined) return [];
      const own = Math.max(this.#partOf(value, 'rate') * USED_SHARE, 1e-3);
      const rate = this.#senderRates.get(place)?.rate ?? new MessageRate(own, 1, this.#options);
      rate.change(own, 1);
      this.#senderRates.set(place, { rate, target: asked });
      return [rate];
    });
  }

  /** Forgets rates of sending domains that are over. Their mail continues at once. */
  #forgetSenderRates(): void {
    for (const [place, { rate, target }] of this.#senderRates) {
      const isOver = !this.#throttles.inForce(target).some((one) => one.kind === 'rate' && one.place === place);
      if (!isOver) continue;
      this.#senderRates.delete(place);
      rate.sendAway();
    }
  }

  #throttled(found: Located, sender: Sender, afterMs: number): Deferral {
    const suspended = this.#findSuspension(found, sender);
    if (suspended) return suspended;
    const { target, provider, servers, owners } = found;
    const owner = owners.find(({ rate }) => rate !== undefined);
    const throttle =
      this.#throttles.inForce({ ...target, ...sender }).find(({ kind }) => kind === 'rate') ??
      (owner && this.#listThrottles(owner).find(({ kind }) => kind === 'rate'));
    const perMinute = (provider ?? owner ?? servers).limits.messagesPerMinute;
    const title = owner?.title ?? found.title;
    const detail =
      perMinute === undefined
        ? `Mail to ${title} waits for its turn`
        : `${title} is limited to ${perMinute} messages per minute`;
    return {
      kind: 'deferred',
      reason: 'throttled',
      detail: throttle ? describeThrottle(title, throttle) : detail,
      retryAfterMs: afterMs,
    };
  }

  #sweep(): void {
    const now = this.#options.now();
    for (const [key, { site, until, failures }] of this.#known)
      if (failures.isForgettable && (site === undefined || until <= now)) this.#known.delete(key);
    const used = new Set([...this.#known.values()].map(({ site }) => site));
    for (const [key, located] of this.#sites)
      if (
        !used.has(located) &&
        located.site.isForgettable &&
        [located.servers, located.provider, ...located.owners].every(isRateQuiet)
      )
        this.#sites.delete(key);
    const shared = new Set(
      [...this.#sites.values()].flatMap(({ servers, provider, owners }) => [servers, provider, ...owners]),
    );
    for (const [key, one] of this.#shared) if (!shared.has(one) && one.capacity.isForgettable) this.#shared.delete(key);
  }

  stats(): PoolStats {
    const stats: PoolStats = { sites: this.#sites.size, connections: 0, idle: 0, waiting: 0, down: 0 };
    for (const { site } of this.#sites.values()) {
      const { idle, waiting, isDown } = site.counts;
      stats.connections += site.connections;
      stats.idle += idle;
      stats.waiting += waiting;
      if (isDown) stats.down += 1;
    }
    for (const { site, failures } of this.#known.values()) if (site === undefined && failures.why) stats.down += 1;
    return stats;
  }

  /** Returns what happens at each provider, and at each set of mail servers without one. */
  traffic(): Traffic[] {
    const waiting = new Map<Shared, number>();
    for (const { site, servers, provider } of this.#sites.values()) {
      const shared = provider ?? servers;
      waiting.set(shared, (waiting.get(shared) ?? 0) + site.counts.waiting);
    }
    return [...waiting].map(([shared, count]) => ({
      ...shared.target,
      title: shared.title,
      connections: shared.capacity.connections,
      connectionsMax: shared.capacity.connectionsMax,
      messagesPerMinute: findLeast(this.#listThrottles(shared), 'rate', shared.limits.messagesPerMinute),
      waiting: count,
    }));
  }

  /** Transactions under way may end within the grace; then their connections are cut. */
  async close(graceMs: number): Promise<void> {
    this.#isClosing = true;
    this.#stopListening();
    for (const { site } of this.#sites.values()) site.stop();
    for (const { rate } of this.#shared.values()) rate?.stop();
    for (const { rate } of this.#senderRates.values()) rate.stop();
    await this.#untilEmpty(graceMs);
    for (const { site } of this.#sites.values()) site.abandon();
    await this.#untilEmpty(this.#options.quitMs);
  }

  async #untilEmpty(limitMs: number): Promise<void> {
    const isEmpty = (): boolean => [...this.#sites.values()].every(({ site }) => site.connections === 0);
    if (limitMs <= 0 || isEmpty()) return;
    await new Promise<void>((done) => {
      const cancel = this.#options.clock.timer(limitMs, done);
      this.#onFewer = () => {
        if (!isEmpty()) return;
        cancel();
        done();
      };
    });
  }
}

const toSender = (job: Pick<RoutedJob, 'senderDomain' | 'isMarketing'>): Sender => ({
  senderDomain: job.senderDomain,
  stream: findMailStream(job),
});

/** An address that is quoted or in angle brackets, no longer than one can be: a long text takes no longer than its length. */
const ADDRESS = /"(?:[^"\\]|\\.){0,320}"@[^\s>,;)]{1,255}|<[^<>]*>/g;
/** A word, which is an address if it has an @. */
const WORD = /[^\s<>"(:,;)]+/g;
/** Words before text that another server said. */
const QUOTATION = /\b(?:said|response to|responded with|replied)\b/i;
/** A server may write a megabyte; what it says about limits is in the beginning. */
const NOTED_CHARS_MAX = 2000;
/** More is read than is kept, because addresses become shorter. */
const READ_CHARS_MAX = NOTED_CHARS_MAX + 600;

/** Returns the beginning of a long text, without a last word that may be half an address. */
function cutAtWord(text: string): string {
  if (text.length <= READ_CHARS_MAX) return text;
  const beginning = text.slice(0, READ_CHARS_MAX);
  return beginning.slice(0, Math.max(beginning.lastIndexOf(' '), beginning.lastIndexOf('\n'), 0));
}

/**
 * Returns the beginning of a reply without the words that a sender or a recipient chose and the server repeats: they must not bring
 * about a limit, and no other team may read them.
 */
function withoutNames(reply: Reply, { recipients, mailFrom, senderDomain, domain }: RoutedJob, servers: string): Reply {
  // The domain of a provider's own servers is no name that a customer chose.
  const chosen = servers.includes(domain) ? [] : [domain];
  const names = [...recipients, mailFrom, senderDomain ?? '', mailFrom.slice(mailFrom.lastIndexOf('@') + 1), ...chosen]
    .filter((name) => name.length > 3)
    .toSorted((a, b) => b.length - a.length);
  const clean = (line: string): string => {
    let text = line.replaceAll(ADDRESS, '<address>');
    for (const name of names) text = replaceText(text, name);
    return text.replaceAll(WORD, (word) => (word.includes('@') ? '<address>' : word));
  };
  const text = cutAtWord(reply.lines.join('\n')).split('\n').map(clean).join('\n');
  const at = QUOTATION.exec(text)?.index ?? text.length;
  return { ...reply, lines: text.slice(0, Math.min(at, NOTED_CHARS_MAX)).split('\n') };
}

function replaceText(text: string, name: string): string {
  const lower = text.toLowerCase();
  const parts: string[] = [];
  let from = 0;
  for (let at = lower.indexOf(name.toLowerCase()); at >= 0; at = lower.indexOf(name.toLowerCase(), from)) {
    parts.push(text.slice(from, at), '<name>');
    from = at + name.length;
  }
  return parts.join('') + text.slice(from);
}

/** Describes a set of mail servers by the first ones. A name with a digest or a remark is short already. */
function describeServers(servers: string): string {
  if (servers.endsWith(')')) return servers;
  const hosts = servers.split(' ');
  return hosts.length > 2 ? `${hosts.slice(0, 2).join(', ')} and ${hosts.length - 2} more` : hosts.join(', ');
}

const isFound = (known: Known): known is Found => known.site !== undefined;

const isRateQuiet = (shared: Shared | undefined): boolean => shared?.rate?.isQuiet ?? true;

function forgetQuietOnes(known: Map<string, { isForgettable: boolean }>): void {
  for (const [key, one] of known) if (one.isForgettable) known.delete(key);
}

/** Returns the lowest value that a limit has by the settings and by throttles. */
function findLeast(
  throttles: readonly Throttle[],
  kind: Throttle['kind'],
  configured: number | undefined,
): number | undefined {
  const values = throttles.flatMap((throttle) => (throttle.kind === kind ? (throttle.value ?? []) : []));
  const all = configured === undefined ? values : [configured, ...values];
  return all.length === 0 ? undefined : Math.min(...all);
}
