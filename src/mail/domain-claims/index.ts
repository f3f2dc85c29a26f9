/**
 * Claims: how a name that another team has verified changes hands. It does so only for the team that controls its DNS, never
 * while its owner uses it, and then in one transaction. A claim tells nothing of the owner to those who have not shown
 * that DNS is theirs.
 */
export { claimDomain } from './claim-domain.ts';
export {
  claimsToCheck,
  endOverdueClaims,
  hasLostName,
  noteTried,
  saveClaimCheck,
  type ClaimRow,
  type ProofStatus,
} from './domain-claims.store.ts';
export { presentClaim, type Claim } from './present.ts';
export { PROOF_LABEL, proofText } from './proof-text.ts';
export { findClaim, getClaim, openProof } from './read-claim.ts';
export { END_REASONS } from './state-of.ts';
export { takeOver } from './take-over.ts';
