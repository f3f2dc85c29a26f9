import type { Judgement, Wanted } from './observations.ts';
import { listed } from './shown.ts';

interface Caa {
  tag: string;
  value: string;
  isCritical: boolean;
}

/** `0 issue "ca.example; account=1"`, with or without the quotation marks. */
export function caaOf(record: string): Caa {
  const [, flags = '0', tag = '', value = ''] = /^(\d{1,3})\s+(\S+)\s+(.*)$/s.exec(record) ?? [];
  return { tag: tag.toLowerCase(), value: value.replaceAll('"', '').trim(), isCritical: Number(flags) >= 128 };
}

/** RFC 8659 §4.2: the issuer's domain is what stands before the first semicolon; an empty one allows no authority. */
const issuerOf = (value: string): string => (value.split(';', 1)[0] ?? '').trim().toLowerCase().replace(/\.$/, '');

/** Whether a set of CAA records lets an issuer make a certificate for one name, or for all below it (RFC 8659 §4.3). */
export function permitsIssuer(
  records: readonly string[],
  issuer: string,
  { isWildcard = false }: { isWildcard?: boolean } = {},
): boolean {
  const all = records.map(caaOf);
  if (all.some(({ tag, isCritical }) => isCritical && !KNOWN_TAGS.has(tag))) return false;
  const wild = isWildcard ? all.filter(({ tag }) => tag === 'issuewild') : [];
  const issue = wild.length > 0 ? wild : all.filter(({ tag }) => tag === 'issue');
  return issue.length === 0 || issue.some(({ value }) => issuerOf(value) === issuer.toLowerCase());
}

const KNOWN_TAGS = new Set(['issue', 'issuewild', 'iodef', 'issuemail', 'contactemail', 'contactphone', 'issuevmc']);

export function judgeCaa(wanted: Wanted, records: readonly string[]): Judgement {
  const issuer = issuerOf(caaOf(wanted.value).value);
  const all = records.map(caaOf);
  const odd = all.find(({ tag, isCritical }) => isCritical && !KNOWN_TAGS.has(tag));
  if (odd) {
    return wrong(
      `A CAA record at ${wanted.name} has the critical tag ${listed([odd.tag])}, which ${issuer} may not know and then refuses to issue (RFC 8659 §4.1).`,
    );
  }
  const issue = all.filter(({ tag }) => tag === 'issue');
  if (issue.some(({ value }) => issuerOf(value) === issuer)) return { verdict: 'right', sentence: null };
  if (issue.length === 0) return { verdict: 'absent', sentence: null };
  const others = issue.map(({ value }) => issuerOf(value)).filter(Boolean);
  const who = others.length === 0 ? 'let nobody issue certificates' : `let only ${listed(others)} issue certificates`;
  // RFC 8659 §3: the nearest set decides alone.
  const isAbove = wanted.domain.endsWith(`.${wanted.name}`) && others.length > 0;
  const notAlone = isAbove ? `, not alone at ${wanted.domain}, which would shut ${listed(others)} out there` : '';
  return wrong(
    `The CAA records at ${wanted.name} ${who}, so ${issuer} makes none for tracked links; add ${wanted.value} beside them${notAlone}.`,
  );
}

/** Where no CAA record is, every authority may issue: what our resolver still remembers ends by itself. */
export const forbidsNothing = ({ name, value }: Wanted): string =>
  `Nothing at ${name} forbids ${issuerOf(caaOf(value).value)} to issue certificates; nothing is left to do but wait until our resolver notices.`;

const wrong = (sentence: string): Judgement => ({ verdict: 'wrong', sentence });
