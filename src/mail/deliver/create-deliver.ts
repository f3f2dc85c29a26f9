import { createHash } from 'node:crypto';
import type { SecureVersion } from 'node:tls';
import { systemClock } from '../../platform/clock.ts';
import type { Clock } from '../../platform/clock.ts';
import { createAddressGuard } from '../../platform/network/index.ts';
import { BoundedMap } from '../../platform/limits/index.ts';
import type { OwnConnections } from '../../platform/network/index.ts';
import type { ProviderLimits, ProviderPolicies } from '../../platform/providers/index.ts';
import { classifyReply } from '../../platform/reply-rules/index.ts';
import type { Resolver } from '../../platform/resolver/index.ts';
import { FamilyChoice, detectFamily, isRefusalByRule, isRefusalOfV6 } from './address-family.ts';
import { cutText } from './cut-text.ts';
import { deriveEnding, type Ending } from './ending.ts';
import { findExchangers, planRelay, planRoute, type Target } from './mx-route.ts';
import {
  Pool,
  type Destination,
  type Location,
  type Obstacle,
  type Parts,
  type Place,
  type PoolStats,
  type SiteTarget,
  type Traffic,
} from './pool.ts';
import type {
  Conversation,
  Deliver,
  DeliverContext,
  DeliveryJob,
  Family,
  JobOutcome,
  RecipientOutcome,
  Via,
} from './delivery-job.ts';
import { forEachRecipient, ownBounce } from './delivery-job.ts';
import { relayKey, type Relay, type RelayChoice } from './relay.ts';
import { simulate } from './simulate.ts';
import { openSession, type Opened, type SmtpSession } from './smtp-session.ts';
import type { Proxy, ReceiverPlace, RoutedJob, SourceChoice, Sources } from './source.ts';
import type { Throttles } from './throttles.ts';
import type { SmtpTimeouts } from './timeouts.ts';
import { RFC_TIMEOUTS } from './timeouts.ts';
import { applyPolicies, WITHOUT_POLICIES, type TlsPolicies } from './tls-policy.ts';
import { describeRefusals, describeSession, type TlsSession } from './tls-session.ts';
import { transmit } from './transmit.ts';

/** Describes how the mail of a region leaves this installation; undefined fields are taken from the options. */
export interface Egress {
  heloName?: string;
  /** With an address of one family only, mail leaves by that family only. */
  sourceAddress?: { v4?: string; v6?: string };
  /** Chooses the address family if a receiver has both; IPv4 by default. Called only for mail that uses the network. */
  prefers?: () => Family;
  /** All mail of the region goes through this server, without a login, unless `relayFor` names a relay. */
  smarthost?: { host: string; port: number };
}

export interface DeliverOptions {
  heloName: string;
  sourceAddress?: { v4?: string; v6?: string };
  findRegion?: (name: string) => Egress;
  /** Returns the relays that a job may go through. */
  relayFor?: (job: RelayedBy) => RelayChoice;
  resolver: Resolver;
  /** Records each connection, so that our own ports recognize what we deliver to ourselves. */
  ownConnections?: OwnConnections;
  smtpPort?: number;
  /** Ranges (CIDR) outside the public internet that mail may be sent to. */
  allowPrivate?: string[];
  /**
   * Host names of this server. Mail is never sent to them (it would loop) unless this server receives mail for the domain.
   */
  ownHostNames?: string[];
  /** Other names under which we are a mail exchanger. */
  ownExchangers?: string[];
  /** Reports whether this server receives mail for the domain. */
  takesMailFor?: (domain: string) => Promise<boolean>;
  /** The domains, in lower case, whose addresses the mailbox simulator answers. */
  simulatorDomains?: readonly string[];
  /** Replaces the network for all mail that is not for the simulator. */
  capture?: Deliver;
  timeouts?: Partial<SmtpTimeouts>;
  limits?: Partial<DeliverLimits>;
  /** Limits of mailbox providers; without them, all receivers have the same. */
  providers?: ProviderPolicies;
  /** Limits that receivers or the operator set for a while. */
  throttles?: Throttles;
  /** Sources in pools, which the mail of some regions, domains or streams leaves by. */
  sources?: Sources;
  /** This process's part of the limits, if several processes deliver. */
  parts?: Parts;
  /** Called when the mail servers of a domain are found. */
  onLocated?: (domain: string, found: { provider: string | undefined; servers: string }) => void;
  /** Called with the outcomes of each transaction and where it took place. */
  onOutcomes?: (found: SiteTarget, outcomes: readonly RecipientOutcome[]) => void;
  tls?: { verifyEnforced?: boolean; ca?: string; minVersion?: SecureVersion };
  /** The TLS policies of the recipients' domains. */
  tlsPolicies?: TlsPolicies;
  /** Called for each connection with a mail server, and for each server that a policy forbids. */
  onTlsSession?: (session: TlsSession) => void;
  /** Clock for every wait. */
  clock?: Clock;
  /** Clock for the memory of failures; the clock above by default. */
  now?: () => number;
  /** Source of randomness that shuffles equal hosts and spreads second attempts. */
  random: () => number;
  /** Called with the last steps of the session, never content, when a transaction did not deliver to all its recipients. */
  onTrouble?: (trouble: { job: DeliveryJob; mx: string; outcomes: RecipientOutcome[]; transcript: string[] }) => void;
}

