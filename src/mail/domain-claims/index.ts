/**
 * Claims: how a name that another team has verified changes hands. It goes only to the team that controls its DNS,
 * never while its owner uses it, and then in one transaction. A claim discloses nothing about the owner until the
 * claimant has proved control of the DNS.
 */
export {
  claimDomain,
  presentClaim,
  type Claim,
  PROOF_LABEL,
  proofText,
  findClaim,
  getClaim,
  openProof,
  END_REASONS,
} from './domain-claim.ts';
export {
  claimsToCheck,
  endOverdueClaims,
  hasLostName,
  noteTried,
  saveClaimCheck,
  type ClaimRow,
  type ProofStatus,
} from './domain-claims.store.ts';
export { takeOver } from './take-over.ts';
