import { repeat, stopwatch } from '../../platform/clock/index.ts';
import type { World } from '../../platform/world/index.ts';
import { createSendSwitch } from '../../resources/instance/index.ts';
import type { Batch, Composer } from '../compose/index.ts';
import type { Deliver } from '../deliver/index.ts';
import { createCarry, LeaseLost, untilWritten, type Settle } from './carry.ts';
import { claimDeliveries, type ClaimedDelivery, type ClaimRequest } from './claim.ts';
import { nextDueAt, recordHandOffs, renewLeases, unclaim, unclaimAllBut, type Claim } from './deliveries.store.ts';
import type { HandOffLog } from './hand-off-log.ts';
import { createRoom } from './room.ts';

export interface QueueOptions {
  world: World;
  deliver: Deliver;
  composer: Composer;
  settle: Settle;
  handOffLog: HandOffLog;
  /** Whether more callers wait for their answer than one commit can serve. */
  isPressed(): boolean;
}

export interface Queue {
  start(): void;
  /** There is new work. */
  wake(): void;
  /** Claims nothing more and gives what is under way `graceMs` to end; the rest is interrupted and offered again. */
  stop(graceMs: number): Promise<void>;
  inFlight(): number;
  /** Resolves when nothing that can be taken is due and nothing is under way. */
  idle(): Promise<void>;
}

const CLAIM_MAX = 200;
const UNDER_PRESSURE_MAX = 16;
const LONG_LOOK_MS = 100;
const RESTS_PER_LOOK = 10;

export function createQueue(options: QueueOptions): Queue {
  const { world, composer, handOffLog } = options;
  const { owner } = handOffLog;
  const { max_in_flight: inFlightMax, poll_ms: pollMs, lease_seconds: leaseSeconds } = world.config.delivery;
  const leaseMs = leaseSeconds * 1000;
  const room = createRoom(inFlightMax);
  const sendSwitch = createSendSwitch(world);
  /** By delivery. */
  const underWay = new Map<string, Promise<void>>();
  const interrupt = new AbortController();
  const ledger = createLedger(world, owner);
  const carry = createCarry({ ...options, intend: ledger.intend, interrupt: interrupt.signal });

  let state: 'new' | 'running' | 'stopped' = 'new';
  /** The look at the queue that is under way; whoever wakes us meanwhile makes it look once more. */
  let looking: Promise<void> | undefined;
  let lookAgain = false;
  /** Work was left where it is, for want of room; how many have ended since then. */
  let leftBehind = false;
  let endedSince = 0;
  let isResting = (): boolean => false;
  /** A claim whose answer was lost may stand all the same: rows we hold and do not carry. */
  let mayHoldStrays = false;
  let isPressed = false;
  let begunUnderPressure = 0;
  let sinceExtraMs = stopwatch();
  const enoughEnded = Math.max(1, Math.min(CLAIM_MAX, Math.floor(inFlightMax / 10)));
  let cancelPoll = (): void => undefined;
  let stopRenewing = (): void => undefined;
  let idleWaiters: (() => void)[] = [];

  function wake(): void {
    if (state !== 'running') return;
    lookAgain = true;
    looking ??= look();
  }

  async function look(): Promise<void> {
    cancelPoll();
    let waitMs = pollMs;
    try {
      while (lookAgain && state === 'running') {
        lookAgain = false;
        const asOf = world.clock.now();
        await claimAll();
        waitMs = await untilNextDue(asOf);
      }
    } catch (error) {
      mayHoldStrays = true;
      world.log.error({ err: error }, 'could not take work from the queue');
    }
    looking = undefined;
    if (state === 'running') cancelPoll = world.clock.timer(waitMs, wake);
    tellIdle();
  }

  async function claimAll(): Promise<void> {
    leftBehind = false;
    endedSince = 0;
    if (mayHoldStrays) await ledger.unclaimAllBut([...underWay.keys()]);
    mayHoldStrays = false;
    // What was accepted before the operator's switch was moved waits for it.
    if (!(await sendSwitch()).isOn) return;
    while (state === 'running') {
      const limit = Math.min(CLAIM_MAX, room.free, roomUnderPressure());
      const exceptDestinations = room.crowded();
      leftBehind = limit === 0 || exceptDestinations.length > 0;
      if (limit === 0 || (exceptDestinations.length > 0 && isResting())) return;
      const { claimed, due, tookMs } = await ledger.claim({ limit, exceptDestinations });
      if (exceptDestinations.length > 0) restAfter(tookMs);
      if (claimed.length > 0) await beginAll(claimed);
      if (due < limit) return;
    }
  }

  /**
   * While callers wait in a crowd, accepting goes first: delivery keeps a share, and catches up when they are gone. Every
   * `poll_ms` a few more get through, because those under way may be slow ones.
   */
  function roomUnderPressure(): number {
    isPressed = options.isPressed();
    if (!isPressed) return Number.POSITIVE_INFINITY;
    const share = UNDER_PRESSURE_MAX - begunUnderPressure;
    if (share > 0) return share;
    if (sinceExtraMs() < pollMs) return 0;
    sinceExtraMs = stopwatch();
    return UNDER_PRESSURE_MAX;
  }

  /** Looking past a crowded destination reads its whole backlog: a long one is not read again and again. */
  function restAfter(tookMs: number): void {
    if (tookMs <= LONG_LOOK_MS) return;
    const elapsedMs = stopwatch();
    isResting = () => elapsedMs() < tookMs * RESTS_PER_LOOK;
  }

  /** Claims that cannot be begun are given back at once, not when their lease runs out. */
  async function beginAll(claimed: ClaimedDelivery[]): Promise<void> {
    const giveBack = (): Promise<boolean> =>
      untilWritten(world, interrupt.signal, () => ledger.unclaim(claimed.map(({ row }) => row.id)));
    let batch: Batch;
    try {
      batch = await composer.open(claimed.map(({ row }) => row));
    } catch (error) {
      await giveBack();
      throw error;
    }
    if (state !== 'running') return void (await giveBack());
    for (const delivery of claimed) begin(delivery, batch);
  }

  function begin(delivery: ClaimedDelivery, batch: Batch): void {
    const { destination } = delivery.row;
    const underPressure = isPressed ? 1 : 0;
    begunUnderPressure += underPressure;
    room.enter(destination);
    const work = carry(delivery, batch).finally(() => {
      begunUnderPressure -= underPressure;
      underWay.delete(delivery.row.id);
      room.leave(destination);
      endedSince++;
      if (room.isEmpty || (leftBehind && endedSince >= enoughEnded)) wake();
    });
    underWay.set(delivery.row.id, work);
  }

  /** After a look that began at `asOf`. */
  async function untilNextDue(asOf: number): Promise<number> {
    const next = (await nextDueAt(world.db, owner)) ?? Infinity;
    // What was due already was left behind: it is looked for when room is made, not in a busy loop.
    if (next <= asOf) return pollMs;
    // Fallen due while we looked.
    lookAgain ||= next <= world.clock.now();
    return Math.min(pollMs, next - world.clock.now());
  }

  /** However long a delivery takes, nobody else is offered it while this process lives. */
  async function renew(): Promise<void> {
    if (room.isEmpty) return;
    await renewLeases(world.db, owner, [...underWay.keys()], world.clock.now() + leaseMs).catch((error: unknown) =>
      world.log.error({ err: error }, 'could not renew the leases of what is under way'),
    );
  }

  const isIdle = (): boolean => looking === undefined && room.isEmpty;

  function tellIdle(): void {
    if (!isIdle()) return;
    const waiters = idleWaiters;
    idleWaiters = [];
    for (const tell of waiters) tell();
  }

  return {
    start() {
      state = 'running';
      stopRenewing = repeat(world.clock, leaseMs / 3, renew);
      wake();
    },
    wake,
    async stop(graceMs) {
      state = 'stopped';
      cancelPoll();
      const cancelGrace = afterGrace(world, graceMs, () => interrupt.abort());
      // A claim may be under way still: what it takes is given back, so nothing begins any more.
      await looking;
      await Promise.all(underWay.values());
      cancelGrace();
      stopRenewing();
      await world.commits.settled();
      tellIdle();
    },
    inFlight: () => room.count,
    async idle() {
      if (!isIdle()) await new Promise<void>((resolve) => idleWaiters.push(resolve));
    },
  };
}

