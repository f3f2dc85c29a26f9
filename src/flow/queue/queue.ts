import type { World } from '../../platform/world/index.ts';
import { DomainRemoved, type Composer } from '../compose/index.ts';
import type { Deliver, HandOff } from '../deliver/index.ts';
import { claimDeliveries, type ClaimedDelivery, type ClaimRequest } from './claim.ts';
import { nextDueAt, recordHandOffs, type DeliveryRow } from './deliveries.store.ts';
import type { HandOffLog } from './hand-off-log.ts';
import type { Outcome } from './outcome.ts';

/** Writes what came out of one delivery; durable when it resolves. */
export type Settle = (row: DeliveryRow, outcomes: Outcome[]) => Promise<void>;

export interface QueueOptions {
  world: World;
  deliver: Deliver;
  composer: Composer;
  settle: Settle;
  handOffLog: HandOffLog;
}

export interface Queue {
  start(): void;
  /** There is new work. */
  wake(): void;
  /** Claims nothing more and gives what is under way `graceMs` to end; the rest is interrupted and offered again. */
  stop(graceMs: number): Promise<void>;
  inFlight(): number;
  /** Resolves when nothing is due and nothing is under way. */
  idle(): Promise<void>;
}

const CLAIM_MAX = 200;

export function createQueue(options: QueueOptions): Queue {
  const { world, composer } = options;
  const { max_in_flight: inFlightMax, poll_ms: pollMs } = world.config.delivery;
  const interrupt = new AbortController();
  const underWay = new Set<Promise<void>>();
  const perDestination = new Map<string, number>();
  let state: 'new' | 'running' | 'stopped' = 'new';
  let looking = false;
  let lookAgain = false;
  let cancelTimer: (() => void) | undefined;
  let idleWaiters: (() => void)[] = [];

  const claim = world.commits.lane<Omit<ClaimRequest, 'owner'>, ClaimedDelivery[]>(async (tx, requests) => {
    const claims: ClaimedDelivery[][] = [];
    for (const request of requests) {
      claims.push(await claimDeliveries(world, tx, { ...request, owner: options.handOffLog.owner }));
    }
    return claims;
  });
  const intend = world.commits.lane<string, void>(async (tx, ids) => {
    const held = await recordHandOffs(tx, options.handOffLog.owner, ids, world.clock.now());
    return ids.map((id) => (held.has(id) ? undefined : new Error('the lease of this delivery is no longer ours')));
  });

  async function look(): Promise<void> {
    if (looking) {
      lookAgain = true;
      return;
    }
    looking = true;
    cancelTimer?.();
    do {
      lookAgain = false;
      try {
        await claimAll();
      } catch (error) {
        world.log.error({ err: error }, 'could not claim from the queue');
      }
    } while (lookAgain && state === 'running');
    await setTimer();
    looking = false;
    if (underWay.size === 0) tellIdle();
  }

  async function claimAll(): Promise<void> {
    while (state === 'running') {
      const limit = Math.min(CLAIM_MAX, inFlightMax - underWay.size);
      if (limit <= 0) return;
      // One slow destination may fill half of what is in memory, and no more: the other half is everybody else's.
      const exceptDestinations = [...perDestination].filter(([, n]) => n >= inFlightMax / 2).map(([name]) => name);
      const claimed = await claim({ limit, exceptDestinations });
      if (claimed.length === 0) return;
      const batch = await composer.open(claimed.map((delivery) => delivery.row));
      for (const delivery of claimed) begin(delivery, batch);
      if (claimed.length < limit) return;
    }
  }

  function begin(delivery: ClaimedDelivery, batch: Awaited<ReturnType<Composer['open']>>): void {
    const { destination } = delivery.row;
    perDestination.set(destination, (perDestination.get(destination) ?? 0) + 1);
    const work = run(delivery, batch)
      .catch((error: unknown) => {
        // The lease runs out and the delivery is offered again, or it stands behind its dot and waits.
        world.log.error({ err: error, emailId: delivery.row.email_id }, 'a delivery could not be carried through');
      })
      .finally(() => {
        underWay.delete(work);
        options.handOffLog.clear(delivery.row.id);
        const left = (perDestination.get(destination) ?? 1) - 1;
        if (left === 0) perDestination.delete(destination);
        else perDestination.set(destination, left);
        if (underWay.size < inFlightMax / 2 && (wantsMore || underWay.size === 0)) wake();
      });
    underWay.add(work);
    if (underWay.size >= inFlightMax) wantsMore = true;
  }
  let wantsMore = false;

  async function run(delivery: ClaimedDelivery, batch: Awaited<ReturnType<Composer['open']>>): Promise<void> {
    const { row, recipients } = delivery;
    const outcomes: Outcome[] = [...delivery.decided];
    try {
      if (recipients.length > 0) outcomes.push(...(await attempt(row, recipients, batch)));
    } finally {
      batch.release(row.email_id);
    }
    await options.settle(row, outcomes);
  }

  async function attempt(
    row: DeliveryRow,
    recipients: string[],
    batch: Awaited<ReturnType<Composer['open']>>,
  ): Promise<Outcome[]> {
    const mailFrom = batch.returnPath(row.email_id);
    if (mailFrom === undefined)
      return recipients.map((address) => ({ kind: 'failed', address, reason: 'domain_removed' }));
    const job = {
      id: row.id,
      emailId: row.email_id,
      teamId: row.team_id,
      domain: row.destination,
      recipients,
      mailFrom,
      region: row.region,
      tls: row.tls,
      attempt: row.attempt,
    };
    const handOff: HandOff = { intend: () => intend(row.id), mark: () => options.handOffLog.mark(row.id) };
    try {
      return await options.deliver(job, {
        message: () => batch.message(row.email_id),
        handOff,
        signal: interrupt.signal,
      });
    } catch (error) {
      if (!(error instanceof DomainRemoved)) throw error;
      return recipients.map((address) => ({ kind: 'failed', address, reason: 'domain_removed' }));
    }
  }

  async function setTimer(): Promise<void> {
    if (state !== 'running') return;
    let waitMs = pollMs;
    try {
      const next = await nextDueAt(world.db);
      if (next !== undefined) waitMs = Math.min(pollMs, Math.max(1, next - world.clock.now()));
    } catch (error) {
      world.log.error({ err: error }, 'could not look at the queue');
    }
    // Another look may have begun while the database was asked.
    if (state === 'running') cancelTimer = world.clock.timer(waitMs, wake);
  }

  function wake(): void {
    if (state !== 'running') return;
    wantsMore = false;
    void look();
  }

  function tellIdle(): void {
    if (looking || underWay.size > 0) return;
    const waiters = idleWaiters;
    idleWaiters = [];
    for (const tell of waiters) tell();
  }

  return {
    start() {
      state = 'running';
      wake();
    },
    wake,
    async stop(graceMs) {
      state = 'stopped';
      cancelTimer?.();
      const ended = Promise.allSettled(underWay);
      const timer = setGrace(graceMs, () => interrupt.abort());
      await ended;
      timer();
      await world.commits.settled();
    },
    inFlight: () => underWay.size,
    async idle() {
      if (!looking && underWay.size === 0) return;
      await new Promise<void>((resolve) => idleWaiters.push(resolve));
    },
  };

  function setGrace(graceMs: number, fire: () => void): () => void {
    if (graceMs > 0) return world.clock.timer(graceMs, fire);
    fire();
    return () => undefined;
  }
}
