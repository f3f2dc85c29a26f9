import { createWorkLoop, type Claim, type Claimed } from '../../platform/work-loop/index.ts';
import type { World } from '../../platform/world.ts';
import { createSendSwitch } from '../../tenancy/instance/index.ts';
import type { Batch, Composer } from '../compose/index.ts';
import type { Deliver } from '../deliver/index.ts';
import { createProcessDelivery, untilWritten, type Settle } from './process-delivery.ts';
import { nextDueAt } from './deliveries.store.ts';
import type { HandOffLog } from './hand-off-log.ts';
import { createHeldAgain, createLedger } from './claim.ts';
import { BulkWindow } from './bulk-window.ts';
import { createInFlight } from './in-flight.ts';
import { LaneScheduler, isBulk, isRetrying, laneNumber, LANES, WEIGHTS, type Lane } from './lanes.ts';
import { createOrphanedClaims } from './recover.ts';
import type { ClaimedDelivery, ObstacleRule } from './rules.ts';
import { stopwatch } from '../../platform/clock.ts';

/** Number of simultaneous callers that counts as contention. */
const CONTENDED_CALLERS = 12;
/** Contention counts for this long after it was last seen: the next requests of the same callers are on their way. */
const CONTENDED_MS = 250;
/** Maximum number of deliveries in flight that were begun under contention. */
const THROTTLED_MAX = 16;
const LONG_SCAN_MS = 100;
const COOLDOWN_PER_SCAN = 10;

/** Measures whether many callers wait for their commits at the same time. */
interface ContentionGauge {
  isContended(): boolean;
  /** Counts a caller until its commit ends; returns the commit. */
  track<T>(commit: Promise<T>): Promise<T>;
}

export function createContentionGauge(): ContentionGauge {
  let waiting = 0;
  let sinceContendedMs = (): number => Number.POSITIVE_INFINITY;
  return {
    isContended: () => sinceContendedMs() < CONTENDED_MS,
    track(commit) {
      if (++waiting >= CONTENDED_CALLERS) sinceContendedMs = stopwatch();
      return commit.finally(() => waiting--);
    },
  };
}

/** Slows delivery down while accepting is contended; delivery catches up afterwards. */
interface Throttle {
  readonly isOn: boolean;
  /** Reads the contention again; returns how many deliveries may begin. */
  free(): number;
  /** Counts one delivery; the returned function ends it. */
  begin(): () => void;
}

/**
 * Creates the throttle. Every `extraMs` another `THROTTLED_MAX` deliveries may begin, because those in flight may be
 * slow ones.
 */
function createThrottle(isContended: () => boolean, extraMs: number): Throttle {
  let isOn = false;
  let begun = 0;
  let sinceExtraMs = stopwatch();
  return {
    get isOn() {
      return isOn;
    },
    free() {
      isOn = isContended();
      if (!isOn) return Number.POSITIVE_INFINITY;
      const free = THROTTLED_MAX - begun;
      if (free > 0) return free;
      if (sinceExtraMs() < extraMs) return 0;
      sinceExtraMs = stopwatch();
      return THROTTLED_MAX;
    },
    begin() {
      const one = isOn ? 1 : 0;
      begun += one;
      return () => void (begun -= one);
    },
  };
}

/** Remembers for a while that a scan past a team's or a destination's backlog took long. */
interface ScanCooldown {
  isOn(): boolean;
  startAfter(tookMs: number): void;
}

function createScanCooldown(): ScanCooldown {
  let isOn = (): boolean => false;
  return {
    isOn: () => isOn(),
    startAfter(tookMs) {
      if (tookMs <= LONG_SCAN_MS) return;
      const elapsedMs = stopwatch();
      isOn = () => elapsedMs() < tookMs * COOLDOWN_PER_SCAN;
    },
  };
}

export interface QueueOptions {
  world: World;
  deliver: Deliver;
  composer: Composer;
  settle: Settle;
  handOffLog: HandOffLog;
  /** Reports whether many callers wait for their commits, so that delivery is to be throttled. */
  isContended(): boolean;
  /** Knows which destinations are down or suspended. */
  obstacles?: ObstacleRule;
  /** Reports whether other processes still use connections that this one takes over, so that nothing is claimed yet. */
  isJoining?: () => boolean;
}

