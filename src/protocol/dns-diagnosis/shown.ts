const CHARS_MAX = 70;

// Control characters, line separators, bidirectional overrides and other invisible format characters: what a stranger
// wrote must not steer a terminal, a log or a page.
const STEERING = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\u2028\u2029]/gu;

/** What was found in DNS, made harmless and short. */
export function shown(text: string, charsMax = CHARS_MAX): string {
  const whole = detached(text.slice(0, charsMax * 4).toWellFormed()).replaceAll(STEERING, '\uFFFD');
  const chars = Array.from(whole);
  return chars.length <= charsMax ? whole : `${chars.slice(0, charsMax - 1).join('')}…`;
}

/** A copy: a part of a string keeps all of it in memory, and what is shown is kept longer than what was found. */
const detached = (text: string): string => Buffer.from(text, 'utf8').toString('utf8');

export const quoted = (text: string): string => `"${shown(text)}"`;

/** `a`, `a and b`, or `a, b and 3 more`. */
export function listed(items: readonly string[], max = 3): string {
  const seen = items.slice(0, max).map((item) => shown(item));
  const left = items.length - seen.length;
  if (left > 0) return `${seen.join(', ')} and ${left} more`;
  return seen.length < 2 ? (seen[0] ?? 'none') : `${seen.slice(0, -1).join(', ')} and ${seen.at(-1)}`;
}

/** To the second: name servers know nothing finer. */
export function shownTime(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? 'an unknown time' : date.toISOString().replace(/\.\d+Z$/, 'Z');
}

/** TXT records are bytes, which come one a character; people write them in UTF-8. */
export function textOf(bytes: string): string {
  if (!/[\x80-\xff]/.test(bytes) || /[^\0-\xff]/.test(bytes)) return bytes;
  const text = Buffer.from(bytes, 'latin1').toString('utf8');
  return text.includes('\uFFFD') ? bytes : text;
}
