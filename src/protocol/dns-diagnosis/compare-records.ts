import { compareDkim } from './dkim-rules.ts';
import { compareDmarc, compareSts, compareTlsReports, isDmarc, isSts, isTlsReports } from './policy-rules.ts';
import {
  quoted,
  decodeText,
  shapeFault,
  questionKey,
  listed,
  shown,
  type Answer,
  type Comparison,
  type Observations,
  type Wanted,
} from './observations.ts';
import { isSpf, compareSpf } from './spf-rules.ts';

interface Caa {
  tag: string;
  value: string;
  isCritical: boolean;
}

/** Parses `0 issue "ca.example; account=1"`, with or without the quotation marks. */
export function parseCaa(record: string): Caa {
  const [, flags = '0', tag = '', value = ''] = /^(\d{1,3})\s+(\S+)\s+(.*)$/s.exec(record) ?? [];
  return { tag: tag.toLowerCase(), value: value.replaceAll('"', '').trim(), isCritical: Number(flags) >= 128 };
}

/** RFC 8659 §4.2: the issuer's domain is the part before the first semicolon; an empty one allows no authority. */
const parseIssuer = (value: string): string => (value.split(';', 1)[0] ?? '').trim().toLowerCase().replace(/\.$/, '');

/**
 * Reports whether a set of CAA records lets an issuer create a certificate for one name, or for all names below it (RFC
 * 8659 §4.3).
 */
export function permitsIssuer(
  records: readonly string[],
  issuer: string,
  { isWildcard = false }: { isWildcard?: boolean } = {},
): boolean {
  const all = records.map(parseCaa);
  if (all.some(({ tag, isCritical }) => isCritical && !KNOWN_TAGS.has(tag))) return false;
  const wild = isWildcard ? all.filter(({ tag }) => tag === 'issuewild') : [];
  const issue = wild.length > 0 ? wild : all.filter(({ tag }) => tag === 'issue');
  return issue.length === 0 || issue.some(({ value }) => parseIssuer(value) === issuer.toLowerCase());
}

const KNOWN_TAGS = new Set(['issue', 'issuewild', 'iodef', 'issuemail', 'contactemail', 'contactphone', 'issuevmc']);

function compareCaa(wanted: Wanted, records: readonly string[]): Comparison {
  const issuer = parseIssuer(parseCaa(wanted.value).value);
  const all = records.map(parseCaa);
  const odd = all.find(({ tag, isCritical }) => isCritical && !KNOWN_TAGS.has(tag));
  if (odd) {
    return wrong(
      `A CAA record at ${wanted.name} has the critical tag ${listed([odd.tag])}, which ${issuer} may not know and then refuses to issue (RFC 8659 §4.1).`,
    );
  }
  const issue = all.filter(({ tag }) => tag === 'issue');
  if (issue.some(({ value }) => parseIssuer(value) === issuer)) return { verdict: 'right', sentence: null };
  if (issue.length === 0) return { verdict: 'absent', sentence: null };
  const others = issue.map(({ value }) => parseIssuer(value)).filter(Boolean);
  const who = others.length === 0 ? 'let nobody issue certificates' : `let only ${listed(others)} issue certificates`;
  // RFC 8659 §3: only the nearest record set counts.
  const isAbove = wanted.domain.endsWith(`.${wanted.name}`) && others.length > 0;
  const notAlone = isAbove ? `, not alone at ${wanted.domain}, which would shut ${listed(others)} out there` : '';
  return wrong(
    `The CAA records at ${wanted.name} ${who}, so ${issuer} makes none for the hosts that point here; add ${wanted.value} beside them${notAlone}.`,
  );
}

/** Every authority may issue if there is no CAA record; a stale record in our resolver's cache expires by itself. */
export const forbidsNothing = ({ name, value }: Wanted): string =>
  `Nothing at ${name} forbids ${parseIssuer(parseCaa(value).value)} to issue certificates; nothing is left to do but wait until our resolver notices.`;

const wrong = (sentence: string): Comparison => ({ verdict: 'wrong', sentence });

/** Nobody maintains more records than this by hand, and the author should be able to read the whole message. */
const RECORDS_MAX = 20;
/** A 4096-bit key takes 750 of them. */
const CHARS_MAX = 2048;

