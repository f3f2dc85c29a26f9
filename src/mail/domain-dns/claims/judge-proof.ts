import type { Lookup } from '../../../platform/resolver/index.ts';
import { PROOF_LABEL, type ProofStatus } from '../../domain-claims/index.ts';

export interface Proof {
  status: ProofStatus;
  /** One sentence on what is wrong, as long as something is. */
  diagnosis: string | null;
}

/** What the TXT records at the root of a name say about a claim of it. */
export function judgeProof(name: string, wanted: string, answer: Lookup<string[]>): Proof {
  switch (answer.kind) {
    case 'failed':
      return {
        status: 'temporary_failure',
        diagnosis: `Nobody could say which TXT records ${name} has (${answer.reason}); it is asked again within the hour.`,
      };
    case 'none':
      return { status: 'pending', diagnosis: `There is no TXT record at ${name} yet; publish this one there.` };
    case 'found':
      return judgeTexts(name, wanted, answer.records.map(unquoted));
  }
}

function judgeTexts(name: string, wanted: string, texts: string[]): Proof {
  if (texts.includes(wanted)) return { status: 'verified', diagnosis: null };
  if (texts.some((text) => text.startsWith(PROOF_LABEL))) {
    return {
      status: 'failed',
      diagnosis: `The ${PROOF_LABEL}… record at ${name} has another value; publish this claim's, beside it or in its place.`,
    };
  }
  const count = texts.length === 1 ? 'one TXT record' : `${texts.length} TXT records`;
  return { status: 'pending', diagnosis: `${name} has ${count}, and this is not among them; publish it beside them.` };
}

/** Some panels publish the quotation marks that others want around a text. */
const unquoted = (text: string): string => text.trim().replace(/^"(.*)"$/, '$1');