/** Holds the facts that decide which relay is chosen. */
export type RelayedBy = Pick<DeliveryJob, 'region' | 'senderDomain'>;

/** A relay that mail cannot go through until the operator changes something. */
export interface RelayTrouble {
  relay: string;
  /** Description of the fault, with the reply of the relay. */
  detail: string;
  /** Time in milliseconds. */
  since: number;
}

export interface DeliverLimits {
  /** Limit per set of mail servers, unless its provider has one. */
  connectionsPerSiteMax: number;
  /** Limit per address, across all sites. */
  connectionsPerAddressMax: number;
  connectionsTotalMax: number;
  messagesPerConnectionMax: number;
  idleMs: number;
  /** Limit for opening one connection, however many hosts are tried. */
  openMs: number;
}

export interface DeliverStats extends PoolStats {
  /** Transactions on a connection that was opened for them. */
  onFreshConnection: number;
  onReusedConnection: number;
}

export interface Delivery {
  deliver: Deliver;
  /** Why a team's mail to this destination would be deferred without an attempt now; undefined if it would be tried. */
  findObstacle(
    place: Omit<Place, 'relay' | 'from'> &
      Pick<DeliveryJob, 'teamId' | 'isMarketing' | 'isBulk' | 'senderDomain' | 'source'>,
  ): Obstacle | undefined;
  relayTroubles(): RelayTrouble[];
  traffic(): Traffic[];
  close(graceMs: number): Promise<void>;
  stats(): DeliverStats;
}

const RECEIVERS_MAX = 50_000;
/** The mail servers of a domain are looked up again after this time to choose a source. */
const RECEIVER_MS = 30_000;

const DEFAULT_LIMITS: DeliverLimits = {
  connectionsPerSiteMax: 20,
  connectionsPerAddressMax: 40,
  connectionsTotalMax: 500,
  messagesPerConnectionMax: 500,
  idleMs: 15_000,
  openMs: 120_000,
};

/**
 * Creates the delivery of a process. Mail for the simulator is simulated, other mail is captured if `capture` is set, and
 * everything else goes over the network.
 */
export function createDeliver(options: DeliverOptions): Delivery {
  const network = createNetwork(options);
  const simulated = new Set(options.simulatorDomains);
  return {
    deliver: async (job, ctx) => {
      if (simulated.has(job.domain)) {
        // Mail to the simulator is captured too, but once: later tries are of the same message.
        if (job.attempt === 1) await options.capture?.(job, ctx);
        return simulate(job);
      }
      return options.capture ? options.capture(job, ctx) : network.deliver(job, ctx);
    },
    // Simulated and captured mail never has a failing destination.
    findObstacle: (place) =>
      options.capture === undefined && !simulated.has(place.domain) ? network.findObstacle(place) : undefined,
    relayTroubles: network.relayTroubles,
    traffic: network.traffic,
    close: network.close,
    stats: network.stats,
  };
}

