import { normalizeAddress, parseAddress, splitAddress } from '../../protocol/address/index.ts';

/** Stands for any characters of a local part, none included; no address that a pattern is written for holds one. */
const WILDCARD = '*';
const EVERYTHING = '*';
/** Each one more makes matching slower and a rule harder to understand. */
const WILDCARDS_MAX = 5;

export type Pattern = { ok: true; pattern: string; domain: string | undefined } | { ok: false; fault: string };

/** Reads a pattern into the form in which addresses are compared; `domain` is missing where it matches everything. */
export function readPattern(text: string): Pattern {
  const given = text.trim();
  if (given === EVERYTHING) return { ok: true, pattern: EVERYTHING, domain: undefined };
  const parts = splitAddress(given);
  const wildcards = given.split(WILDCARD).length - 1;
  if (!parts || parts.domain.includes(WILDCARD)) {
    return { ok: false, fault: 'pattern must be an address, a pattern such as support+*@example.com, or *' };
  }
  if (wildcards > WILDCARDS_MAX) {
    return { ok: false, fault: `pattern has ${wildcards} asterisks; use at most ${WILDCARDS_MAX}` };
  }
  // An asterisk is a character of an address as well, so that what is left can be checked as one.
  const parsed = parseAddress(given);
  if (!parsed.ok) return { ok: false, fault: `pattern: ${parsed.fault}` };
  return { ok: true, pattern: normalizeAddress(parsed.mailbox.address), domain: parsed.mailbox.domain };
}

/** Whether an address, in the form in which addresses are compared, is meant by a pattern. */
export function isMatch(pattern: string, address: string): boolean {
  if (pattern === EVERYTHING) return true;
  const [first = '', ...others] = pattern.split(WILDCARD);
  const last = others.pop();
  if (last === undefined) return address === pattern;
  if (!address.startsWith(first) || !address.endsWith(last)) return false;
  const end = address.length - last.length;
  let at = first.length;
  for (const piece of others) {
    const found = address.indexOf(piece, at);
    if (found < 0) return false;
    at = found + piece.length;
  }
  return at <= end;
}

/** More is more specific: an address before any pattern, then what leaves less open. */
export const specificity = (pattern: string): number =>
  pattern.includes(WILDCARD) ? pattern.replaceAll(WILDCARD, '').length : Number.POSITIVE_INFINITY;
