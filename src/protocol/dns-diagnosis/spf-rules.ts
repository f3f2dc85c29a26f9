import {
  listed,
  quoted,
  shown,
  shapeFault,
  type Comparison,
  type SpfCost,
  type Wanted,
  type Answer,
} from './observations.ts';
import { isIPv4, isIPv6 } from 'node:net';

/** RFC 7208 §4.6.4. */
const SPF_LOOKUPS_MAX = 10;

/** Counting stops here: a higher count is no more useful, and a record may include itself. */
const COUNTED_MAX = 3 * SPF_LOOKUPS_MAX;

export const isSpf = (text: string): boolean => /^v=spf1(?: |$)/i.test(text);

/** Splits an SPF record into its terms in lower case, without the version. Terms are separated by ASCII blanks only. */
const splitTerms = (text: string): string[] =>
  text
    .toLowerCase()
    .split(/[ \t\r\n]+/)
    .slice(1, 200)
    .filter(Boolean);

/**
 * Counts the look-ups that evaluating a record takes at most. `texts` holds the TXT answers known so far. A caller may
 * look up the `missing` ones and count again until none is missing; counting is bounded, so that this ends.
 */
export function countSpfLookups(record: string, texts: ReadonlyMap<string, Answer>): SpfCost {
  const missing = new Set<string>();
  const broken = new Map<string, 'absent' | 'several'>();
  let lookups = 0;
  const count = (text: string, depth: number): void => {
    for (const term of splitTerms(text)) {
      if (lookups >= COUNTED_MAX || depth >= COUNTED_MAX) return;
      const { isAsking, next } = readTerm(term);
      if (isAsking) lookups++;
      if (next === undefined) continue;
      const answer = texts.get(next);
      if (answer === undefined) missing.add(next);
      else if (answer.kind !== 'failed') {
        const [spf, ...more] = answer.kind === 'found' ? answer.records.filter(isSpf) : [];
        if (spf === undefined || more.length > 0) broken.set(next, spf === undefined ? 'absent' : 'several');
        else count(spf, depth + 1);
      }
    }
  };
  count(record, 0);
  return { lookups, missing: [...missing], broken: [...broken].map(([name, why]) => ({ name, why })) };
}

function readTerm(term: string): { isAsking: boolean; next?: string } {
  const [, mechanism = '', argument = ''] =
    /^[-+~?]?(include|a|mx|ptr|exists|redirect)(?:[:=]([^/]*))?(?:\/|$)/.exec(term) ?? [];
  if (mechanism === '') return { isAsking: false };
  const isFollowed = mechanism === 'include' || mechanism === 'redirect';
  // The value of a macro is only known when mail arrives (RFC 7208 §7).
  if (!isFollowed || argument.includes('%') || argument === '') return { isAsking: true };
  return { isAsking: true, next: argument.replace(/\.$/, '') };
}

/** Middles of sentences: the term precedes them, and the consequence for the record follows. */
const UNKNOWN = 'which does not exist and';
const BAD_CHARACTER = 'which has a character that is not allowed there and';
const BAD_ADDRESS = 'whose address or prefix length is not possible, which';
const BAD_NAME = 'whose name cannot be read, which';
const BAD_MACRO = 'in which a % begins no macro, which';

/**
 * Describes what makes one term of an SPF record invalid; undefined if nothing does (RFC 7208 §12). Terms are in lower
 * case.
 */
function termFault(term: string): string | undefined {
  if (/[^\x21-\x7e]/.test(term)) return BAD_CHARACTER;
  const [, name = '', value = ''] = /^([a-z][a-z0-9_.-]*)=(.*)$/.exec(term) ?? [];
  if (name === 'redirect' || name === 'exp') return nameFault(value);
  if (name !== '') return macroFault(value);
  const [, mechanism = '', rest = ''] = /^[-+~?]?([a-z0-9]+)(.*)$/.exec(term) ?? [];
  return MECHANISMS.get(mechanism)?.(rest) ?? (MECHANISMS.has(mechanism) ? undefined : UNKNOWN);
}