function createNetwork(options: DeliverOptions): Delivery {
  const timeouts = { ...RFC_TIMEOUTS, ...options.timeouts };
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const { clock = systemClock, random } = options;
  const now = options.now ?? (() => clock.steady());
  const count = { onFreshConnection: 0, onReusedConnection: 0 };
  const families = new FamilyChoice({
    now,
    preferred: ({ region, from }) => from?.prefers() ?? options.findRegion?.(region).prefers?.() ?? 'v4',
  });
  const locate = createLocator(options, limits, random);
  /** Remembers how each connection was opened, and the domains that it was counted for. */
  const openings = new WeakMap<SmtpSession, { target: Target; opened: Opened; domains: Set<string> }>();
  const pool = new Pool({
    limits,
    clock,
    now,
    random,
    quitMs: timeouts.quitMs,
    locate,
    throttles: options.throttles,
    findProvider: (host) => options.providers?.find('', [host]),
    onOutcomes: options.onOutcomes,
    parts: options.parts,
    open: (job, target, skip, openMs, signal) => {
      const { heloName, source, proxy } = chooseEgress(options, job);
      return openSession(target, {
        clock,
        heloName,
        openMs,
        ownConnections: options.ownConnections,
        // The addresses of a source with a proxy are those of the proxy.
        localAddress: proxy ? undefined : target.address.includes(':') ? source?.v6 : source?.v4,
        proxy,
        timeouts,
        signal,
        relay: job.relay,
        tls: { ...options.tls, ...toTlsPolicy(job, target, options.tls?.verifyEnforced ?? false), skip },
      }).then((opened) => {
        if (!job.relay && opened.kind === 'open') openings.set(opened.session, { target, opened, domains: new Set() });
        return opened;
      });
    },
    onOpening(waiting) {
      for (const session of waiting.flatMap(describeRefusals)) options.onTlsSession?.(session);
    },
    onOpeningFailed(waiting, target, opened) {
      for (const destination of waiting) options.onTlsSession?.(describeSession(destination, target, opened));
    },
  });

  /** Counts a connection for a domain whose mail uses it: once, however many messages there are (RFC 8460 §4.3). */
  const noteUse = (session: SmtpSession, destination: Destination): void => {
    const opening = openings.get(session);
    // Mail that ignores the policies of its domain is not counted.
    if (!opening || destination.policies === WITHOUT_POLICIES || opening.domains.has(destination.domain)) return;
    opening.domains.add(destination.domain);
    options.onTlsSession?.(describeSession(destination, opening.target, opening.opened));
  };

  const troubles = new Map<string, RelayTrouble>();
  const recordRelayFault = (relay: Relay, outcomes: readonly RecipientOutcome[]): void => {
    const wrong = outcomes.find((outcome) => outcome.kind === 'deferred' && outcome.reason === 'relay_misconfigured');
    if (wrong?.kind !== 'deferred') return void troubles.delete(relay.name);
    const since = troubles.get(relay.name)?.since ?? clock.now();
    troubles.set(relay.name, { relay: relay.name, detail: cutText(wrong.detail), since });
  };

  const tryOnce = async (job: RoutedJob, ctx: DeliverContext, fresh: boolean): Promise<Try | 'stale'> => {
    const lease = await pool.acquire(job, ctx.signal, fresh);
    const target = pool.findTarget(job);
    // A relay of a pool has limits under its own name, and counts under that of the source.
    if (target) ctx.onVia?.({ source: job.from?.name ?? target.source, provider: target.provider });
    if (lease.kind !== 'lease') {
      const outcomes = forEachRecipient(job, lease);
      if (job.relay && lease.reason === 'relay_misconfigured') recordRelayFault(job.relay, outcomes);
      return { outcomes, family: undefined, isUnreachable: isUnreachable(lease) };
    }
    const { session, destination } = lease;
    let ending: Ending | undefined;
    count[session.used === 0 ? 'onFreshConnection' : 'onReusedConnection'] += 1;
    try {
      const sent = await transmit(session, job, ctx);
      ending = deriveEnding(session, sent);
      if (sent.kind === 'done') pool.noteOutcomes(job, session, sent.outcomes);
      if (sent.kind === 'stale') {
        const { reply } = sent;
        if (reply)
          pool.noteReply(job, session, reply, classifyReply({ reply, stage: 'MAIL FROM', mx: session.mx }).cause);
        return 'stale';
      }
      noteUse(session, destination);
      ctx.onConversation?.(toConversation(session));
      if (options.onTrouble && sent.outcomes.some((outcome) => outcome.kind !== 'delivered')) {
        options.onTrouble({ job, outcomes: sent.outcomes, ...toConversation(session) });
      }
      if (job.relay && sent.kind === 'done') recordRelayFault(job.relay, sent.outcomes);
      return { outcomes: sent.outcomes, family: detectFamily(session.connection.address), isUnreachable: false };
    } finally {
      pool.release(job, session, ending);
    }
  };

  const tryTwice = async (job: RoutedJob, ctx: DeliverContext): Promise<Try> => {
    const first = await tryOnce(job, ctx, false);
    const last = first === 'stale' ? await tryOnce(job, ctx, true) : first;
    if (last !== 'stale') return last;
    const whose = job.relay === undefined ? `The mail host of ${job.domain}` : `The relay ${job.relay.name}`;
    const detail = `${whose} closed two connections in a row before it accepted MAIL FROM`;
    const outcomes = forEachRecipient(job, { kind: 'deferred', reason: 'connection_lost', detail });
    return { outcomes, family: undefined, isUnreachable: false };
  };

  const tryRelay = async (job: DeliveryJob, relay: Relay, ctx: DeliverContext): Promise<RecipientOutcome[]> => {
    const { outcomes } = await tryTwice({ ...job, relay }, ctx);
    return outcomes.map((outcome) => (outcome.kind === 'suppressed' ? outcome : { ...outcome, relay: relay.name }));
  };

  /** Retries over the other IP version if the refusal may be caused by our address in the first one. */
  const tryOtherFamily = async (job: RoutedJob, ctx: DeliverContext, refused: Try): Promise<RecipientOutcome[]> => {
    const { outcomes } = refused;
    const other = otherFamily(job, refused);
    if (other === undefined || ctx.signal.aborted) return outcomes;
    if (other === 'v4' && outcomes.some(isRefusalOfV6)) families.noteRefusalOfV6(job);
    const place = { ...job, families: `${other} only` as const };
    const location = await locate(place);
    if ('kind' in location || (await location.route()).kind !== 'route') return outcomes;
    const again = await tryTwice(place, ctx);
    // If the retry reached no server, the first result stands.
    return again.family === undefined ? outcomes : again.outcomes;
  };

  const tryDirectly = async (job: RoutedJob, ctx: DeliverContext): Promise<RecipientOutcome[]> => {
    const place = { ...job, families: families.orderFor(job) };
    const { relay, fallback } = chooseRelay(options, job);
    if (relay !== undefined) return tryRelay(job, relay, ctx);
    const direct = await tryTwice(place, ctx);
    if (direct.isUnreachable && fallback !== undefined && !ctx.signal.aborted) return tryRelay(job, fallback, ctx);
    return tryOtherFamily(place, ctx, direct);
  };

  /** Remembers the mail servers of each domain for a moment, to choose a source without another look-up. */
  const receivers = new BoundedMap<string, ReceiverPlace & { until: number }>(RECEIVERS_MAX);
  const findReceiver = async (job: RoutedJob): Promise<ReceiverPlace | JobOutcome> => {
    const known = receivers.get(job.domain);
    if (known !== undefined && known.until > now()) return known;
    const location = await locate({ ...job, families: families.orderFor(job) });
    if ('kind' in location) return location;
    const place = {
      provider: location.provider?.name,
      servers: location.servers,
      domain: job.domain,
      until: now() + RECEIVER_MS,
    };
    receivers.set(job.domain, place);
    return place;
  };

  /** Names the sources from which the receiver took no mail a moment ago. */
  const findFailing = (job: DeliveryJob, sources: Sources): Set<string> => {
    const failing = (sources.listFor(job) ?? []).filter((from) => {
      const place = { ...job, from, relay: from.relay };
      return pool.findObstacle({ ...place, families: families.orderFor(place) })?.kind === 'down';
    });
    return new Set(failing.map(({ name }) => name));
  };

  /**
   * Delivers from a source of the job's pool; from another one if nothing can be sent from it, or if the receiver refuses or
   * defers it for its reputation or its name.
   */
  const tryFromPool = async (job: DeliveryJob, sources: Sources, ctx: DeliverContext): Promise<RecipientOutcome[]> => {
    const place = await findReceiver(job);
    if ('kind' in place) return forEachRecipient(job, place);
    const tried = new Set<string>();
    const failing = findFailing(job, sources);
    let refused: { via: Via; outcomes: RecipientOutcome[] } | undefined;
    for (;;) {
      const choice = await sources.choose(job, place, { tried, failing });
      if (choice.kind === 'exhausted') {
        const { detail, retryAfterMs } = choice;
        const unavailable = { kind: 'deferred', reason: 'source_unavailable', detail, retryAfterMs } as const;
        return refused?.outcomes ?? forEachRecipient(job, unavailable);
      }
      // The receiver has refused the message, so it is an attempt, although the next one waits for another source.
      if (choice.kind === 'wait' && refused)
        return refused.outcomes.map((outcome) => waitAfterRefusal(outcome, choice));
      if (choice.kind === 'wait') return forEachRecipient(job, { ...choice, kind: 'deferred' });
      if (refused) ctx.onSourceRefused?.(refused.via, refused.outcomes);
      const { source, undo } = choice;
      let via: Via = { source: source.name, provider: place.provider };
      const onVia = (went: Via): void => {
        via = went;
        ctx.onVia?.(went);
      };
      let outcomes: RecipientOutcome[];
      try {
        outcomes = await tryDirectly({ ...job, from: source }, { ...ctx, onVia });
      } catch (error) {
        undo();
        throw error;
      }
      if (outcomes.every(isUnsent)) undo();
      tried.add(source.name);
      refused = undefined;
      const unavailable = outcomes.find(isOfSource);
      if (unavailable !== undefined) {
        sources.noteUnavailable(source, unavailable.detail);
        continue;
      }
      await sources.noteOutcomes(source, place, outcomes);
      if (!outcomes.some(isRefusalOfSource)) return outcomes;
      await sources.noteMistrust(source, place);
      // A message that some recipients were given is not sent again for the others within the same attempt.
      if (!outcomes.every(isRefusalOfSource))
        return hasOthers(job, sources, tried) ? outcomes.map(toDeferral) : outcomes;
      if (ctx.signal.aborted) return outcomes;
      refused = { via, outcomes };
    }
  };

  return {
    deliver(job, ctx) {
      let earlier: string[] = [];
      const contextWithTranscript: DeliverContext = {
        ...ctx,
        onConversation: (conversation) => {
          const transcript = [...earlier, ...conversation.transcript];
          earlier = transcript;
          ctx.onConversation?.({ ...conversation, transcript });
        },
      };
      const { sources } = options;
      return sources?.listFor(job) === undefined
        ? tryDirectly(job, contextWithTranscript)
        : tryFromPool(job, sources, contextWithTranscript);
    },
    findObstacle(place) {
      const { sources } = options;
      const members = sources?.listFor(place);
      const receiver = receivers.get(place.domain);
      if (sources !== undefined && members !== undefined) {
        const untilMs = receiver && sources.findWait(place, receiver);
        return untilMs === undefined ? undefined : { kind: 'suspended', untilMs };
      }
      const { relay, fallback } = chooseRelay(options, place);
      if (relay !== undefined) return pool.findObstacle({ ...place, relay });
      const direct = pool.findObstacle({ ...place, families: families.orderFor(place) });
      if (direct?.kind !== 'down' || fallback === undefined) return direct;
      return pool.findObstacle({ ...place, relay: fallback });
    },
    relayTroubles: () => [...troubles.values()],
    traffic: () => pool.traffic(),
    close: (graceMs) => pool.close(graceMs),
    stats: () => ({ ...pool.stats(), ...count }),
  };
}