/** Compares one DNS answer with the record that was asked for. */
export function compareAnswer(wanted: Wanted, answer: Answer, seen: Partial<Observations> = {}): Comparison {
  switch (answer.kind) {
    case 'failed':
      return { verdict: 'unknown', sentence: null };
    case 'none':
      return { verdict: 'absent', sentence: null };
    case 'found':
      return compareRecords(wanted, readable(wanted, answer.records), seen);
  }
}

/** Puts records of the wanted kind first: a name may hold any number of unrelated texts. */
function readable(wanted: Wanted, records: readonly string[]): string[] {
  const texts = records.map((record) => upTo(wanted, record));
  const alike = wanted.type === 'TXT' ? texts.filter((text) => isAlike(wanted, text)) : texts;
  const others = alike.length >= RECORDS_MAX ? [] : texts.filter((text) => !alike.includes(text));
  return [...alike, ...others].slice(0, RECORDS_MAX).map(decodeText);
}

/** Cuts an SPF record between two terms: half a term would be reported as a mistake that the record does not have. */
function upTo({ record }: Wanted, text: string): string {
  if (text.length <= CHARS_MAX) return text;
  const end = record === 'SPF' ? text.lastIndexOf(' ', CHARS_MAX) : -1;
  return text.slice(0, end > 0 ? end : CHARS_MAX);
}

function isAlike({ record, value }: Wanted, text: string): boolean {
  switch (record) {
    case 'SPF':
      return isSpf(text);
    case 'DMARC':
      return isDmarc(text);
    case 'TLS-RPT':
      return isTlsReports(text);
    case 'MTA-STS':
      return isSts(text);
    case 'DKIM':
      return /(^|;)\s*p\s*=/.test(text);
    default:
      return text === value;
  }
}

function compareRecords(wanted: Wanted, records: readonly string[], seen: Partial<Observations>): Comparison {
  switch (wanted.type) {
    case 'MX':
      return compareMx(wanted, records, seen);
    case 'CNAME':
      return compareCname(wanted, records, seen);
    case 'CAA':
      return compareCaa(wanted, records);
    case 'TXT':
      return compareText(wanted, records, seen);
  }
}

function compareText(wanted: Wanted, texts: readonly string[], seen: Partial<Observations>): Comparison {
  if (wanted.record === 'DKIM') return compareDkim(wanted, texts, seen.siblings);
  if (wanted.record === 'SPF') return compareSpf(wanted, texts, seen.spf);
  if (wanted.record === 'DMARC') return compareDmarc(wanted, texts, seen.siblings);
  if (wanted.record === 'TLS-RPT') return compareTlsReports(wanted, texts);
  if (wanted.record === 'MTA-STS') return compareSts(wanted, texts);
  return compareProof(wanted, texts);
}

/** A verification text must match exactly; the name may have other texts as well. */
function compareProof(wanted: Wanted, texts: readonly string[]): Comparison {
  if (texts.includes(wanted.value)) return { verdict: 'right', sentence: null };
  for (const text of texts) {
    const fault = shapeFault(text, (repaired) => repaired === wanted.value);
    if (fault) return { verdict: 'wrong', sentence: `The TXT record at ${wanted.name} ${fault}.` };
  }
  const label = wanted.value.split('=', 1)[0] ?? '';
  const similar = label === wanted.value ? undefined : texts.find((text) => text.startsWith(`${label}=`));
  if (similar === undefined) return { verdict: 'absent', sentence: null };
  return {
    verdict: 'wrong',
    sentence: `The TXT record at ${wanted.name} says ${quoted(similar)}; it must be the value shown.`,
  };
}

const isIpAddress = (text: string): boolean =>
  /^\d{1,3}(\.\d{1,3}){3}$/.test(text) || /^[0-9a-f:]*:[0-9a-f:.]*$/i.test(text);

const sameHost = (a: string, b: string): boolean => plainHost(a) === plainHost(b);
const plainHost = (host: string): string => host.toLowerCase().replace(/\.$/, '');

interface Mx {
  preference: number;
  host: string;
}

