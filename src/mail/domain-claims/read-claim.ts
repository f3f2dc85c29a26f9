import { notFound } from '../../platform/refusal/index.ts';
import type { Store } from '../../platform/store/index.ts';
import type { Ctx } from '../../tenancy/access/index.ts';
import { findDomain, type DomainRow } from '../domains/index.ts';
import { latestClaim, type ClaimRow } from './domain-claims.store.ts';
import { presentClaim, type Claim } from './present.ts';
import { asOfNow } from './state-of.ts';

/** The latest claim of one of the team's domains; reading makes no look-up and changes nothing. */
export async function getClaim(ctx: Ctx, domainId: string): Promise<Claim> {
  const { claim, domain } = await findClaim(ctx, domainId);
  return presentClaim(claim, domain);
}

export async function findClaim(ctx: Ctx, domainId: string): Promise<{ claim: ClaimRow; domain: DomainRow }> {
  const { store, teamId } = ctx;
  const domain = await findDomain(store.db, teamId, domainId);
  const claim = domain && (await latestClaim(store.db, teamId, domain.id));
  if (!claim) throw notFound('Domain claim');
  return { claim: asOfNow(claim, domain, store.clock.now()), domain };
}

/** The record that an open claim of this domain asks to be published. */
export async function openProof(
  store: Store,
  { id, team_id: teamId }: { id: string; team_id: string },
): Promise<{ name: string; value: string } | undefined> {
  const domain = await findDomain(store.db, teamId, id);
  const claim = domain && (await latestClaim(store.db, teamId, id));
  if (!claim || asOfNow(claim, domain, store.clock.now()).status !== 'pending') return undefined;
  return { name: claim.name, value: claim.proof };
}