function toConversation({ mx, tls, connection }: SmtpSession): Conversation {
  return { mx, address: connection.address, tls, transcript: connection.transcript.lines() };
}

/** Returns whether no server of the destination could be connected to, now or a moment ago. */
function isUnreachable(outcome: JobOutcome): boolean {
  return outcome.kind === 'deferred' && (outcome.downReason ?? outcome.reason) === 'unreachable';
}

/**
 * Returns the relay choice for a job: the result of `relayFor`, unless it names no relay and the region of the job has a
 * smarthost.
 */
function chooseRelay(
  options: Pick<DeliverOptions, 'findRegion' | 'relayFor'>,
  job: RelayedBy & Pick<RoutedJob, 'from'>,
): RelayChoice {
  if (job.from) return { relay: job.from.relay };
  const choice = options.relayFor?.(job) ?? {};
  const smarthost = options.findRegion?.(job.region).smarthost;
  if (choice.relay !== undefined || smarthost === undefined) return choice;
  return { relay: { ...smarthost, name: `${smarthost.host}:${smarthost.port}`, tls: 'as asked' } };
}

/** The result of one dialogue; `family` is undefined if no server was reached. */
interface Try {
  outcomes: RecipientOutcome[];
  family: Family | undefined;
  /** No server could be connected to. */
  isUnreachable: boolean;
}

