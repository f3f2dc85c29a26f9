import { repeat } from '../../platform/clock/index.ts';
import type { World } from '../../platform/world/index.ts';
import { createSendSwitch } from '../../resources/instance/index.ts';
import type { Batch, Composer } from '../compose/index.ts';
import type { Deliver } from '../deliver/index.ts';
import { createCarry, untilWritten, type Settle } from './carry.ts';
import type { ClaimedDelivery } from './claim.ts';
import { nextDueAt, renewLeases, type DeliveryRow } from './deliveries.store.ts';
import { createFailingLane } from './failing-lane.ts';
import type { HandOffLog } from './hand-off-log.ts';
import { createInFlight, type Crowded } from './in-flight.ts';
import { createStrays } from './late-commits.ts';
import { createLedger } from './ledger.ts';
import { createPressure, createRest } from './restraint.ts';

export interface QueueOptions {
  world: World;
  deliver: Deliver;
  composer: Composer;
  settle: Settle;
  handOffLog: HandOffLog;
  /** Whether more callers wait for their answer than one commit can serve. */
  isPressed(): boolean;
  /** Whether a delivery's destination is known to be down. */
  isDown?(row: DeliveryRow): boolean;
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

export function createQueue(options: QueueOptions): Queue {
  const { world, composer, handOffLog } = options;
  const { owner } = handOffLog;
  const { max_in_flight: inFlightMax, poll_ms: pollMs, lease_seconds: leaseSeconds } = world.config.delivery;
  const leaseMs = leaseSeconds * 1000;
  const inFlight = createInFlight(inFlightMax);
  const failing = createFailingLane();
  const strays = createStrays(world, { unclaimAllBut: (carried) => ledger.unclaimAllBut(carried), wake });
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
  const rest = createRest();
  /** More is due than one claim takes: the teams are claimed from in turn, or one's backlog would come before everybody. */
  let isBacklogged = false;
  const pressure = createPressure(options.isPressed, pollMs);
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
      strays.suspect();
      world.log.error({ err: error }, 'could not take work from the queue');
    }
    looking = undefined;
    if (state === 'running') cancelPoll = world.clock.timer(waitMs, wake);
    tellIdle();
  }

  async function claimAll(): Promise<void> {
    leftBehind = false;
    endedSince = 0;
    await strays.takeBack(() => [...underWay.keys()]);
    // What was accepted before the operator's switch was moved waits for it.
    if (!(await sendSwitch()).isOn) return;
    const begun = await claimUsual();
    await claimFailing(begun);
  }

  /** Answers how many were begun. */
  async function claimUsual(): Promise<number> {
    for (let begun = 0; ;) {
      const limit = Math.min(CLAIM_MAX, inFlight.free, pressure.free());
      const crowded = whoIsCrowded();
      leftBehind ||= limit === 0;
      if (state !== 'running' || limit === 0 || (crowded && rest.isOn())) return begun;
      const { claimed, isMore, putAside, tookMs } = await ledger.claim({
        limit,
        ...(isBacklogged || crowded ? { share: { crowded } } : {}),
        ...(options.isDown ? { isDown: options.isDown } : {}),
      });
      isBacklogged = isMore;
      if (crowded) rest.after(tookMs);
      if (putAside > 0) failing.expectAt(world.clock.now());
      if (claimed.length > 0) await beginAll(claimed, false);
      begun += claimed.length;
      if (!isMore) return begun;
    }
  }

  /** Small slices, so that mail that has just been accepted never waits for a long one. */
  async function claimFailing(begun: number): Promise<void> {
    failing.earn(begun);
    do {
      if (state !== 'running' || !failing.isDue(world.clock.now())) return;
      const limit = Math.min(inFlight.free, failing.turn({ isCalm: begun === 0 && !pressure.isOn }));
      const crowded = whoIsCrowded();
      leftBehind ||= limit === 0;
      if (limit === 0 || (crowded && rest.isOn())) return;
      const { claimed, due, isMore, tookMs } = await ledger.claim({ limit, isFailing: true, share: { crowded } });
      failing.spend(due);
      if (crowded) rest.after(tookMs);
      if (claimed.length > 0) await beginAll(claimed, true);
      if (!isMore) return;
    } while (!lookAgain);
  }

  function whoIsCrowded(): Crowded | undefined {
    const crowded = inFlight.crowded();
    leftBehind ||= crowded !== undefined;
    return crowded;
  }

  /** Claims that cannot be begun are given back at once, not when their lease runs out. */
  async function beginAll(claimed: ClaimedDelivery[], isFailing: boolean): Promise<void> {
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
    for (const delivery of claimed) begin(delivery, batch, isFailing);
  }

  function begin(delivery: ClaimedDelivery, batch: Batch, isFailing: boolean): void {
    const relieve = pressure.begin();
    inFlight.enter(delivery.row);
    if (!isFailing) failing.othersBegin();
    const work = carry(delivery, batch).finally(() => {
      relieve();
      underWay.delete(delivery.row.id);
      inFlight.leave(delivery.row);
      if (!isFailing) failing.othersEnd();
      endedSince++;
      const isTheirTurn = failing.isAlone && failing.isDue(world.clock.now());
      if (inFlight.isEmpty || (leftBehind && endedSince >= enoughEnded) || (isTheirTurn && !isFailing)) wake();
    });
    underWay.set(delivery.row.id, work);
  }

  /** After a look that began at `asOf`. */
  async function untilNextDue(asOf: number): Promise<number> {
    const dueAt = await nextDueAt(world.db, owner);
    const isNews = failing.expectAt(dueAt.failing) && (dueAt.failing ?? Infinity) <= asOf;
    const now = world.clock.now();
    // While we looked.
    const fellDue = (at = Infinity): boolean => at > asOf && at <= now;
    const next = Math.min(dueAt.usual ?? Infinity, dueAt.failing ?? Infinity);
    lookAgain ||= isNews || fellDue(dueAt.usual) || fellDue(dueAt.failing);
    // What was due already was left behind: it is looked for when room is made, not in a busy loop.
    return next <= asOf ? pollMs : Math.min(pollMs, next - now);
  }

  /** However long a delivery takes, nobody else is offered it while this process lives. */
  async function renew(): Promise<void> {
    strays.lookOnce();
    if (inFlight.isEmpty) return;
    await renewLeases(world.db, owner, [...underWay.keys()], world.clock.now() + leaseMs).catch((error: unknown) =>
      world.log.error({ err: error }, 'could not renew the leases of what is under way'),
    );
  }

  const isIdle = (): boolean => looking === undefined && inFlight.isEmpty;

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
      strays.stop();
      const cancelGrace = afterGrace(world, graceMs, () => interrupt.abort());
      // A claim may be under way still: what it takes is given back, so nothing begins any more.
      await looking;
      await Promise.all(underWay.values());
      cancelGrace();
      stopRenewing();
      await world.commits.settled();
      tellIdle();
    },
    inFlight: () => inFlight.count,
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
