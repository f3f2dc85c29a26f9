import type { SecureVersion } from 'node:tls';
import { systemClock } from '../../../platform/clock/index.ts';
import type { Clock } from '../../../platform/clock/index.ts';
import { createAddressGuard } from '../../../platform/network/index.ts';
import type { OwnConnections } from '../../../platform/network/index.ts';
import type { Resolver } from '../../../platform/resolver/index.ts';
import { FamilyChoice, familyOf, isRefusalByRule, isRefusalOfV6 } from './address-family.ts';
import type { Place, PoolStats } from './destination-pool.ts';
import { createDestinationPool } from './destination-pool.ts';
import { endingOf, type Ending } from './ending.ts';
import type { Route } from './mx-route.ts';
import { planRoute, planSmarthost } from './mx-route.ts';
import type { Conversation, Deliver, DeliverContext, DeliveryJob, Family, RecipientOutcome } from './delivery-job.ts';
import { forEachRecipient } from './delivery-job.ts';
import { simulate } from './simulate.ts';
import { openSession, type SmtpSession } from './smtp-session.ts';
import type { SmtpTimeouts } from './timeouts.ts';
import { RFC_TIMEOUTS } from './timeouts.ts';
import { transmit } from './transmit.ts';

/** How the mail of a region leaves this installation; what is undefined is taken from the options. */
export interface Egress {
  heloName?: string;
  /** With an address of one family only, mail leaves by that family only. */
  sourceAddress?: { v4?: string; v6?: string };
  /** Chooses the family to leave by where a receiver has both; IPv4 unless given. Asked only for mail that uses the network. */
  prefers?: () => Family;
  /** All mail of the region goes through this relay instead of to the recipients' own hosts. */
  smarthost?: { host: string; port: number };
}

export interface DeliverOptions {
  heloName: string;
  sourceAddress?: { v4?: string; v6?: string };
  regionOf?: (name: string) => Egress;
  resolver: Resolver;
  /** Records each connection, so that our own ports recognise what we deliver to ourselves. */
  ownConnections?: OwnConnections;
  smtpPort?: number;
  /** Ranges (CIDR) outside the public internet that mail may be sent to. */
  allowPrivate?: string[];
  /** Our own names: mail is never sent to them, unless we take the domain's mail. */
  ownHostNames?: string[];
  /** Other names under which we are a mail exchanger. */
  ownExchangers?: string[];
  /** Whether we take the domain's mail ourselves. */
  takesMailFor?: (domain: string) => Promise<boolean>;
  /** The domains whose addresses are answered by the mailbox simulator, in lower case. */
  simulatorDomains?: readonly string[];
  /** Takes the place of the network for all mail that is not for the simulator. */
  capture?: Deliver;
  timeouts?: Partial<SmtpTimeouts>;
  limits?: Partial<DeliverLimits>;
  tls?: { verifyEnforced?: boolean; ca?: string; minVersion?: SecureVersion };
  /** Measures every wait. */
  clock?: Clock;
  /** The time for the memory of failures; the clock's own unless given. */
  now?: () => number;
  /** Shuffles equal hosts and spreads second tries. */
  random: () => number;
  /** Called when a transaction did not deliver to all its recipients, with the last steps of the session, never content. */
  onTrouble?: (trouble: { job: DeliveryJob; mx: string; outcomes: RecipientOutcome[]; transcript: string[] }) => void;
}

export interface DeliverLimits {
  connectionsPerDestinationMax: number;
  /** To one address, whatever the destinations. */
  connectionsPerAddressMax: number;
  connectionsTotalMax: number;
  messagesPerConnectionMax: number;
  idleMs: number;
  /** For opening one connection to a destination, however many hosts are tried. */
  openMs: number;
}

export interface DeliverStats extends PoolStats {
  /** Transactions, by the connection that carried them. */
  onFreshConnection: number;
  onReusedConnection: number;
}

export interface Delivery {
  deliver: Deliver;
  /** Whether a team's mail to this destination would be deferred without being tried, because it failed a moment ago. */
  isDown(place: Place & Pick<DeliveryJob, 'teamId' | 'isMarketing'>): boolean;
  close(graceMs: number): Promise<void>;
  stats(): DeliverStats;
}

const DEFAULT_LIMITS: DeliverLimits = {
  connectionsPerDestinationMax: 20,
  connectionsPerAddressMax: 40,
  connectionsTotalMax: 500,
  messagesPerConnectionMax: 500,
  idleMs: 15_000,
  openMs: 120_000,
};