/** Returns the family that is worth a second attempt; undefined if some recipient was accepted, or the refusal is about the mail. */
function otherFamily(job: DeliveryJob, { outcomes, family }: Try): Family | undefined {
  const isRefused = outcomes.every(({ kind }) => kind === 'bounced' || kind === 'deferred');
  if (family === undefined || !isRefused) return undefined;
  const isOfFamily = family === 'v6' && outcomes.some(isRefusalOfV6);
  const isFirstByRule = job.attempt === 1 && outcomes.some(isRefusalByRule);
  if (!isOfFamily && !isFirstByRule) return undefined;
  return family === 'v6' ? 'v4' : 'v6';
}

/**
 * Returns the EHLO name and source addresses of a job's connections. A relay with a login gets the same in all regions,
 * because it identifies us by the login.
 */
function chooseEgress(
  options: Pick<DeliverOptions, 'heloName' | 'sourceAddress' | 'findRegion'>,
  job: Pick<RoutedJob, 'region' | 'relay' | 'from'>,
): { heloName: string; source: Egress['sourceAddress']; proxy?: Proxy | undefined } {
  const { relay, from } = job;
  if (relay !== undefined && relay.tls !== 'as asked')
    return { heloName: relay.heloName ?? options.heloName, source: undefined };
  if (from !== undefined)
    return { heloName: from.heloName ?? options.heloName, source: from.address, proxy: from.proxy };
  const egress = options.findRegion?.(job.region) ?? {};
  const { heloName = options.heloName, sourceAddress: source = options.sourceAddress } = egress;
  return { heloName, source };
}

