import type { ClaimDomainRequest } from '../../contract/index.ts';
import { claimDomain, getClaim, verifyClaim } from '../../resources/domain-claims/index.ts';
import { CREATED, type KeyHandler } from '../operation.ts';

export const domainClaims: Record<string, KeyHandler> = {
  async claimDomain(ctx, { body, reply }) {
    const { claim, isNew } = await claimDomain(ctx, body as ClaimDomainRequest);
    if (isNew) reply.code(CREATED);
    return claim;
  },
  getDomainClaim: (ctx, { path }) => getClaim(ctx, path.domain_id ?? ''),
  verifyDomainClaim: (ctx, { path }) => verifyClaim(ctx, path.domain_id ?? ''),
};
