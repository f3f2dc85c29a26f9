import {
  appendSignature,
  canonicalField,
  foldTags,
  listTag,
  selectSignedHeaders,
  signBytes,
  type DkimKey,
} from './dkim/index.ts';
import type { HeaderField } from './mime/index.ts';

/** The validation result of the existing chain; `unsealed` if no set may be added. */
export type ArcChain = 'none' | 'pass' | 'fail' | 'unsealed';

/** The authentication results of an incoming message. */
export interface ArcChecks {
  spf: { result: string; domain: string | null };
  dkim: readonly { result: string; domain: string | null; selector: string | null }[];
  dmarc: { result: string; domain: string | null };
  arc: { result: string };
}

export interface ArcState {
  chain: ArcChain;
  /** The instance number of the set to add. */
  instance: number;
}

const instancesMax = 50;
const fieldsOfASet = new Set(['arc-seal', 'arc-message-signature', 'arc-authentication-results']);

/** Determines the state of a message's chain (RFC 8617 §5.1). */
export function arcState(headers: readonly HeaderField[], checks: ArcChecks): ArcState {
  let instance = 0;
  let isBroken = false;
  for (const [name, value] of headers) {
    const lower = name.toLowerCase();
    if (!fieldsOfASet.has(lower)) continue;
    instance = Math.max(instance, parseInstance(value));
    if (lower === 'arc-seal' && /(?:^|;)\s*cv\s*=\s*fail\b/i.test(value)) isBroken = true;
  }
  const next = instance + 1;
  const froms = headers.filter(([name]) => name.toLowerCase() === 'from').length;
  // A temporary DNS error must not be sealed as a failure, and a failed chain must not be extended (§5.1.2).
  const isUnknown = checks.spf.result === 'temperror' && checks.dmarc.result === 'temperror';
  if (isBroken || isUnknown || instance >= instancesMax || froms !== 1) return { chain: 'unsealed', instance: next };
  if (instance === 0) return { chain: 'none', instance: next };
  return { chain: checks.arc.result === 'pass' ? 'pass' : 'fail', instance: next };
}

const parseInstance = (value: string): number => Number(/(?:^|;)\s*i\s*=\s*(\d{1,4})\s*(?:;|$)/.exec(value)?.[1] ?? 0);

/** Returns the ARC-Authentication-Results field (RFC 8601) with its CRLF. */
export function arcResults(host: string, { instance, chain }: ArcState, checks: ArcChecks): string {
  const results = [
    `spf=${word(checks.spf.result)}${property('smtp.mailfrom', checks.spf.domain)}`,
    ...checks.dkim.map(
      ({ result, domain, selector }) =>
        `dkim=${word(result)}${property('header.d', domain)}${property('header.s', selector)}`,
    ),
    `dmarc=${word(checks.dmarc.result)}${property('header.from', checks.dmarc.domain)}`,
    ...(instance > 1 ? [`arc=${chain}`] : []),
  ];
  return `ARC-Authentication-Results: i=${instance}; ${host};\r\n ${results.join(';\r\n ')}\r\n`;
}

/** The sender of the message may have written these texts. */
const word = (text: string): string => (/^[a-z]{1,20}$/.test(text) ? text : 'none');

const property = (name: string, value: string | null): string =>
  value !== null && /^[\w.-]{1,253}$/.test(value) ? ` ${name}=${value}` : '';

export interface ArcMessage {
  /** Including the ARC-Authentication-Results of the new set. */
  headers: readonly HeaderField[];
  /** The `bh=` value of DKIM in relaxed canonicalization. */
  bodyHash: string;
  key: DkimKey;
  at: Date;
  chain: Exclude<ArcChain, 'unsealed'>;
}

const sealName = 'ARC-Seal';
const signatureName = 'ARC-Message-Signature';
const resultsName = 'ARC-Authentication-Results';

/** Returns the ARC-Seal and ARC-Message-Signature fields with their CRLFs, to be put in front of the message. */
export async function sealArc({ headers, bodyHash, key, at, chain }: ArcMessage): Promise<string> {
  const instance = Math.max(...listValues(headers, resultsName).map(parseInstance));
  const time = Math.floor(at.getTime() / 1000);
  const byKey = [`a=${key.algorithm};`, `d=${key.domain};`, `s=${key.selector};`, `t=${time};`];
  const signature = await sign(signatureName, key, {
    tags: [`i=${instance};`, ...byKey, 'c=relaxed/relaxed;', `bh=${bodyHash};`],
    ...covered(headers),
  });
  const seal = await sign(sealName, key, {
    tags: [`i=${instance};`, ...byKey, `cv=${chain};`],
    names: [],
    canonical: formatChain([[signatureName, signature], ...headers], { instance, chain }),
  });
  return `${sealName}: ${seal}\r\n${signatureName}: ${signature}\r\n`;
}

/** Includes the signatures that the message arrived with, because the results refer to them (RFC 8617 §4.1.2). */
function covered(headers: readonly HeaderField[]): { names: string[]; canonical: string } {
  const { names, canonical } = selectSignedHeaders(headers);
  const signatures = listValues(headers, 'dkim-signature').reverse();
  return {
    names: [...names, ...signatures.map(() => 'dkim-signature')],
    canonical: canonical + signatures.map((value) => `${canonicalField('dkim-signature', value)}\r\n`).join(''),
  };
}

/** Returns all sets from the first on, or only the last one if the chain has failed (RFC 8617 §5.1.1, §5.1.2). */
function formatChain(
  headers: readonly HeaderField[],
  { instance, chain }: { instance: number; chain: ArcChain },
): string {
  let text = '';
  for (let i = chain === 'fail' ? instance : 1; i <= instance; i++) {
    for (const name of [resultsName, signatureName, sealName]) {
      const value = listValues(headers, name).find((one) => parseInstance(one) === i);
      if (value !== undefined) text += `${canonicalField(name.toLowerCase(), value)}\r\n`;
    }
  }
  return text;
}

const listValues = (headers: readonly HeaderField[], name: string): string[] =>
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