/** Names what a receiver sees of where mail comes from: the EHLO name and the addresses. */
const nameSource = ({ heloName, source }: ReturnType<typeof chooseEgress>): string =>
  [heloName, source?.v4, source?.v6].filter((part) => part !== undefined).join(' ');

/** Reports whether no receiver has seen the message. */
const isUnsent = ({ kind, ...outcome }: RecipientOutcome): boolean =>
  kind === 'deferred' && 'reason' in outcome && UNSENT.has(outcome.reason);

const UNSENT: ReadonlySet<string> = new Set([
  'throttled',
  'suspended',
  'source_unavailable',
  'stopping',
  'unreachable',
  'destination_down',
  'dns_failure',
  'resolver_failure',
]);

/** Causes of refusals that another source may not meet with. */
const CAUSES_OF_SOURCE: ReadonlySet<string | undefined> = new Set(['ip_reputation', 'ptr_helo']);

const isRefusalOfSource = (outcome: RecipientOutcome): boolean =>
  (outcome.kind === 'bounced' || outcome.kind === 'deferred') &&
  outcome.reply !== undefined &&
  CAUSES_OF_SOURCE.has(outcome.cause);

/** Turns a refusal because of the source into a deferral, so that the next attempt leaves by another one. */
const toDeferral = (outcome: RecipientOutcome): RecipientOutcome =>
  outcome.kind === 'bounced' && isRefusalOfSource(outcome)
    ? { ...outcome, kind: 'deferred', reason: 'refused_for_now' }
    : outcome;

