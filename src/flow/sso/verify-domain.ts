import type { Lookup } from '../../platform/resolver/index.ts';
import type { World } from '../../platform/world/index.ts';
import type { Ctx } from '../../resources/access/index.ts';
import {
  findOwnSsoDomain,
  presentSsoDomain,
  PROOF_LABEL,
  proofNameOf,
  settleSsoDomain,
} from '../../resources/sso/index.ts';

/** Asks DNS for the proof now. What is proven stays so. */
export async function verifySsoDomain(ctx: Ctx<World>, place: { teamId: string; domain: string }) {
  const row = await findOwnSsoDomain(ctx, place);
  if (row.verified_at !== null) return presentSsoDomain(row);
  const name = proofNameOf(row.domain);
  const answer = await ctx.store.resolver.txt(name, { cache: false });
  return settleSsoDomain(ctx.store, row, diagnose(name, row.proof, answer));
}

/** One sentence on what is wrong, or null. */
function diagnose(name: string, wanted: string, answer: Lookup<string[]>): string | null {
  if (answer.kind === 'failed') return `Nobody could say which TXT records ${name} has (${answer.reason}).`;
  if (answer.kind === 'none') return `There is no TXT record at ${name} yet; publish this one there.`;
  // Some panels publish the quotation marks that others want around a text.
  const texts = answer.records.map((text) => text.trim().replace(/^"(.*)"$/, '$1'));
  if (texts.includes(wanted)) return null;
  if (texts.some((text) => text.startsWith(PROOF_LABEL))) {
    return `The ${PROOF_LABEL}… record at ${name} has another value; publish this one, beside it or in its place.`;
  }
  return `There are TXT records at ${name}, and this is not among them; publish it beside them.`;
}
