import type { World } from '../../../platform/world/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { findClaim, presentClaim, type Claim } from '../../domain-claims/index.ts';
import { mustWaitItsTurn } from '../../domains/index.ts';
import { checkClaim } from './check-claim.ts';

/** Checks now, and completes the claim if nothing speaks against it. A claim that is over is answered as it is. */
export async function verifyClaim(ctx: Ctx<World>, domainId: string): Promise<Claim> {
  const { claim, domain } = await findClaim(ctx, domainId);
  if (claim.status !== 'pending') return presentClaim(claim, domain);
  await mustWaitItsTurn(ctx.store, domain);
  await checkClaim(ctx.store, claim);
  const after = await findClaim(ctx, domainId);
  return presentClaim(after.claim, after.domain);
}