function waitAfterRefusal(
  outcome: RecipientOutcome,
  { detail, retryAfterMs }: Extract<SourceChoice, { kind: 'wait' }>,
): RecipientOutcome {
  const deferral = toDeferral(outcome);
  return deferral.kind === 'deferred'
    ? { ...deferral, detail: `${deferral.detail}. ${detail}`, retryAfterMs }
    : deferral;
}

const hasOthers = (job: DeliveryJob, sources: Sources, tried: ReadonlySet<string>): boolean =>
  (sources.listFor(job) ?? []).some(({ name }) => !tried.has(name));

const isOfSource = (outcome: RecipientOutcome): outcome is Extract<RecipientOutcome, { kind: 'deferred' }> =>
  outcome.kind === 'deferred' && outcome.reason === 'source_unavailable';

/** The length of a name of mail servers, which is part of an index. */
const SERVERS_CHARS_MAX = 200;

/** Returns the names of mail servers; if they are long, the first one and a digest of all. */
function shortenServers(name: string): string {
  if (name.length <= SERVERS_CHARS_MAX) return name;
  const [first = '', ...others] = name.split(' ');
  const digest = createHash('sha256').update(name).digest('hex').slice(0, 16);
  return `${first.slice(0, SERVERS_CHARS_MAX / 2)} and ${others.length} others (${digest})`;
}

/**
 * Returns a function that tells where mail leaves from: its source as limits are counted for it, and the name of the relay
 * if it goes through one.
 */
export const createSourceChoice =
  (options: Pick<DeliverOptions, 'heloName' | 'sourceAddress' | 'findRegion' | 'relayFor'>) =>
  (job: RelayedBy): { source: string; relay: string | undefined } => ({
    source: nameSource(chooseEgress(options, job)),
    relay: chooseRelay(options, job).relay?.name,
  });

/** Finds the mail servers of a job and the limits that hold there. */
function createLocator(
  options: DeliverOptions,
  limits: DeliverLimits,
  random: () => number,
): (job: RoutedJob) => Promise<Location | JobOutcome> {
  const { resolver, smtpPort = 25, providers, onLocated, tlsPolicies } = options;
  const guard = createAddressGuard(options.allowPrivate ?? []);
  const names = {
    ownHostNames: (options.ownHostNames ?? []).map((name) => name.toLowerCase()),
    ownExchangers: (options.ownExchangers ?? []).map((name) => name.toLowerCase()),
  };
  const takesMailFor = options.takesMailFor ?? (() => Promise.resolve(false));
  const defaults: ProviderLimits = providers?.defaults ?? {
    connections: undefined,
    connectionsPerSite: limits.connectionsPerSiteMax,
    messagesPerConnection: limits.messagesPerConnectionMax,
    messagesPerMinute: undefined,
    messageBurst: 1,
    connectionsPerMinute: undefined,
    connectionBurst: 1,
    idleMs: limits.idleMs,
    family: 'auto',
    tls: 'opportunistic',
  };

  const chooseFamilies = (job: RoutedJob): { families: { v4: boolean; v6: boolean }; first: Family } => {
    const { source } = chooseEgress(options, job);
    const order = job.families ?? 'v4 first';
    return {
      families: {
        v4: order !== 'v6 only' && (source === undefined || source.v4 !== undefined),
        v6: order !== 'v4 only' && (source === undefined || source.v6 !== undefined),
      },
      first: order.startsWith('v6') ? 'v6' : 'v4',
    };
  };

  return async (job) => {
    const relayName = relayKey(job);
    if (job.relay && relayName !== undefined) {
      const { relay } = job;
      return {
        source: relayName,
        servers: relay.name,
        order: '',
        provider: undefined,
        // A relay takes the mail of many domains, and is one address.
        limits: {
          ...defaults,
          connectionsPerSite: relay.connectionsMax ?? limits.connectionsPerAddressMax,
          messagesPerConnection: relay.messagesPerConnectionMax ?? limits.messagesPerConnectionMax,
          messagesPerMinute: relay.messagesPerMinute,
          messageBurst: 1,
        },
        tls: '',
        job,
        route: () => planRelay(relay, { resolver, ...chooseFamilies(job) }),
      };
    }
    const isExempt = tlsPolicies?.isExempt(job.domain) === true;
    const policies = usesPolicies(job) && !isExempt ? tlsPolicies : undefined;
    const dane = policies?.findDane(job.teamId);
    const findMx = (name: string) => dane?.mx(name) ?? resolver.mx(name);
    const [found, sts] = await Promise.all([
      findExchangers(job.domain, { findMx, resolverName: dane?.server, ...names, takesMailFor }),
      policies?.findSts(job.domain, job.teamId).catch(() => undefined) ?? { kind: 'none' as const },
    ]);
    if (found.kind !== 'exchangers') return found;
    if (sts === undefined) return policyUnknown(job.domain);
    const isFree = found.isOurs || policies === undefined;
    const tls = isFree ? WITHOUT_POLICIES : await applyPolicies({ job, found, sts, dane });
    if (job.tls === 'proven' && !tls.isProven && !found.isOurs) {
      return dane?.isTested === false ? notYetProven(job.domain) : unproven(job.domain, isExempt);
    }
    const provider = found.isOurs ? undefined : providers?.find(job.domain, found.name.split(' '));
    const servers = shortenServers(found.name);
    onLocated?.(job.domain, { provider: provider?.name, servers });
    const located = { ...adaptToProvider(job, provider?.limits ?? defaults), policies: tls };
    const judgeHost = tls.forHost;
    return {
      source: job.from?.name ?? nameSource(chooseEgress(options, job)),
      servers: found.isOurs ? `${servers} (own)` : servers,
      order: found.order,
      provider,
      limits: provider?.limits ?? defaults,
      job: located,
      tls: tls.key,
      route: () =>
        planRoute(found, { resolver, guard, random, smtpPort, judgeHost, ...names, ...chooseFamilies(located) }),
    };
  };
}

