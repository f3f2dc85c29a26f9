import type { World } from '../../../platform/world/index.ts';
import { saveClaimCheck, takeOver, type ClaimRow } from '../../domain-claims/index.ts';
import { findDomain } from '../../domains/index.ts';
import { checkDomain } from '../verify/check-domain.ts';
import { judgeProof } from './judge-proof.ts';

/** Asks DNS for the proof of an open claim and, if it stands, lets the domain change hands unless something blocks it. */
export async function checkClaim(world: World, claim: ClaimRow): Promise<'completed' | 'open'> {
  const answer = await world.resolver.txt(claim.name, { cache: false });
  const { status, diagnosis } = judgeProof(claim.name, claim.proof, answer);
  const now = world.clock.now();
  if (status === 'verified') {
    const outcome = await takeOver(world, claim);
    if (outcome === 'completed') await checkClaimant(world, claim);
    return outcome;
  }
  // Whether the owner uses the name is told only to a team that has shown that DNS is theirs.
  await saveClaimCheck(world.db, claim.id, { record_status: status, diagnosis, blocked_reason: null, checked_at: now });
  return 'open';
}

/** Its records may stand in DNS already; if they cannot be asked for now, the sweep does. */
async function checkClaimant(world: World, { team_id: teamId, domain_id: id, name }: ClaimRow): Promise<void> {
  try {
    const domain = await findDomain(world.db, teamId, id);
    if (domain) await checkDomain(world, domain);
  } catch (error) {
    world.log.warn({ err: error, domain: name }, 'a domain that changed hands could not be checked');
  }
}
