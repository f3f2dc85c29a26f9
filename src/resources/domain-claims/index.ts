/**
 * Claims: how a name that another team has verified changes hands. It does so only for whoever controls its DNS, never
 * while its owner uses it, and then in one transaction. A claim tells nothing of the owner to those who have not shown
 * that DNS is theirs.
 */
export { claimDomain, type NewClaim } from './claim-domain.ts';
export { hasLostName } from './domain-claims.store.ts';
export { getClaim, openProof } from './read-claim.ts';
export { recheckClaims } from './recheck-claims.ts';
export { verifyClaim } from './verify-claim.ts';
