import { stopwatch } from '../../platform/clock/index.ts';
import type { World } from '../../platform/world/index.ts';
import { LeaseLost } from './carry.ts';
import { claimDeliveries, type Claimed, type ClaimRequest } from './claim.ts';
import { recordHandOffs, renewLeases, unclaim, unclaimAllBut, type ClaimKey } from './deliveries.store.ts';

/** Writes the queue's claims, renewals and hand-offs; those that come together share one commit. Undoing has transactions of its own. */
export interface Ledger {
  /** `tookMs`: the statements alone, without the wait for a commit. */
  claim(request: Omit<ClaimRequest, 'owner'>): Promise<Claimed & { tookMs: number }>;
  intend(claim: ClaimKey): Promise<void>;
  /** In the shared commit: beside it, each of the two could wait for rows of the other. */
  renew(deliveryIds: string[]): Promise<void>;
  unclaim(deliveryIds: string[]): Promise<void>;
  /** Undoes all our claims except these; answers how many. */
  unclaimAllBut(deliveryIds: string[]): Promise<number>;
}

export function createLedger(world: World, owner: string): Ledger {
  const { ambiguous_hours: ambiguousHours, lease_seconds: leaseSeconds } = world.config.delivery;
  const [ambiguousMs, leaseMs] = [ambiguousHours * 3_600_000, leaseSeconds * 1000];
  return {
    claim: world.commits.lane(async (tx, requests) => {
      const claims: Awaited<ReturnType<Ledger['claim']>>[] = [];
      for (const request of requests) {
        const elapsedMs = stopwatch();
        const claimed = await claimDeliveries(world, tx, { ...request, owner });
        claims.push({ ...claimed, tookMs: elapsedMs() });
      }
      return claims;
    }),
    intend: world.commits.lane<ClaimKey, void>(async (tx, claims) => {
      const now = world.clock.now();
      // `recover.ts` knows a hand-off by these two times being `ambiguous_hours` apart.
      const ours = await recordHandOffs(tx, owner, claims, { now, doubtUntil: now + ambiguousMs });
      return claims.map(({ id }) => (ours.has(id) ? undefined : new LeaseLost('another node holds this delivery now')));
    }),
    renew: world.commits.lane<string[], void>(async (tx, lists) => {
      await renewLeases(tx, owner, lists.flat(), world.clock.now() + leaseMs);
      return lists.map(() => undefined);
    }),
    unclaimAllBut: (ids) => world.db.tx((tx) => unclaimAllBut(tx, owner, ids, world.clock.now())),
    unclaim: (ids) => world.db.tx((tx) => unclaim(tx, owner, ids, world.clock.now())),
  };
}