export const parseMx = (record: string): Mx => {
  const [, preference = '0', host = ''] = /^(\d{1,5})\s+(.*)$/s.exec(record) ?? ['', '0', record];
  return { preference: Number(preference), host: plainHost(host) };
};

function compareMx(wanted: Wanted, records: readonly string[], seen: Partial<Observations>): Comparison {
  const found = records.map(parseMx);
  const ours = found.find(({ host }) => sameHost(host, wanted.value));
  if (ours) return compareOtherMx(wanted, found, ours);
  const hosts = found.map(({ host }) => host);
  if (hosts.every((host) => host === '')) {
    return wrong(
      `The MX record at ${wanted.name} is a null MX (RFC 7505), which says that ${wanted.name} takes no mail; it must name ${wanted.value}.`,
    );
  }
  const fault = longer(wanted, hosts, 'MX record', seen) ?? address(wanted, hosts) ?? alias(wanted, hosts, seen);
  return wrong(
    fault ??
      `The MX record at ${wanted.name} names ${listed(hosts)}; it must name ${wanted.value} with priority ${wanted.priority ?? 10}.`,
  );
}

function compareCname(wanted: Wanted, targets: readonly string[], seen: Partial<Observations>): Comparison {
  if (targets.some((target) => sameHost(target, wanted.value))) return { verdict: 'right', sentence: null };
  const fault =
    longer(wanted, targets, 'CNAME record', seen) ??
    (targets.some((target) => /^https?\b|[:/]/i.test(target))
      ? `The CNAME record at ${wanted.name} points to a web address, ${listed(targets)}; it takes only the host name ${wanted.value}.`
      : undefined);
  return wrong(
    fault ?? `The CNAME record at ${wanted.name} points to ${listed(targets)}; it must point to ${wanted.value}.`,
  );
}

/** Mail goes to the lowest number first (RFC 5321 §5.1). */
function compareOtherMx(wanted: Wanted, found: readonly Mx[], ours: Mx): Comparison {
  const before = found.filter(({ host, preference }) => !sameHost(host, ours.host) && preference <= ours.preference);
  if (before.length === 0) return { verdict: 'right', sentence: null };
  const what = wanted.record === 'Receiving' ? 'mail' : 'its bounces';
  const others = listed(before.map(({ host, preference }) => `${host} (${preference})`));
  const us = shown(ours.host);
  const place = before.every(({ preference }) => preference === ours.preference)
    ? `has the same priority as ${us} (${ours.preference}), so ${what} may go there`
    : `comes before ${us} (${ours.preference}), so ${what} will go there`;
  const sentence = `At ${wanted.name}, ${others} ${place}; give ${us} the lowest number.`;
  return { verdict: wanted.record === 'Receiving' ? 'wrong' : 'right', sentence };
}

/** Many panels treat a name without its final dot as relative. */
function longer(
  wanted: Wanted,
  hosts: readonly string[],
  what: string,
  seen: Partial<Observations>,
): string | undefined {
  const suffixes = [seen.zone?.name, wanted.domain, wanted.name].filter((name) => name !== undefined);
  const host = hosts.find((candidate) => suffixes.some((suffix) => sameHost(candidate, `${wanted.value}.${suffix}`)));
  if (host === undefined) return undefined;
  return `The DNS host appended the zone's name to the target of the ${what} at ${wanted.name}, which is now ${shown(host, 100)}; enter ${wanted.value}. with a dot at its end.`;
}

function address(wanted: Wanted, hosts: readonly string[]): string | undefined {
  const host = hosts.find(isIpAddress);
  if (host === undefined) return undefined;
  return `The MX record at ${wanted.name} names the address ${shown(host)}; an MX record names a host (RFC 1035 §3.3.9): ${wanted.value}.`;
}

function alias(wanted: Wanted, hosts: readonly string[], seen: Partial<Observations>): string | undefined {
  const host = hosts.find((candidate) => {
    const answer = seen.further?.get(questionKey({ name: candidate, type: 'CNAME' }));
    return answer?.kind === 'found' && answer.records.some((target) => sameHost(target, wanted.value));
  });
  if (host === undefined) return undefined;
  return `The MX record at ${wanted.name} names ${shown(host)}, which is an alias (CNAME) of ${wanted.value}; an MX record must name the host itself (RFC 2181 §10.3).`;
}
