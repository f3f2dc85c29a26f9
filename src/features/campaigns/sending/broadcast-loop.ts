import { createLeasedLoop, leasesOf, type LeasedLoop } from '../../../platform/work-loop/index.ts';
import type { World } from '../../../platform/world/index.ts';
import { claimDueBroadcasts, nextBroadcastAt, type BroadcastRow } from '../broadcasts/index.ts';
import { broadcastsInQueue } from '../../../mail/queue/index.ts';
import { createCarryBroadcast } from './carry-broadcast.ts';
import { judgeBroadcasts } from './judge-broadcasts.ts';

export type Broadcasts = LeasedLoop;

/**
 * The work loop of broadcasts, woken by the commit that sends or resumes one: each is claimed with a lease, carried for some
 * pages from where it stands, and put back, so that broadcasts take turns. `wakeQueue` is called when mail was accepted.
 */
export function createBroadcastLoop(world: World, wakeQueue: () => void): Broadcasts {
  const { db, config, ids } = world;
  const { max_at_once: atOnceMax, lease_seconds: leaseSeconds, poll_ms: pollMs } = config.broadcasts;
  const owner = ids.uuid();
  return createLeasedLoop<BroadcastRow>(world, {
    ...{ name: 'broadcasts', wakeOn: ['broadcasts'], pollMs, atOnceMax },
    describe: ({ id }) => ({ broadcastId: id }),
    lease: { owner, ms: leaseSeconds * 1000, leases: leasesOf(db, 'broadcasts') },
    async claim({ limit }, lease) {
      // Before the claim, and once a look: most broadcasts have all their emails in the queue before the first of them bounces.
      await judgeBroadcasts(world, await broadcastsInQueue(db));
      const items = await db.tx((tx) => claimDueBroadcasts(tx, { ...lease, limit }));
      const nextAt = (): Promise<number | undefined> => nextBroadcastAt(db, lease.now);
      return { items, left: items.length === limit ? 'more' : 'nothing', nextAt };
    },
    carry: createCarryBroadcast(world, { owner, wakeQueue }),
  });
}
