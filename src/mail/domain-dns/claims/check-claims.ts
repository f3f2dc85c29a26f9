import type { World } from '../../../platform/world.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import {
  findClaim,
  presentClaim,
  claimsToCheck,
  END_REASONS,
  endOverdueClaims,
  noteTried,
  saveClaimCheck,
  takeOver,
  PROOF_LABEL,
  type Claim,
  type ClaimRow,
  type ProofStatus,
} from '../../domain-claims/index.ts';
import { mustWaitItsTurn, findDomain } from '../../domains/index.ts';
import { checkDomain } from '../verify/verify-domain.ts';
import type { Lookup } from '../../../platform/resolver/index.ts';

const BATCH = 50;

/** Ends every open claim that is over, and looks up the others that were not looked up since this check began. */
export async function recheckClaims(world: World): Promise<{ ended: number; checked: number; completed: number }> {
  const began = world.clock.now();
  const ended = await endOverdueClaims(world.db, END_REASONS, began);
  const done = { ended, checked: 0, completed: 0 };
  // The development profile has no DNS to query.
  if (world.config.delivery.capture) return done;
  for (;;) {
    const claims = await claimsToCheck(world.db, began, BATCH);
    const results = await Promise.all(claims.map((claim) => check(world, claim)));
    done.checked += results.filter((result) => result !== 'failed').length;
    done.completed += results.filter((result) => result === 'completed').length;
    if (claims.length < BATCH) return done;
  }
}

async function check(world: World, claim: ClaimRow): Promise<'completed' | 'open' | 'failed'> {
  try {
    return await checkClaim(world, claim);
  } catch (error) {
    world.log.error({ err: error, claimId: claim.id, domain: claim.name }, 'a claim could not be checked');
    // Otherwise it would be offered first again, now and every hour. If even this fails, the error ends the check.
    await noteTried(world.db, claim.id, world.clock.now());
    return 'failed';
  }
}

/** Checks now, and completes the claim if nothing prevents it. Returns a claim that is over unchanged. */
export async function verifyClaim(ctx: Ctx<World>, domainId: string): Promise<Claim> {
  const { claim, domain } = await findClaim(ctx, domainId);
  if (claim.status !== 'pending') return presentClaim(claim, domain);
  await mustWaitItsTurn(ctx.store, domain);
  await checkClaim(ctx.store, claim);
  const after = await findClaim(ctx, domainId);
  return presentClaim(after.claim, after.domain);
}

/** Looks up the proof of an open claim and, if it is published, transfers the domain unless something blocks it. */
async function checkClaim(world: World, claim: ClaimRow): Promise<'completed' | 'open'> {
  const answer = await world.resolver.txt(claim.name, { cache: false });
  const { status, diagnosis } = checkProof(claim.name, claim.proof, answer);
  const now = world.clock.now();
  if (status === 'verified') {
    const outcome = await takeOver(world, claim);
    if (outcome === 'completed') await checkClaimant(world, claim);
    return outcome;
  }
  // Only a team that has proved control of the DNS may learn whether the owner uses the name.
  await saveClaimCheck(world.db, claim.id, { record_status: status, diagnosis, blocked_reason: null, checked_at: now });
  return 'open';
}

/** Checks the claimant's records, which may be in DNS already; if they cannot be looked up now, the sweep does. */
async function checkClaimant(world: World, { team_id: teamId, domain_id: id, name }: ClaimRow): Promise<void> {
  try {
    const domain = await findDomain(world.db, teamId, id);
    if (domain) await checkDomain(world, domain);
  } catch (error) {
    world.log.warn({ err: error, domain: name }, 'a domain that changed hands could not be checked');
  }
}

interface Proof {
  status: ProofStatus;
  /** One sentence about what is wrong; null if nothing is. */
  diagnosis: string | null;
}

/** Decides from the TXT records at the root of a name whether they prove a claim to it. */
export function checkProof(name: string, wanted: string, answer: Lookup<string[]>): Proof {
  switch (answer.kind) {
    case 'failed':
      return {
        status: 'temporary_failure',
        diagnosis: `The TXT records of ${name} could not be looked up (${answer.reason}); the look-up is repeated within the hour.`,
      };
    case 'none':
      return { status: 'pending', diagnosis: `There is no TXT record at ${name} yet; publish this one.` };
    case 'found':
      return checkTexts(name, wanted, answer.records.map(unquoted));
  }
}

function checkTexts(name: string, wanted: string, texts: string[]): Proof {
  if (texts.includes(wanted)) return { status: 'verified', diagnosis: null };
  if (texts.some((text) => text.startsWith(PROOF_LABEL))) {
    return {
      status: 'failed',
      diagnosis: `The ${PROOF_LABEL}… record at ${name} has a different value; publish the one of this claim next to it or instead of it.`,
    };
  }
  const count = texts.length === 1 ? 'one TXT record' : `${texts.length} TXT records`;
  return { status: 'pending', diagnosis: `${name} has ${count}, but not this one; publish it next to them.` };
}

/** Removes the quotation marks that some DNS panels publish and others require around a text. */
const unquoted = (text: string): string => text.trim().replace(/^"(.*)"$/, '$1');