/** The one seam between "when" (the queue) and "how": simulator, then capture, then the network. */
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
    // Mail that uses no network has no destination that fails, and asks for no address family.
    isDown: (place) => options.capture === undefined && !simulated.has(place.domain) && network.isDown(place),
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
  const families = new FamilyChoice({ now, preferred: (region) => options.regionOf?.(region).prefers?.() ?? 'v4' });
  const route = createRouting(options, random);
  const pool = createDestinationPool({
    limits: { ...limits, connectionsMax: limits.connectionsPerDestinationMax },
    clock,
    now,
    random,
    quitMs: timeouts.quitMs,
    route,
    egressOf: (job) => egressKeyOf(options, job),
    open: (job, target, skip, openMs, signal) => {
      const { heloName, source } = egressOf(options, job);
      return openSession(target, {
        clock,
        heloName,
        openMs,
        ownConnections: options.ownConnections,
        localAddress: target.address.includes(':') ? source?.v6 : source?.v4,
        timeouts,
        signal,
        tls: {
          ...options.tls,
          policy: job.tls === 'opportunistic' ? 'opportunistic' : 'enforced',
          verifyEnforced: job.tls === 'verified' || (options.tls?.verifyEnforced ?? false),
          skip,
        },
      });
    },
  });

  const tryOnce = async (job: DeliveryJob, ctx: DeliverContext, fresh: boolean): Promise<Try | 'stale'> => {
    const lease = await pool.acquire(job, ctx.signal, fresh);
    if (lease.kind !== 'lease') return { outcomes: forEachRecipient(job, lease), family: undefined };
    const { session } = lease;
    let ending: Ending | undefined;
    count[session.used === 0 ? 'onFreshConnection' : 'onReusedConnection'] += 1;
    try {
      const sent = await transmit(session, job, ctx);
      ending = endingOf(session, sent);
      if (sent.kind === 'stale') return 'stale';
      ctx.onConversation?.(conversationOf(session));
      if (options.onTrouble && sent.outcomes.some((outcome) => outcome.kind !== 'delivered')) {
        options.onTrouble({ job, outcomes: sent.outcomes, ...conversationOf(session) });
      }
      return { outcomes: sent.outcomes, family: familyOf(session.connection.address) };
    } finally {
      pool.release(job, session, ending);
    }
  };

  const tryTwice = async (job: DeliveryJob, ctx: DeliverContext): Promise<Try> => {
    const first = await tryOnce(job, ctx, false);
    const last = first === 'stale' ? await tryOnce(job, ctx, true) : first;
    if (last !== 'stale') return last;
    const detail = `The mail host of ${job.domain} closed two connections in a row before it took the sender`;
    const outcomes = forEachRecipient(job, { kind: 'deferred', reason: 'connection_lost', detail });
    return { outcomes, family: undefined };
  };

  /** Tries the other address family after a refusal that may concern our address of this one alone. */
  const tryOtherFamily = async (job: DeliveryJob, ctx: DeliverContext, refused: Try): Promise<RecipientOutcome[]> => {
    const { outcomes } = refused;
    const other = otherFamily(job, refused);
    if (other === undefined || ctx.signal.aborted) return outcomes;
    if (other === 'v4' && outcomes.some(isRefusalOfV6)) families.noteRefusalOfV6(job);
    if (egressOf(options, job).smarthost) return outcomes;
    const place = { ...job, families: `${other} only` as const };
    if ((await route(place)).kind !== 'route') return outcomes;
    const again = await tryTwice(place, ctx);
    // A receiver that cannot be reached this way has answered the other way.
    return again.family === undefined ? outcomes : again.outcomes;
  };

  return {
    async deliver(job, ctx) {
      const place = { ...job, families: families.orderFor(job) };
      let earlier: string[] = [];
      const told: DeliverContext = {
        ...ctx,
        onConversation: (conversation) => {
          const transcript = [...earlier, ...conversation.transcript];
          earlier = transcript;
          ctx.onConversation?.({ ...conversation, transcript });
        },
      };
      return tryOtherFamily(place, told, await tryTwice(place, told));
    },
    isDown: (place) => pool.isDown({ ...place, families: families.orderFor(place) }),
    close: pool.close,
    stats: () => ({ ...pool.stats(), ...count }),
  };
}

function conversationOf({ mx, tls, connection }: SmtpSession): Conversation {
  return { mx, address: connection.address, tls, transcript: connection.transcript.lines() };
}

/** One dialogue; `family` is undefined where no server was spoken to. */
interface Try {
  outcomes: RecipientOutcome[];
  family: Family | undefined;
}

/** Names the family that is worth a second try; undefined where some recipient was accepted, or the refusal is about the mail. */
function otherFamily(job: DeliveryJob, { outcomes, family }: Try): Family | undefined {
  const isRefused = outcomes.every(({ kind }) => kind === 'bounced' || kind === 'deferred');
  if (family === undefined || !isRefused) return undefined;
  const isOfFamily = family === 'v6' && outcomes.some(isRefusalOfV6);
  const isFirstByRule = job.attempt === 1 && outcomes.some(isRefusalByRule);
  if (!isOfFamily && !isFirstByRule) return undefined;
  return family === 'v6' ? 'v4' : 'v6';
}

/** How a job's connections leave this machine. */
function egressOf(
  options: DeliverOptions,
  job: DeliveryJob,
): { heloName: string; source: Egress['sourceAddress']; smarthost: Egress['smarthost'] } {
  const egress = options.regionOf?.(job.region) ?? {};
  const { heloName = options.heloName, sourceAddress: source = options.sourceAddress, smarthost } = egress;
  return { heloName, source, smarthost };
}

function egressKeyOf(options: DeliverOptions, job: DeliveryJob): string {
  const { heloName, source } = egressOf(options, job);
  return [heloName, source?.v4, source?.v6].join(' ');
}

function createRouting(options: DeliverOptions, random: () => number): (job: DeliveryJob) => Promise<Route> {
  const guard = createAddressGuard(options.allowPrivate ?? []);
  const ownHostNames = (options.ownHostNames ?? []).map((name) => name.toLowerCase());
  const ownExchangers = (options.ownExchangers ?? []).map((name) => name.toLowerCase());
  return (job) => {
    const { source, smarthost } = egressOf(options, job);
    const order = job.families ?? 'v4 first';
    const families = {
      v4: order !== 'v6 only' && (source === undefined || source.v4 !== undefined),
      v6: order !== 'v4 only' && (source === undefined || source.v6 !== undefined),
    };
    const first = order.startsWith('v6') ? 'v6' : 'v4';
    const { resolver, smtpPort = 25, takesMailFor = () => Promise.resolve(false) } = options;
    if (smarthost) return planSmarthost(smarthost, { resolver, families, first });
    return planRoute(job.domain, {
      resolver,
      guard,
      random,
      smtpPort,
      ownHostNames,
      ownExchangers,
      takesMailFor,
      families,
      first,
    });
  };
}