function afterGrace(world: World, graceMs: number, fire: () => void): () => void {
  if (graceMs > 0) return world.clock.timer(graceMs, fire);
  fire();
  return () => undefined;
}

/** What the queue writes about its own claims; everything that comes together is one commit. */
interface Ledger {
  /** `tookMs`: the statements alone, without the wait for a commit. */
  claim(request: Omit<ClaimRequest, 'owner'>): Promise<{ claimed: ClaimedDelivery[]; due: number; tookMs: number }>;
  intend(claim: Claim): Promise<void>;
  unclaim(deliveryIds: string[]): Promise<void>;
  unclaimAllBut(deliveryIds: string[]): Promise<void>;
}

function createLedger(world: World, owner: string): Ledger {
  const ambiguousMs = world.config.delivery.ambiguous_hours * 3_600_000;
  return {
    claim: world.commits.lane(async (tx, requests) => {
      const claims: Awaited<ReturnType<Ledger['claim']>>[] = [];
      for (const request of requests) {
        const elapsedMs = stopwatch();
        const { claimed, due } = await claimDeliveries(world, tx, { ...request, owner });
        claims.push({ claimed, due, tookMs: elapsedMs() });
      }
      return claims;
    }),
    intend: world.commits.lane<Claim, void>(async (tx, claims) => {
      const now = world.clock.now();
      const held = await recordHandOffs(tx, owner, claims, { now, doubtUntil: now + ambiguousMs });
      return claims.map(({ id }) => (held.has(id) ? undefined : new LeaseLost('another node holds this delivery now')));
    }),
    unclaimAllBut: (ids) => world.db.tx((tx) => unclaimAllBut(tx, owner, ids, world.clock.now())),
    unclaim: (ids) => world.db.tx((tx) => unclaim(tx, owner, ids, world.clock.now())),
  };
}
