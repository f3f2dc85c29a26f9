import { quoted, shown, shapeFault, type Comparison, type Observations, type Wanted } from './observations.ts';

/** RFC 6376 §3.6.1. White space inside the key is folding that panels add. */
export function compareDkim(wanted: Wanted, texts: readonly string[], siblings: Observations['siblings']): Comparison {
  const right = texts.filter((text) => publishes(text, wanted.value));
  if (right.length > 0) {
    const others = texts.filter((text) => !right.includes(text) && 'p' in parseTags(text));
    if (others.length === 0) return { verdict: 'right', sentence: testMode(wanted, right) };
    const sentence = `There are ${right.length + others.length} keys at ${wanted.name}, and receivers may take either; keep only the one asked for.`;
    return { verdict: 'right', sentence };
  }
  const text = texts.find((candidate) => /(^|[;\s"])p\s*=/.test(candidate)) ?? texts[0] ?? '';
  const sentence =
    spread(wanted, texts) ??
    shape(wanted, text) ??
    wrongTag(wanted, text) ??
    unusable(wanted, text) ??
    wrongKey(wanted, text, siblings) ??
    `The TXT record at ${wanted.name} is no DKIM key: it says ${quoted(text)}; publish the value shown.`;
  return { verdict: 'wrong', sentence };
}

type Tags = Partial<Record<string, string>>;

function parseTags(text: string): Tags {
  const tags: Tags = Object.create(null) as Tags;
  for (const part of text.split(';')) {
    const at = part.indexOf('=');
    const name = part.slice(0, Math.max(0, at)).trim();
    // The first tag of a name counts, so that reading does not depend on what follows.
    if (at >= 0 && !(name in tags)) tags[name] = part.slice(at + 1).replaceAll(/\s+/g, '');
  }
  return tags;
}

/** `v` must be the first tag or absent. */
function isOdd(text: string): boolean {
  const names = text.split(';').map((part) => (part.split('=', 1)[0] ?? '').trim());
  const at = names.indexOf('v');
  return at > 0 || (at === 0 && parseTags(text)['v'] !== 'DKIM1');
}

const readKey = (text: string): string => (isOdd(text) ? '' : (parseTags(text)['p'] ?? ''));
const readKeyType = (text: string): string => (parseTags(text)['k'] ?? 'rsa').toLowerCase();
const holdsKey = (text: string, value: string): boolean =>
  readKey(value) !== '' && readKey(text) === readKey(value) && readKeyType(text) === readKeyType(value);
const publishes = (text: string, value: string): boolean =>
  holdsKey(text, value) && allowsOurHash(text) && isForEmail(text);

/** Returns the values of a colon-separated list; undefined if there is no such tag. */
const readTagList = (text: string, tag: string): string[] | undefined => parseTags(text)[tag]?.toLowerCase().split(':');
const allowsOurHash = (text: string): boolean => readTagList(text, 'h')?.includes('sha256') ?? true;
const isForEmail = (text: string): boolean =>
  readTagList(text, 's')?.some((service) => service === '*' || service === 'email') ?? true;

/** Panels that cannot store a string of more than 255 characters create several records from one. */
function spread(wanted: Wanted, texts: readonly string[]): string | undefined {
  if (texts.length < 2 || texts.length > 6) return undefined;
  const first = texts.find((text) => 'p' in parseTags(text));
  if (first === undefined) return undefined;
  let joined = first;
  const left = texts.filter((text) => text !== first);
  while (left.length > 0) {
    const next = left.findIndex(
      (text) => readKey(wanted.value).startsWith(readKey(joined + text)) && readKey(text) === '',
    );
    if (next < 0) return undefined;
    joined += left.splice(next, 1)[0] ?? '';
  }
  if (!publishes(joined, wanted.value)) return undefined;
  return `The key at ${wanted.name} is spread over ${texts.length} TXT records; it must be one TXT record, in one piece or as several strings of that record.`;
}

function shape(wanted: Wanted, text: string): string | undefined {
  const fault = shapeFault(text, (repaired) => publishes(repaired, wanted.value));
  return fault && `The TXT record at ${wanted.name} ${fault}.`;
}

function wrongTag(wanted: Wanted, text: string): string | undefined {
  const tags = parseTags(text);
  if (isOdd(text) && 'p' in tags) {
    return `The DKIM record at ${wanted.name} must begin with v=DKIM1 (RFC 6376 §3.6.1), and it begins with ${quoted(text.slice(0, 20))}.`;
  }
  if (isOdd(text)) return undefined;
  if (!('p' in tags)) {
    return 'k' in tags || 'v' in tags
      ? `The DKIM record at ${wanted.name} has no p= tag and so no key; publish the whole value.`
      : undefined;
  }
  if (tags['p'] === '') {
    return `The DKIM key at ${wanted.name} is revoked: its p= is empty (RFC 6376 §3.6.1); publish the value shown.`;
  }
  if (readKeyType(text) === readKeyType(wanted.value)) return undefined;
  return `The key at ${wanted.name} is of another kind: k=${quoted(readKeyType(text)).slice(1, -1)} where k=${readKeyType(wanted.value)} is asked for.`;
}

/** RFC 6376 §3.6.1: a receiver ignores such a key, and treats mail signed with it as unsigned. */
function unusable(wanted: Wanted, text: string): string | undefined {
  if (!holdsKey(text, wanted.value)) return undefined;
  const h = parseTags(text)['h'] ?? '';
  const s = parseTags(text)['s'] ?? '';
  if (!allowsOurHash(text)) {
    return `The DKIM key at ${wanted.name} allows only h=${shown(h)}, and our mail is signed with sha256; take the h= tag out.`;
  }
  if (!isForEmail(text)) {
    return `The DKIM key at ${wanted.name} is for s=${shown(s)} only and not for email; take the s= tag out.`;
  }
  return undefined;
}

function testMode(wanted: Wanted, texts: readonly string[]): string | null {
  if (!texts.some((text) => readTagList(text, 't')?.includes('y'))) return null;
  return `The DKIM key at ${wanted.name} is in test mode (t=y), in which receivers may treat our mail as unsigned (RFC 6376 §3.6.1); take y out of its t= tag.`;
}

/** A single string ends at 255 characters (RFC 1035 §3.3.14); at any other length the end was lost while copying. */
const cutAdvice = (text: string): string =>
  text.length >= 250 && text.length <= 256
    ? 'this panel ends a text at 255, so split the value into several strings of one record'
    : 'enter the whole value again';

function wrongKey(wanted: Wanted, text: string, siblings: Observations['siblings']): string | undefined {
  const found = readKey(text);
  const key = readKey(wanted.value);
  if (found === '') return undefined;
  if (key.startsWith(found)) {
    return `The DKIM key at ${wanted.name} is cut off: ${found.length} of its ${key.length} characters are there; ${cutAdvice(text)}.`;
  }
  if (found.startsWith(key)) {
    return `The DKIM key at ${wanted.name} goes on after its end: ${found.length} characters where ${key.length} are asked for.`;
  }
  const other = siblings?.find(({ wanted: sibling }) => sibling.record === 'DKIM' && holdsKey(text, sibling.value));
  if (other)
    return `The key at ${wanted.name} is the one that belongs at ${other.wanted.name}; each selector has its own.`;
  return `Another DKIM key stands at ${wanted.name}: its p= begins with ${quoted(found.slice(0, 24))} and ends with ${quoted(found.slice(-8))}, ours ends with "${key.slice(-8)}".`;
}