export interface Queue {
  start(): void;
  /** Notifies the queue of new work. */
  wake(): void;
  /** Claims nothing more, waits `graceMs` for deliveries in flight, then interrupts the others, which are offered again. */
  stop(graceMs: number): Promise<void>;
  inFlight(): number;
  /** Resolves when nothing that can be claimed is due and nothing is in flight. */
  idle(): Promise<void>;
}

/** Mail in the lane of retries is tried at a destination that is down, because the attempt may be the one that succeeds. */
const onlySuspensions = (rule: ObstacleRule): ObstacleRule => ({
  ...rule,
  findObstacle(row, senderDomain) {
    const obstacle = rule.findObstacle(row, senderDomain);
    return obstacle?.kind === 'suspended' ? obstacle : undefined;
  },
});

/** A delivery that is being processed. */
interface Work {
  delivery: ClaimedDelivery;
  batch: Batch;
}

/**
 * After a scan that took long, claims look for a while at so many due deliveries of each team to find some that are not over a
 * limit, so that the backlog of one team does not pause the mail of the others.
 */
const SHORT_SCAN_ROWS = 500;
const CLAIM_MAX = WEIGHTS.transactional.claimMax;
const NOTHING: Claimed<Work> = { items: [], left: 'nothing' };
const BLOCKED: Claimed<Work> = { items: [], left: 'blocked' };

