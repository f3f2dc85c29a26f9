import type { RawField } from '../../protocol/mime-read/index.ts';

/**
 * Whether a received field claims to be a result of this server: Authentication-Results of `host` (RFC 8601 §5), or
 * Received-SPF, which names no server.
 */
export function claimsToBeOurs({ lower, value }: Pick<RawField, 'lower' | 'value'>, host: string): boolean {
  if (lower === 'received-spf') return true;
  return lower === 'authentication-results' && serverNamed(value) === host.toLowerCase();
}

/** The headers of a message, by name in lower case and a line for each field, without such claims. */
export function withoutOwnClaims(headers: Readonly<Record<string, string>>, host: string): Record<string, string> {
  // Null-prototype, or a header called `__proto__` would be none.
  const kept = Object.create(null) as Record<string, string>;
  for (const [lower, values] of Object.entries(headers)) {
    const theirs = values.split('\n').filter((value) => !claimsToBeOurs({ lower, value }, host));
    if (theirs.length > 0) kept[lower] = theirs.join('\n');
  }
  return kept;
}

/** The authserv-id, without the comments and quotes around it. */
function serverNamed(value: string): string {
  let [depth, text] = [0, ''];
  for (let at = 0; at < value.length; at++) {
    const char = value.charAt(at);
    if (char === ';' && depth === 0) break;
    if (char === '(') depth++;
    else if (char === ')') depth = Math.max(0, depth - 1);
    else if (char === '\\') at++;
    if (depth === 0 && char !== ')') text += char === '\\' ? value.charAt(at) : char;
  }
  const [name = ''] = text.trim().split(/\s+/);
  return name.replaceAll('"', '').replace(/\.$/, '').toLowerCase();
}