/** Each function checks the text after the name of the mechanism. */
const MECHANISMS = new Map<string, (rest: string) => string | undefined>([
  ['all', (rest) => (rest === '' ? undefined : UNKNOWN)],
  ['include', namedFault],
  ['exists', namedFault],
  ['ptr', (rest) => (rest === '' ? undefined : namedFault(rest))],
  ['a', hostFault],
  ['mx', hostFault],
  ['ip4', (rest) => addressFault(rest, isIPv4, IP4_BITS)],
  // A zone index is only meaningful on the host itself.
  ['ip6', (rest) => addressFault(rest, (address) => isIPv6(address) && !address.includes('%'), IP6_BITS)],
]);

const IP4_BITS = 32;
const IP6_BITS = 128;

function namedFault(rest: string): string | undefined {
  return rest.startsWith(':') ? nameFault(rest.slice(1)) : rest === '' ? BAD_NAME : UNKNOWN;
}

/** `:host/24//64`, where each part is optional. */
function hostFault(rest: string): string | undefined {
  const [whole, colon, host = '', , v4, , v6] = /^(?:(:)(.*?))?(\/(\d*))?(\/\/(\d*))?$/.exec(rest) ?? [];
  if (whole === undefined) return rest.startsWith('/') ? BAD_ADDRESS : UNKNOWN;
  if (!isPrefix(v4, IP4_BITS) || !isPrefix(v6, IP6_BITS)) return BAD_ADDRESS;
  return colon === undefined ? undefined : nameFault(host);
}

function addressFault(rest: string, isAddress: (text: string) => boolean, bitsMax: number): string | undefined {
  if (!rest.startsWith(':')) return rest === '' ? BAD_ADDRESS : UNKNOWN;
  const [address = '', bits, ...more] = rest.slice(1).split('/');
  return isAddress(address) && isPrefix(bits, bitsMax) && more.length === 0 ? undefined : BAD_ADDRESS;
}

const isPrefix = (bits: string | undefined, max: number): boolean =>
  bits === undefined || (/^(0|[1-9]\d{0,2})$/.test(bits) && Number(bits) <= max);

/** A slash may occur within a name or in a macro; at the end of a name it is a malformed prefix length. */
const nameFault = (name: string): string | undefined =>
  name === '' || /\/[^./{}]*$/.test(name) ? BAD_NAME : macroFault(name);

const MACROS = /%(?:\{[slodiphcrtv]\d*r?[-.+,/_=]*\}|[%_-])/g;

const macroFault = (text: string): string | undefined =>
  text.replaceAll(MACROS, '').includes('%') ? BAD_MACRO : undefined;

export function compareSpf(wanted: Wanted, texts: readonly string[], cost: SpfCost | undefined): Comparison {
  const [spf, ...others] = texts.filter(isSpf);
  if (spf === undefined) return withoutSpf(wanted, texts);
  // RFC 7208 §4.5: two SPF records are a permanent error, so that nothing is permitted, whatever each of them says.
  if (others.length > 0) {
    return wrong(
      `There are ${others.length + 1} SPF records at ${wanted.name}, which makes every check fail (RFC 7208 §4.5); join them into one.`,
    );
  }
  const fault = unreadable(wanted, spf) ?? notOurs(wanted, spf) ?? tooDear(wanted, cost);
  return fault === undefined ? { verdict: 'right', sentence: advice(wanted, spf, cost) } : wrong(fault);
}

const wrong = (sentence: string): Comparison => ({ verdict: 'wrong', sentence });

function withoutSpf(wanted: Wanted, texts: readonly string[]): Comparison {
  for (const text of texts) {
    const fault = shapeFault(text, (repaired) => isSpf(repaired) && missingTerms(wanted, repaired).length === 0);
    if (fault) return wrong(`The SPF record at ${wanted.name} ${fault}.`);
  }
  const similar = texts.find((text) => /spf|[~?+-]all\b/i.test(text));
  if (similar === undefined) return { verdict: 'absent', sentence: null };
  return wrong(
    `The TXT record at ${wanted.name} says ${quoted(similar)}, which is no SPF record because it does not begin with "v=spf1 ".`,
  );
}