/** Decides what is claimed, how much, and from which lane; the work loop decides when. */
export function createQueue(options: QueueOptions): Queue {
  const { world, composer, handOffLog } = options;
  const { max_in_flight: inFlightMax, poll_ms: pollMs, lease_seconds: leaseSeconds } = world.config.delivery;
  const inFlight = createInFlight(inFlightMax);
  const throttle = createThrottle(options.isContended, pollMs);
  const bulk = new BulkWindow(inFlightMax, world.loopDelay, () => world.clock.steady());
  const lanes = new LaneScheduler();
  const scanCooldown = createScanCooldown();
  const sendSwitch = createSendSwitch(world);
  const ledger = createLedger(world, handOffLog.owner);
  const carryDelivery = createProcessDelivery({ ...options, intend: ledger.intend });
  const loop = createWorkLoop<Work>({
    name: 'queue',
    clock: world.clock,
    log: world.log,
    pollMs,
    claim,
    process: processDelivery,
    releaseUnstarted,
    describe: ({ delivery }) => ({ emailId: delivery.row.email_id }),
    renew: { everyMs: (leaseSeconds * 1000) / 3, work: renew },
    capacity: () => Math.min(CLAIM_MAX, inFlight.free, throttle.free()),
    endedPerLook: Math.max(1, Math.min(CLAIM_MAX, Math.floor(inFlightMax / 10))),
  });
  const orphans = createOrphanedClaims(world, { unclaimAllBut: ledger.unclaimAllBut, wake: loop.wake.bind(loop) });
  const heldAgain = createHeldAgain({ inProgress: () => loop.items(), unclaimAllBut: ledger.unclaimAllBut });

  async function claim(request: Claim<Work>): Promise<Claimed<Work>> {
    try {
      await orphans.release(() => toIds(loop.items()));
      // While the operator's switch is off, mail that was accepted before waits too.
      if (!(await sendSwitch()).isOn || options.isJoining?.()) return NOTHING;
      return await claimLane(lanes.lane, request);
    } catch (error) {
      orphans.suspect();
      throw error;
    }
  }

  async function claimLane(lane: Lane, { limit, signal }: Claim<Work>): Promise<Claimed<Work>> {
    const asOf = world.clock.now();
    const allowed = lanes.quota({ limit, isThrottled: throttle.isOn });
    const quota = isBulk(lane) ? bulk.admit(allowed) : allowed;
    if (quota === 0 && allowed > 0) {
      const goesOn = lanes.skip({ now: asOf, isThrottled: throttle.isOn });
      return { items: [], left: goesOn ? 'more' : 'blocked', nextAt: () => nextAt(asOf) };
    }
    const atLimit = inFlight.atLimit(lane);
    if (quota === 0) {
      lanes.endPass();
      return BLOCKED;
    }
    // Whenever a claim may not get all that is due, it divides its limit among the teams.
    const isShared = atLimit !== undefined || lanes.isBacklogged(lane) || isRetrying(lane) || isBulk(lane);
    const { due, isMore, movedToRetrying, tookMs, ...found } = await ledger.claim({
      lane,
      limit: quota,
      ...(isShared
        ? {
            share: {
              atLimit,
              isBehind: isBulk(lane) && lanes.isBacklogged(toTransactionalLane(lane)),
              scanMax: scanCooldown.isOn() ? SHORT_SCAN_ROWS : undefined,
            },
          }
        : {}),
      ...(options.obstacles
        ? { obstacles: isRetrying(lane) ? onlySuspensions(options.obstacles) : options.obstacles }
        : {}),
    });
    const claimed = await heldAgain.without(found.claimed);
    if (atLimit) scanCooldown.startAfter(tookMs);
    if (movedToRetrying > 0) for (const to of RETRYING) lanes.expectAt(to, world.clock.now());
    const goesOn = lanes.goOn(
      { lane, due, begun: claimed.length, isMore },
      { now: world.clock.now(), isThrottled: throttle.isOn, startsOver: loop.state() === 'woken' },
    );
    const items = await opened(claimed, signal);
    if (goesOn) return { items, left: 'more' };
    return { items, left: atLimit || isMore ? 'blocked' : 'nothing', nextAt: () => nextAt(asOf) };
  }

  /** Opens a batch for the claims. If that fails, they are unclaimed at once instead of when their lease expires. */
  async function opened(claimed: ClaimedDelivery[], signal: AbortSignal): Promise<Work[]> {
    if (claimed.length === 0) return [];
    const rows = claimed.map(({ row }) => row);
    try {
      const batch = await composer.open(rows);
      return claimed.map((delivery) => ({ delivery, batch }));
    } catch (error) {
      await untilWritten(world, signal, () => ledger.unclaim(rows.map(({ id }) => id)));
      throw error;
    }
  }

  async function releaseUnstarted(items: readonly Work[], signal: AbortSignal): Promise<void> {
    if (items.length > 0) await untilWritten(world, signal, () => ledger.unclaim(toIds(items)));
  }

  async function processDelivery({ delivery, batch }: Work, signal: AbortSignal): Promise<void> {
    const { row } = delivery;
    const relieve = throttle.begin();
    inFlight.enter(row);
    lanes.begin(row.lane);
    const endBulk = isBulk(row.lane) ? bulk.begin() : undefined;
    try {
      await carryDelivery(delivery, batch, signal);
    } finally {
      relieve();
      inFlight.leave(row);
      lanes.end(row.lane);
      if (endBulk?.() || lanes.mayRetry(world.clock.now())) loop.wake();
    }
  }

  /**
   * Returns when the loop polls next, after a pass over what was due at `asOf`; undefined: when deliveries end, or at
   * the next poll.
   */
  async function nextAt(asOf: number): Promise<number | undefined> {
    const dueAt = await nextDueAt(world.db, handOffLog.owner, asOf);
    // A lane whose next delivery was due sooner than the scheduler knew was left out of this pass: start another at
    // once.
    const isNews = dueAt.filter((at, lane) => lane > 0 && lanes.expectAt(lane as Lane, at) && at <= asOf).length > 0;
    if (isNews) return asOf;
    const next = Math.min(...dueAt.filter((at) => at > asOf));
    // Deliveries that are due and were not claimed are over a limit: the end of a delivery wakes the loop for them.
    return Math.min(...dueAt) <= asOf && next > world.clock.now() ? undefined : next;
  }

  /** Renews the leases, so that no other node is offered a slow delivery while this process lives. */
  async function renew(items: readonly Work[]): Promise<void> {
    orphans.checkOnce();
    if (items.length > 0) await ledger.renew(toIds(items));
  }

  return {
    start: () => loop.start(),
    wake: () => loop.wake(),
    async stop(graceMs) {
      orphans.stop();
      await loop.stop(graceMs);
      await untilWritten(world, AbortSignal.abort(), () => heldAgain.releaseUnstarted());
      await world.commits.settled();
    },
    inFlight: () => loop.inFlight(),
    idle: () => loop.idle(),
  };
}

const RETRYING: readonly Lane[] = LANES.map(laneNumber).filter(isRetrying);
/** Returns the lane of the same teams' transactional mail. */
const toTransactionalLane = (lane: Lane): Lane => (lane & ~1) as Lane;

const toIds = (items: readonly Work[]): string[] => items.map(({ delivery }) => delivery.row.id);
