import type { HeaderField } from '../mime/index.ts';

/** What a seal says of those before it; `unsealed` where nothing may be added. */
export type ArcChain = 'none' | 'pass' | 'fail' | 'unsealed';

/** What was found out about a message as it came in. */
export interface ArcChecks {
  spf: { result: string; domain: string | null };
  dkim: readonly { result: string; domain: string | null; selector: string | null }[];
  dmarc: { result: string; domain: string | null };
  arc: { result: string };
}

export interface ArcState {
  chain: ArcChain;
  /** Of the set that is to be added. */
  instance: number;
}

const instancesMax = 50;
const fieldsOfASet = new Set(['arc-seal', 'arc-message-signature', 'arc-authentication-results']);

/** Where the chain of a message stands (RFC 8617 §5.1). */
export function arcState(headers: readonly HeaderField[], checks: ArcChecks): ArcState {
  let instance = 0;
  let isBroken = false;
  for (const [name, value] of headers) {
    const lower = name.toLowerCase();
    if (!fieldsOfASet.has(lower)) continue;
    instance = Math.max(instance, instanceOf(value));
    if (lower === 'arc-seal' && /(?:^|;)\s*cv\s*=\s*fail\b/i.test(value)) isBroken = true;
  }
  const next = instance + 1;
  const froms = headers.filter(([name]) => name.toLowerCase() === 'from').length;
  // What DNS did not say must not be sealed as a failure, and a chain that has failed is not made longer (§5.1.2).
  const isUnknown = checks.spf.result === 'temperror' && checks.dmarc.result === 'temperror';
  if (isBroken || isUnknown || instance >= instancesMax || froms !== 1) return { chain: 'unsealed', instance: next };
  if (instance === 0) return { chain: 'none', instance: next };
  return { chain: checks.arc.result === 'pass' ? 'pass' : 'fail', instance: next };
}

export const instanceOf = (value: string): number =>
  Number(/(?:^|;)\s*i\s*=\s*(\d{1,4})\s*(?:;|$)/.exec(value)?.[1] ?? 0);

/** The field ARC-Authentication-Results (RFC 8601) with its CRLF. */
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

/** The sender of the message wrote much of it. */
const word = (text: string): string => (/^[a-z]{1,20}$/.test(text) ? text : 'none');

const property = (name: string, value: string | null): string =>
  value !== null && /^[\w.-]{1,253}$/.test(value) ? ` ${name}=${value}` : '';
