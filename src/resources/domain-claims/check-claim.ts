import type { World } from '../../platform/world/index.ts';
import { judgeProof } from './claim-record.ts';
import { noteLook, type ClaimRow } from './domain-claims.store.ts';
import { takeOver } from './take-over.ts';

/** Asks DNS for the proof of an open claim and, if it stands, lets the domain change hands unless something blocks it. */
export async function checkClaim(world: World, claim: ClaimRow): Promise<'completed' | 'open'> {
  const answer = await world.resolver.txt(claim.name, { cache: false });
  const { status, diagnosis } = judgeProof(claim.name, claim.proof, answer);
  const now = world.clock.now();
  if (status === 'verified') return takeOver(world, claim);
  // Whether the owner uses the name is told to nobody who has not shown that DNS is theirs.
  await noteLook(world.db, claim.id, { record_status: status, diagnosis, blocked_reason: null, checked_at: now });
  return 'open';
}
