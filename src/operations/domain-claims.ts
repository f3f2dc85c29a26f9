import { verifyClaim } from '../mail/domain-dns/index.ts';
import { claimDomain, getClaim } from '../mail/domain-claims/index.ts';
import { Answered, type Operations } from './operation.ts';

export const domainClaims = {
  async claimDomain(ctx, { body }) {
    const { claim, isNew } = await claimDomain(ctx, body);
    return new Answered(isNew ? 201 : 200, claim);
  },
  getDomainClaim: (ctx, { path }) => getClaim(ctx, path.domain_id),
  verifyDomainClaim: (ctx, { path }) => verifyClaim(ctx, path.domain_id),
} satisfies Partial<Operations>;
