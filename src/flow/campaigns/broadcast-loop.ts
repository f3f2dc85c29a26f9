import type { World } from '../../platform/world/index.ts';
import { createWorkLoop, type WorkLoop } from '../../platform/work-loop/index.ts';
import {
  claimDueBroadcasts,
  nextBroadcastAt,
  releaseAllBroadcasts,
  releaseBroadcast,
  renewLease,
  type BroadcastRow,
} from '../../resources/broadcasts/index.ts';
import { broadcastsInQueue } from '../mail/queue/index.ts';
import { createCarryBroadcast } from './carry-broadcast.ts';
import { judgeBroadcasts } from './judge-broadcasts.ts';

export type Broadcasts = Pick<WorkLoop, 'idle' | 'wake' | 'state'> & {
  start(): Promise<void>;
  /** Without grace: a page is short, and the next start goes on behind it. */
  stop(): Promise<void>;
};

/**
 * The work loop of broadcasts, woken by the commit that sends or resumes one: each is claimed with a lease, carried for some
 * pages from where it stands, and put back, so that broadcasts take turns. `wakeQueue` is called when mail was accepted.
 */
export function createBroadcastLoop(world: World, wakeQueue: () => void): Broadcasts {
  const { db, clock, log, config } = world;
  const { max_at_once: atOnceMax, lease_seconds: leaseSeconds, poll_ms: pollMs } = config.broadcasts;
  const leaseMs = leaseSeconds * 1000;
  const owner = world.ids.uuid();
  const carry = createCarryBroadcast(world, { owner, wakeQueue });
  const loop: WorkLoop<BroadcastRow> = createWorkLoop<BroadcastRow>({
    name: 'broadcasts',
    describe: ({ id }) => ({ broadcastId: id }),
    clock,
    log,
    pollMs,
    capacity: () => atOnceMax - loop.inFlight(),
    async claim({ limit }) {
      // Before the claim, and once a look: most broadcasts have all their emails in the queue before the first of them bounces.
      await judgeBroadcasts(world, await broadcastsInQueue(db));
      const now = clock.now();
      const wanted = Math.min(limit, atOnceMax);
      const items = await db.tx((tx) =>
        claimDueBroadcasts(tx, { owner, now, leaseUntil: now + leaseMs, limit: wanted }),
      );
      const nextAt = (): Promise<number | undefined> => nextBroadcastAt(db, now);
      return { items, left: items.length === wanted ? 'more' : 'nothing', nextAt };
    },
    carry,
    giveBack: async (items) => void (await Promise.all(items.map(({ id }) => releaseBroadcast(db, { id, owner })))),
    renew: {
      everyMs: leaseMs / 3,
      work: async (items) => {
        if (items.length > 0)
          await renewLease(db, { ids: items.map(({ id }) => id), owner, until: clock.now() + leaseMs });
      },
    },
  });
  let stopListening = (): void => undefined;
  return {
    idle: () => loop.idle(),
    wake: () => loop.wake(),
    state: () => loop.state(),
    async start() {
      // SQLite bears one process: a lease of another one is of one that is gone.
      if (db.dialect === 'sqlite') await releaseAllBroadcasts(db);
      stopListening = db.onCommit('broadcasts', () => loop.wake());
      loop.start();
    },
    async stop() {
      stopListening();
      await loop.stop(0);
    },
  };
}
