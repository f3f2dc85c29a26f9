import { mustReach, type Ctx } from '../access/index.ts';
import { mustWaitItsTurn } from '../domains/index.ts';
import { checkClaim } from './check-claim.ts';
import { presentClaim, type Claim } from './present.ts';
import { findClaim } from './read-claim.ts';

/** Looks now, and completes the claim if nothing speaks against it. A claim that is over is answered as it is. */
export async function verifyClaim(ctx: Ctx, domainId: string): Promise<Claim> {
  mustReach(ctx.actor, 'full_access');
  const { claim, domain } = await findClaim(ctx, domainId);
  if (claim.status !== 'pending') return presentClaim(claim, domain);
  await mustWaitItsTurn(ctx.world, domain);
  await checkClaim(ctx.world, claim);
  const after = await findClaim(ctx, domainId);
  return presentClaim(after.claim, after.domain);
}
