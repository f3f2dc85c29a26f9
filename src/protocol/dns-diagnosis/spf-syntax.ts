import { isIPv4, isIPv6 } from 'node:net';

/** Middles of sentences: the term goes before, and what becomes of the record behind. */
const UNKNOWN = 'which does not exist and';
const BAD_CHARACTER = 'which has a character that is not allowed there and';
const BAD_ADDRESS = 'whose address or prefix length is not possible, which';
const BAD_NAME = 'whose name cannot be read, which';
const BAD_MACRO = 'in which a % begins no macro, which';

/** What makes one term of an SPF record unreadable; undefined if nothing does (RFC 7208 §12). Terms come in lower case. */
export function termFault(term: string): string | undefined {
  if (/[^\x21-\x7e]/.test(term)) return BAD_CHARACTER;
  const [, name = '', value = ''] = /^([a-z][a-z0-9_.-]*)=(.*)$/.exec(term) ?? [];
  if (name === 'redirect' || name === 'exp') return nameFault(value);
  if (name !== '') return macroFault(value);
  const [, mechanism = '', rest = ''] = /^[-+~?]?([a-z0-9]+)(.*)$/.exec(term) ?? [];
  return MECHANISMS.get(mechanism)?.(rest) ?? (MECHANISMS.has(mechanism) ? undefined : UNKNOWN);
}

/** Each takes what stands behind the name of the mechanism. */
const MECHANISMS = new Map<string, (rest: string) => string | undefined>([
  ['all', (rest) => (rest === '' ? undefined : UNKNOWN)],
  ['include', namedFault],
  ['exists', namedFault],
  ['ptr', (rest) => (rest === '' ? undefined : namedFault(rest))],
  ['a', hostFault],
  ['mx', hostFault],
  ['ip4', (rest) => addressFault(rest, isIPv4, IP4_BITS)],
  // A zone index is no part of an address of anybody else's.
  ['ip6', (rest) => addressFault(rest, (address) => isIPv6(address) && !address.includes('%'), IP6_BITS)],
]);

const IP4_BITS = 32;
const IP6_BITS = 128;

function namedFault(rest: string): string | undefined {
  return rest.startsWith(':') ? nameFault(rest.slice(1)) : rest === '' ? BAD_NAME : UNKNOWN;
}

/** `:host/24//64`, each part of which may be absent. */
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

/** A slash may stand in the middle of a name or in a macro; at the end of one it is a prefix length that went wrong. */
const nameFault = (name: string): string | undefined =>
  name === '' || /\/[^./{}]*$/.test(name) ? BAD_NAME : macroFault(name);

const MACROS = /%(?:\{[slodiphcrtv]\d*r?[-.+,/_=]*\}|[%_-])/g;

const macroFault = (text: string): string | undefined =>
  text.replaceAll(MACROS, '').includes('%') ? BAD_MACRO : undefined;
