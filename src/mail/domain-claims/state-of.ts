import type { DomainRow } from '../domains/index.ts';
import type { ClaimRow, Ending } from './domain-claims.store.ts';

export const CLAIM_DAYS = 7;

export const END_REASONS = {
  unproven: `The TXT record was not seen within ${CLAIM_DAYS} days.`,
  blocked: `The domain was still in use by its owner when the ${CLAIM_DAYS} days were over.`,
  otherClaim: 'Another team completed its claim of this name first.',
  ownVerification: 'This team verified the domain without the claim.',
  suspended: 'This team is suspended.',
  removed: 'This team removed the domain that the claim was for.',
} as const;

/** How an open claim has ended by itself, if it has; `domain` is the claimant's copy. */
export function endingOf(claim: ClaimRow, domain: DomainRow | undefined, now: number): Ending | undefined {
  if (claim.status !== 'pending') return undefined;
  if (!domain) return { status: 'canceled', failure_reason: END_REASONS.removed };
  if (domain.held_at !== null) return { status: 'superseded', failure_reason: END_REASONS.ownVerification };
  if (now < claim.expires_at) return undefined;
  return {
    status: 'expired',
    failure_reason: claim.blocked_reason === null ? END_REASONS.unproven : END_REASONS.blocked,
  };
}

/** A claim that has ended is shown so before anybody has written it down. */
export function asOfNow(claim: ClaimRow, domain: DomainRow, now: number): ClaimRow {
  const ending = endingOf(claim, domain, now);
  return ending ? { ...claim, ...ending, blocked_reason: null } : claim;
}
