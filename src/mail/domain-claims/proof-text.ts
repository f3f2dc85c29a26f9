/** What every proof begins with, whichever claim it is of. */
export const PROOF_LABEL = 'rasket-domain-verification=';

/** The text of a claim's TXT record. A caller that was not shown this claim cannot guess it. */
export const proofText = (secret: string): string => PROOF_LABEL + secret;
