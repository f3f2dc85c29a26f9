import type { Clock } from '../../platform/clock.ts';
import { ConnectionSlots } from './connection-slots.ts';
import { Destination } from './destination.ts';
import type { DestinationLimits } from './destination-options.ts';
import type { Ending } from './ending.ts';
import { IdleSessions, type Peer, type PooledSession } from './idle-sessions.ts';
import type { Lease } from './lease.ts';
import { MxAddress } from './mx-address.ts';
import type { Route, Target } from './mx-route.ts';
import type { Opened } from './smtp-session.ts';
import { toTenant } from './waiters-by-tenant.ts';
import { relayKey, type RoutedJob } from './relay.ts';

export interface DestinationPoolOptions {
  limits: DestinationLimits & { connectionsTotalMax: number; connectionsPerAddressMax: number };
  route: (job: RoutedJob) => Promise<Route>;
  open: (job: RoutedJob, target: Target, skipTls: boolean, openMs: number, signal: AbortSignal) => Promise<Opened>;
  /** Returns a key of the job's egress: jobs with different ones share no connection. */
  toEgressKey: (job: RoutedJob) => string;
  clock: Clock;
  now: () => number;
  random: () => number;
  quitMs: number;
}

export interface PoolStats {
  destinations: number;
  connections: number;
  idle: number;
  waiting: number;
  down: number;
}

export interface DestinationPool {
  acquire(job: RoutedJob, signal: AbortSignal, fresh: boolean): Promise<Lease>;
  /** Returns a leased session and says how its transaction ended. */
  release(job: RoutedJob, session: PooledSession, ending: Ending | undefined): void;
  /** Whether the destination's mail would be deferred without being tried. */
  isDown(job: Place & Pick<RoutedJob, 'teamId' | 'isMarketing'>): boolean;
  stats(): PoolStats;
  /** Transactions under way may end within the grace; then their connections are cut. */
  close(graceMs: number): Promise<void>;
}

/** The fields that deliveries must have in common to share connections. */
export type Place = Pick<RoutedJob, 'domain' | 'region' | 'tls' | 'families' | 'relay'>;

const toKey = (place: Place): string =>
  relayKey(place) ?? `${place.domain} ${place.region} ${place.tls} ${place.families}`;

const SWEEP_EVERY = 256;

/**
 * Connections by destination: the domain, the region it is sent from, and the TLS policy; or the relay that it goes through. Deliveries wait in their
 * destination's own queue, so a slow destination holds up only its own mail. A destination without mail passes its
 * connection on to another one behind the same host: one open connection serves all the names of a large provider.
 */
export function createDestinationPool(options: DestinationPoolOptions): DestinationPool {
  const destinations = new Map<string, Destination>();
  const addresses = new Map<string, MxAddress>();
  const idleSessions = new IdleSessions(options.clock, options.limits.idleMs);
  const slots = new ConnectionSlots(options.limits.connectionsTotalMax, idleSessions);
  let isClosing = false;
  let onFewer = (): void => {};

  const isEmpty = (): boolean => [...destinations.values()].every((each) => each.connections === 0);
  const untilEmpty = async (limitMs: number): Promise<void> => {
    if (limitMs <= 0 || isEmpty()) return;
    await new Promise<void>((done) => {
      const cancel = options.clock.timer(limitMs, done);
      onFewer = () => {
        if (!isEmpty()) return;
        cancel();
        done();
      };
    });
  };

  const findAddress = (key: string, connectionsMax: number): MxAddress => {
    const known = addresses.get(key);
    if (known) return known;
    if (addresses.size % SWEEP_EVERY === SWEEP_EVERY - 1) forgetQuietOnes(addresses);
    const { now, random } = options;
    const made = new MxAddress({ connectionsMax, now, random });
    addresses.set(key, made);
    return made;
  };
  const findPeer = (job: RoutedJob, { host, address, port }: Target): Peer => {
    // A connection that is logged in to a relay serves the mail of that relay alone.
    const place = `${relayKey(job) ?? options.toEgressKey(job)} ${address}:${port}`;
    const connectionsMax = job.relay?.connectionsMax ?? options.limits.connectionsPerAddressMax;
    return { address: findAddress(place, connectionsMax), key: `${place} ${host} ${job.relay ? '' : job.tls}` };
  };

  const findDestination = (job: RoutedJob): Destination => {
    const key = toKey(job);
    const known = destinations.get(key);
    if (known) return known;
    if (destinations.size % SWEEP_EVERY === SWEEP_EVERY - 1) forgetQuietOnes(destinations);
    const destination = new Destination({
      limits: limitsFor(job, options.limits),
      slots,
      idleSessions,
      route: () => options.route(job),
      findPeer: (target) => findPeer(job, target),
      open: (target, skipTls, openMs, signal) => options.open(job, target, skipTls, openMs, signal),
      clock: options.clock,
      now: options.now,
      random: options.random,
      quitMs: options.quitMs,
      onFewer: () => onFewer(),
    });
    if (isClosing) destination.stop();
    destinations.set(key, destination);
    return destination;
  };

  return {
    acquire: (job, signal, fresh) => findDestination(job).acquire(toTenant(job), signal, fresh),
    release: (job, session, ending) => findDestination(job).release(toTenant(job), session, ending),
    isDown: (place) => destinations.get(toKey(place))?.findDeferral(toTenant(place)) !== undefined,
    stats: () => countStats(destinations),
    async close(graceMs) {
      isClosing = true;
      for (const destination of destinations.values()) destination.stop();
      await untilEmpty(graceMs);
      for (const destination of destinations.values()) destination.abandon();
      await untilEmpty(options.quitMs);
    },
  };
}

/** A relay has limits of its own in place of those of a destination. */
function limitsFor({ relay }: RoutedJob, limits: DestinationPoolOptions['limits']): DestinationLimits {
  if (relay === undefined) return limits;
  return {
    ...limits,
    // A smarthost takes the mail of many domains, and is one address.
    connectionsMax: relay.connectionsMax ?? limits.connectionsPerAddressMax,
    messagesPerConnectionMax: relay.messagesPerConnectionMax ?? limits.messagesPerConnectionMax,
  };
}

function forgetQuietOnes(known: Map<string, { isForgettable: boolean }>): void {
  for (const [key, one] of known) if (one.isForgettable) known.delete(key);
}

function countStats(destinations: Map<string, Destination>): PoolStats {
  const stats: PoolStats = { destinations: destinations.size, connections: 0, idle: 0, waiting: 0, down: 0 };
  for (const destination of destinations.values()) {
    const { idle, waiting, isDown } = destination.counts;
    stats.connections += destination.connections;
    stats.idle += idle;
    stats.waiting += waiting;
    if (isDown) stats.down += 1;
  }
  return stats;
}
