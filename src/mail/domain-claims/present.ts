import { isoTime } from '../../platform/clock/index.ts';
import type { DomainRow } from '../domains/index.ts';
import type { ClaimRow, ClaimStatus } from './domain-claims.store.ts';

export function presentClaim(claim: ClaimRow, domain: DomainRow) {
  return {
    object: 'domain_claim' as const,
    id: claim.id,
    name: claim.name,
    status: claim.status as ClaimStatus,
    domain_id: domain.id,
    region: domain.region,
    record: {
      record: 'Claim' as const,
      // At the root of the very name that is claimed.
      name: claim.name,
      type: 'TXT' as const,
      ttl: 'Auto' as const,
      status: claim.record_status,
      value: claim.proof,
      diagnosis: claim.diagnosis,
    },
    blocked_reason: claim.blocked_reason,
    failure_reason: claim.failure_reason,
    created_at: isoTime(claim.created_at),
    expires_at: isoTime(claim.expires_at),
  };
}

export type Claim = ReturnType<typeof presentClaim>;
