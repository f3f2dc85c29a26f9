import type { World } from '../../../platform/world/index.ts';
import { claimsToCheck, END_REASONS, endOverdueClaims, noteTried, type ClaimRow } from '../../domain-claims/index.ts';
import { checkClaim } from './check-claim.ts';
const BATCH = 50;

/** Ends every open claim that is over, and looks up the others that were not looked up since this check began. */
export async function recheckClaims(world: World): Promise<{ ended: number; checked: number; completed: number }> {
  const began = world.clock.now();
  const ended = await endOverdueClaims(world.db, END_REASONS, began);
  const done = { ended, checked: 0, completed: 0 };
  // The development profile has no DNS to ask.
  if (world.config.delivery.capture) return done;
  for (;;) {
    const claims = await claimsToCheck(world.db, began, BATCH);
    const results = await Promise.all(claims.map((claim) => check(world, claim)));
    done.checked += results.filter((result) => result !== 'failed').length;
    done.completed += results.filter((result) => result === 'completed').length;
    if (claims.length < BATCH) return done;
  }
}

async function check(world: World, claim: ClaimRow): Promise<'completed' | 'open' | 'failed'> {
  try {
    return await checkClaim(world, claim);
  } catch (error) {
    world.log.error({ err: error, claimId: claim.id, domain: claim.name }, 'a claim could not be checked');
    // Or it would be the first to be offered again, now and every hour. If not even this is possible, nothing is.
    await noteTried(world.db, claim.id, world.clock.now());
    return 'failed';
  }
}