/** Our own servers have no policy to look up, and a sender may ask that policies hold up no mail. */
const usesPolicies = ({ domain, ignoresPolicies }: RoutedJob): boolean => !ignoresPolicies && !domain.startsWith('[');

/** The database's own error is for the log only, and the next attempt asks again. */
const policyUnknown = (domain: string): JobOutcome => ({
  kind: 'deferred',
  reason: 'dns_failure',
  detail: `the stored MTA-STS policy of ${domain} cannot be read at present`,
});

/** RFC 8689 §4.2.1: a forged answer of DNS could name a server that promises everything. */
const unproven = (domain: string, isExempt: boolean): JobOutcome =>
  ownBounce(
    'requiretls_unsupported',
    550,
    '5.7.30',
    isExempt
      ? `The message requires TLS (REQUIRETLS), but nothing proves the mail servers of ${domain}, because the setting delivery.tls_exceptions of this server excepts the domain from DNSSEC and MTA-STS`
      : `The message requires TLS (REQUIRETLS), but neither DNSSEC nor MTA-STS proves the mail servers of ${domain}`,
  );

/** The test of the resolver ends soon, and a bounce is final. */
const notYetProven = (domain: string): JobOutcome => ({
  kind: 'deferred',
  reason: 'resolver_failure',
  detail: `The message requires TLS (REQUIRETLS), and whether DNSSEC proves the mail servers of ${domain} is not known until the resolver of dns.dnssec_resolver has been tested`,
});

/** Combines what the sender demands with what the policies of the recipient's domain demand of the host. */
function toTlsPolicy({ tls }: RoutedJob, { demand }: Target, verifyEnforced: boolean) {
  const isEnforced = tls !== 'opportunistic';
  return {
    policy: isEnforced || demand !== undefined ? ('enforced' as const) : ('opportunistic' as const),
    verifyEnforced: tls === 'verified' || tls === 'proven' || (tls === 'enforced' && verifyEnforced),
    demand,
  };
}

/** Applies what a provider expects: TLS where it always offers it, and the address family that it accepts mail over. */
function adaptToProvider(job: RoutedJob, { tls, family }: ProviderLimits): RoutedJob {
  const isForced = job.families?.endsWith('only') ?? false;
  return {
    ...job,
    ...(tls === 'required' && job.tls === 'opportunistic' ? { tls: 'enforced' as const } : {}),
    ...(family === 'auto' || isForced
      ? {}
      : { families: family === 'ipv4' ? ('v4 first' as const) : ('v6 first' as const) }),
  };
}
