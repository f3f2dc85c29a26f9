import type { Clock } from '../../platform/clock/index.ts';
import { createConnectionSlots } from './connection-slots.ts';
import type { DestinationLimits, DestinationOptions, Lease } from './destination.ts';
import { Destination } from './destination.ts';
import type { Route, Target } from './mx-route.ts';
import type { DeliveryJob } from './outcome.ts';
import type { Opened, SmtpSession } from './smtp-session.ts';

export interface DestinationPoolOptions {
  limits: DestinationLimits & { connectionsTotalMax: number };
  route: (job: DeliveryJob) => Promise<Route>;
  open: (job: DeliveryJob, target: Target, skipTls: boolean, signal: AbortSignal) => Promise<Opened>;
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
  acquire(job: DeliveryJob, signal: AbortSignal, fresh: boolean): Promise<Lease>;
  release(job: DeliveryJob, session: SmtpSession): void;
  stats(): PoolStats;
  /** Transactions under way may end within the grace; then their connections are cut. */
  close(graceMs: number): Promise<void>;
}

const SWEEP_EVERY = 256;

/**
 * Connections by destination: the domain, the region it is sent from, and the TLS policy. A slow destination holds up
 * only its own mail, because what waits for a connection waits in its destination's own line.
 */
export function createDestinationPool(options: DestinationPoolOptions): DestinationPool {
  const destinations = new Map<string, Destination>();
  const idleSessions: DestinationOptions['idleSessions'] = new Map();
  const slots = createConnectionSlots(options.limits.connectionsTotalMax, () => {
    for (const [session, destination] of idleSessions) return destination.yieldIdle(session);
  });
  let isClosing = false;
  let onLeft = (): void => {};

  const isEmpty = (): boolean => [...destinations.values()].every((each) => each.connections === 0);
  const untilEmpty = async (limitMs: number): Promise<void> => {
    if (limitMs <= 0 || isEmpty()) return;
    await new Promise<void>((done) => {
      const cancel = options.clock.timer(limitMs, done);
      onLeft = () => {
        if (!isEmpty()) return;
        cancel();
        done();
      };
    });
  };

  const destinationOf = (job: DeliveryJob): Destination => {
    const key = `${job.domain} ${job.region} ${job.tls}`;
    const known = destinations.get(key);
    if (known) return known;
    if (destinations.size % SWEEP_EVERY === SWEEP_EVERY - 1) forgetQuietOnes(destinations);
    const destination = new Destination({
      limits: options.limits,
      slots,
      idleSessions,
      route: () => options.route(job),
      open: (target, skipTls, signal) => options.open(job, target, skipTls, signal),
      clock: options.clock,
      now: options.now,
      random: options.random,
      quitMs: options.quitMs,
      onLeft: () => onLeft(),
    });
    if (isClosing) destination.stop();
    destinations.set(key, destination);
    return destination;
  };

  return {
    acquire: (job, signal, fresh) => destinationOf(job).acquire(signal, fresh),
    release: (job, session) => destinationOf(job).release(session),
    stats: () => statsOf(destinations),
    async close(graceMs) {
      isClosing = true;
      for (const destination of destinations.values()) destination.stop();
      await untilEmpty(graceMs);
      for (const destination of destinations.values()) destination.abandon();
      await untilEmpty(options.quitMs);
    },
  };
}

function forgetQuietOnes(destinations: Map<string, Destination>): void {
  for (const [key, destination] of destinations) if (destination.isForgettable) destinations.delete(key);
}

function statsOf(destinations: Map<string, Destination>): PoolStats {
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
