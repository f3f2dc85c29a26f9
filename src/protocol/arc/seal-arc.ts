import {
  appendSignature,
  canonicalField,
  foldTags,
  listTag,
  selectSignedHeaders,
  signBytes,
  type DkimKey,
} from '../dkim/index.ts';
import type { HeaderField } from '../mime/index.ts';
import { instanceOf, type ArcChain } from './arc-results.ts';

export interface ArcMessage {
  /** With the ARC-Authentication-Results of the set that is made. */
  headers: readonly HeaderField[];
  /** As DKIM has it, relaxed. */
  bodyHash: string;
  key: DkimKey;
  at: Date;
  chain: Exclude<ArcChain, 'unsealed'>;
}

const sealName = 'ARC-Seal';
const signatureName = 'ARC-Message-Signature';
const resultsName = 'ARC-Authentication-Results';

/** ARC-Seal and ARC-Message-Signature with their CRLFs, to stand in front of the message. */
export async function sealArc({ headers, bodyHash, key, at, chain }: ArcMessage): Promise<string> {
  const instance = Math.max(...valuesOf(headers, resultsName).map(instanceOf));
  const time = Math.floor(at.getTime() / 1000);
  const byKey = [`a=${key.algorithm};`, `d=${key.domain};`, `s=${key.selector};`, `t=${time};`];
  const signature = await sign(signatureName, key, {
    tags: [`i=${instance};`, ...byKey, 'c=relaxed/relaxed;', `bh=${bodyHash};`],
    ...covered(headers),
  });
  const seal = await sign(sealName, key, {
    tags: [`i=${instance};`, ...byKey, `cv=${chain};`],
    names: [],
    canonical: chainOf([[signatureName, signature], ...headers], { instance, chain }),
  });
  return `${sealName}: ${seal}\r\n${signatureName}: ${signature}\r\n`;
}

/** Signatures that came with the message as well: they are what the results speak of (RFC 8617 §4.1.2). */
function covered(headers: readonly HeaderField[]): { names: string[]; canonical: string } {
  const { names, canonical } = selectSignedHeaders(headers);
  const signatures = valuesOf(headers, 'dkim-signature').reverse();
  return {
    names: [...names, ...signatures.map(() => 'dkim-signature')],
    canonical: canonical + signatures.map((value) => `${canonicalField('dkim-signature', value)}\r\n`).join(''),
  };
}

/** All sets from the first on, but of a chain that has failed the last one alone (RFC 8617 §5.1.1, §5.1.2). */
function chainOf(headers: readonly HeaderField[], { instance, chain }: { instance: number; chain: ArcChain }): string {
  let text = '';
  for (let i = chain === 'fail' ? instance : 1; i <= instance; i++) {
    for (const name of [resultsName, signatureName, sealName]) {
      const value = valuesOf(headers, name).find((one) => instanceOf(one) === i);
      if (value !== undefined) text += `${canonicalField(name.toLowerCase(), value)}\r\n`;
    }
  }
  return text;
}

const valuesOf = (headers: readonly HeaderField[], name: string): string[] =>
  headers.flatMap(([one, value]) => (one.toLowerCase() === name.toLowerCase() ? [value] : []));

async function sign(
  name: string,
  key: DkimKey,
  { tags, names, canonical }: { tags: string[]; names: string[]; canonical: string },
): Promise<string> {
  const unsigned = foldTags(name, [...tags, ...(names.length === 0 ? [] : listTag(names))]);
  const bytes = Buffer.from(`${canonical}${canonicalField(name.toLowerCase(), unsigned)}`, 'utf8');
  return appendSignature(unsigned, await signBytes(bytes, key));
}
