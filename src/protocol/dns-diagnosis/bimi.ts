import { decodeText, quoted, shown, type Answer } from './observations.ts';
import { findTag, isDmarc, withoutPolicy } from './policy-rules.ts';

/** The logo that a domain asks mailbox providers to show next to its mail. */
export interface BimiRecord {
  /** The name at which the record was found. */
  name: string;
  value: string;
  /** What keeps mailbox providers from showing the logo; null if nothing does. */
  diagnosis: string | null;
}

/** The DMARC policies that decide whether providers look at a BIMI record. */
export interface BimiPolicies {
  domain: string;
  own: Answer;
  /** The registered name above the domain, and what stands at its DMARC name; undefined if that is the domain itself. */
  above: { domain: string; answer: Answer } | undefined;
}

const isBimi = (text: string): boolean => /^v\s*=\s*BIMI1\s*(;|$)/.test(text);
/** Nothing else is shown, because an alias may lead to names of others. */
const isMeant = (text: string): boolean => /^.{0,40}v\s*=\s*["']?BIMI/i.test(text);

const VALUE_CHARS_MAX = 500;
const SENTENCE_CHARS_MAX = 600;

/** Returns the record among the texts of a name; undefined if there is none, nor one that was meant to be one. */
export function readBimi(name: string, texts: readonly string[], policies: BimiPolicies): BimiRecord | undefined {
  const meant = texts.map(decodeText).filter(isMeant);
  const valid = meant.filter(isBimi);
  const value = valid[0] ?? meant[0];
  if (value === undefined) return undefined;
  const diagnosis = explainText(name, valid, meant) ?? explainDisplay(value, policies);
  return {
    name,
    value: shown(value, VALUE_CHARS_MAX),
    diagnosis: diagnosis === null ? null : shown(diagnosis, SENTENCE_CHARS_MAX),
  };
}

/** Explains why providers cannot use the record as it is written. */
function explainText(name: string, valid: readonly string[], meant: readonly string[]): string | null {
  const [record] = valid;
  if (record === undefined) {
    const form = { kind: 'BIMI' as const, version: 'v=BIMI1;', isOne: isBimi, similar: /BIMI/i };
    return withoutPolicy({ name }, meant, form).sentence;
  }
  if (valid.length > 1) {
    return `There are ${valid.length} BIMI records at ${name}, so mailbox providers follow none of them; keep one.`;
  }
  const { l: logo, a: certificate = '' } = readTags(record);
  if (logo === undefined) {
    return `The BIMI record at ${name} has no l= tag; it needs l= and the https URL of the logo, an SVG file.`;
  }
  if (logo === '' && certificate === '') {
    return `The BIMI record at ${name} says that the domain has no logo; to have one shown, enter its https URL in l=.`;
  }
  if (logo !== '' && !isHttps(logo)) {
    return `The BIMI record at ${name} has l=${quoted(logo)}; l= must be an https URL.`;
  }
  if (!isUnset(certificate) && !isHttps(certificate)) {
    return `The BIMI record at ${name} has a=${quoted(certificate)}; a= must be an https URL.`;
  }
  return null;
}

/** Explains why providers do not show the logo of a correct record. */
function explainDisplay(record: string, policies: BimiPolicies): string | null {
  const { a: certificate = '' } = readTags(record);
  const reasons = [
    explainPolicy(policies),
    isUnset(certificate)
      ? 'The BIMI record names no mark certificate (a=), without which Gmail and Apple Mail do not show the logo.'
      : null,
  ];
  return reasons.filter((reason) => reason !== null).join(' ') || null;
}

/**
 * Explains why the DMARC policy keeps the logo away: it must be enforced for all mail, at the domain and at the registered
 * name above it. A policy that is not known counts as enforced.
 */
function explainPolicy({ domain, own, above }: BimiPolicies): string | null {
  if (own.kind === 'failed') return null;
  const name = `_dmarc.${domain}`;
  const policy = findDmarc(own);
  const fault = policy && findLaxTag(policy, ['p']);
  if (fault) {
    return `The DMARC policy of ${name} is ${fault}, so no mailbox provider shows the logo; it must be quarantine or reject for all mail.`;
  }
  if (above === undefined || above.answer.kind === 'failed') return policy ? null : withoutDmarc(domain);
  const policyAbove = findDmarc(above.answer);
  if (policyAbove === undefined) return policy ? null : withoutDmarc(domain);
  const nameAbove = `_dmarc.${above.domain}`;
  const faultAbove = findLaxTag(policyAbove, ['p']);
  const faultBelow = findLaxTag(policyAbove, ['sp', 'p']);
  if (policy === undefined && faultBelow) {
    return `The DMARC policy of ${nameAbove} for its subdomains is ${faultBelow}, so no mailbox provider shows the logo; it must be quarantine or reject for all mail.`;
  }
  if (!faultAbove && !faultBelow) return null;
  return `The DMARC policy of ${nameAbove} is ${faultAbove ?? faultBelow}, and mailbox providers such as Gmail then show no logo for its subdomains; it must be quarantine or reject for all mail.`;
}

const withoutDmarc = (domain: string): string =>
  `${domain} has no DMARC policy, so no mailbox provider shows the logo; publish one of quarantine or reject.`;

const findDmarc = (answer: Answer): string | undefined =>
  answer.kind === 'found' ? answer.records.map(decodeText).find(isDmarc) : undefined;

/** Returns the tag that lets mail pass which fails DMARC; the first of the names that the policy has counts. */
function findLaxTag(policy: string, names: readonly string[]): string | undefined {
  const name = names.find((one) => findTag(policy, one) !== undefined);
  const action = name === undefined ? undefined : findTag(policy, name);
  if (action !== 'quarantine' && action !== 'reject') return `${name ?? 'p'}=${shown(action ?? 'none', 40)}`;
  const share = findTag(policy, 'pct');
  return share !== undefined && Number(share) < 100 ? `pct=${shown(share, 40)}` : undefined;
}

/** An early form of the record had "self" for a logo without a certificate. */
const isUnset = (certificate: string): boolean => certificate === '' || certificate.toLowerCase() === 'self';

const isHttps = (text: string): boolean => URL.parse(text)?.protocol === 'https:';

function readTags(record: string): Partial<Record<string, string>> {
  const parts = record.split(';').map((part) => part.split('='));
  return Object.fromEntries(
    parts.map(([tag = '', ...value]) => [tag.trim().toLowerCase(), value.join('=').trim()] as const),
  );
}
