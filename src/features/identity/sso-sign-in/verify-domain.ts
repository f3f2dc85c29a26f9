import type { Lookup } from '../../../platform/resolver/index.ts';
import type { World } from '../../../platform/world.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { findOwnSsoDomain, PROOF_LABEL, settleProvenDomain, settleSsoDomain } from '../sso/sso-domains.ts';
import { presentSsoDomain, buildProofName } from '../sso/sso-connection.ts';
import { provenDomains, type SsoDomainRow } from '../../../tenancy/sso-rows/index.ts';

/**
 * Checks the proof in DNS now. A proven domain stays proven until its record has been missing for the grace period. A
 * check that proves nothing is not audited, because the entry would say that the domain was verified.
 */
export async function verifySsoDomain(
  ctx: Ctx<World>,
  { unaudited, ...place }: { teamId: string; domain: string; unaudited: World },
) {
  const row = await findOwnSsoDomain(ctx, place);
  const diagnosis = diagnose(row, await askFor(ctx.store, row));
  if (row.verified_at === null) return settleSsoDomain(diagnosis === null ? ctx.store : unaudited, row, diagnosis);
  return presentSsoDomain(diagnosis === null ? await settleProvenDomain(ctx.store, row, null) : row);
}

/**
 * Checks all proven domains again, because the new owner of a domain has not authorized this provider. Nothing changes
 * if DNS does not respond.
 */
export async function recheckSsoDomains(world: World): Promise<void> {
  for (const row of await provenDomains(world.db)) {
    const answer = await askFor(world, row);
    if (answer.kind !== 'failed') await settleProvenDomain(world, row, diagnose(row, answer));
  }
}

const askFor = ({ resolver }: World, { domain }: SsoDomainRow): Promise<Lookup<string[]>> =>
  resolver.txt(buildProofName(domain), { cache: false });

/** Returns a sentence about what is wrong, or null. */
function diagnose({ domain, proof: wanted }: SsoDomainRow, answer: Lookup<string[]>): string | null {
  const name = buildProofName(domain);
  if (answer.kind === 'failed') return `The TXT records of ${name} could not be looked up (${answer.reason}).`;
  if (answer.kind === 'none') return `There is no TXT record at ${name} yet; publish this one.`;
  // Some control panels publish quotation marks around the text.
  const texts = answer.records.map((text) => text.trim().replace(/^"(.*)"$/, '$1'));
  if (texts.includes(wanted)) return null;
  if (texts.some((text) => text.startsWith(PROOF_LABEL))) {
    return `The ${PROOF_LABEL}… record at ${name} has a different value; publish this one next to it or instead of it.`;
  }
  return `There are TXT records at ${name}, but not this one; publish it next to them.`;
}