/** RFC 7208 §4.6: one invalid term makes the whole record a permanent error. */
function unreadable(wanted: Wanted, spf: string): string | undefined {
  const terms = splitTerms(spf);
  const odd = terms.find((term) => termFault(term) !== undefined);
  if (odd !== undefined) {
    const shape = shapeFault(
      spf,
      (repaired) => isSpf(repaired) && splitTerms(repaired).every((term) => !termFault(term)),
    );
    if (shape) return `The SPF record at ${wanted.name} ${shape}.`;
    return `The SPF record at ${wanted.name} has the term ${quoted(odd)}, ${termFault(odd)} makes every check fail (RFC 7208 §4.6).`;
  }
  for (const modifier of ['redirect=', 'exp=']) {
    const count = terms.filter((term) => term.startsWith(modifier)).length;
    if (count > 1) {
      return `The SPF record at ${wanted.name} has ${count} ${modifier} terms, and more than one makes every check fail (RFC 7208 §6); keep one.`;
    }
  }
  return undefined;
}

/**
 * Lists our terms that the record lacks. A team may add senders of its own and choose the final `all`; terms after
 * `all` have no effect (RFC 7208 §5.1).
 */
function missingTerms(wanted: Wanted, spf: string): string[] {
  const present = beforeAll(splitTerms(spf));
  return beforeAll(splitTerms(wanted.value)).filter((term) => !present.includes(term));
}

function beforeAll(terms: string[]): string[] {
  const all = terms.findIndex((term) => /^[-~?+]?all$/.test(term));
  return (all < 0 ? terms : terms.slice(0, all)).map((term) => term.replace(/^\+/, ''));
}

function notOurs(wanted: Wanted, spf: string): string | undefined {
  const missing = missingTerms(wanted, spf);
  if (missing.length === 0) return undefined;
  const behind = missing.every((term) => splitTerms(spf).some((found) => found.replace(/^\+/, '') === term));
  if (behind) {
    return `The SPF record at ${wanted.name} has ${listed(missing)} behind "all", where nothing is read any more (RFC 7208 §5.1); put it before.`;
  }
  const elsewhere = splitTerms(spf).some((term) => /^([-+~?]?include:|redirect=)/.test(term))
    ? `; put ${missing.length === 1 ? 'it' : 'them'} into this record itself, because what it includes or redirects to does not count here`
    : '';
  return `The SPF record at ${wanted.name} lacks ${listed(missing)}: it says ${quoted(spf)}${elsewhere}.`;
}

function tooDear(wanted: Wanted, cost: SpfCost | undefined): string | undefined {
  if (!cost || cost.lookups <= SPF_LOOKUPS_MAX) return undefined;
  return `The SPF record at ${wanted.name} needs ${cost.lookups} DNS look-ups or more, and beyond ${SPF_LOOKUPS_MAX} every check fails (RFC 7208 §4.6.4); take includes out or replace them by addresses.`;
}

/** Returns advice on a record that is valid but unwise. */
function advice(wanted: Wanted, spf: string, cost: SpfCost | undefined): string | null {
  const [broken] = cost?.broken ?? [];
  if (broken) {
    const what = broken.why === 'absent' ? 'no SPF record' : 'more than one SPF record';
    return `The SPF record at ${wanted.name} includes ${shown(broken.name)}, which has ${what}, so a check that comes to it fails (RFC 7208 §5.2).`;
  }
  if (!splitTerms(spf).some((term) => term === 'all' || term === '+all')) return null;
  return `The SPF record at ${wanted.name} has +all, which lets everybody send in the name of ${wanted.domain}; end it in ~all or -all.`;
}
