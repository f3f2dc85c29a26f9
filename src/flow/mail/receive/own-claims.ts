import type { RawField } from '../../../protocol/mime-read/index.ts';

/**
 * Whether a received field claims to be a result of this server: Authentication-Results of `host` (RFC 8601 §5), or
 * Received-SPF, which names no server.
 */
export function claimsToBeOurs({ lower, value }: RawField, host: string): boolean {
  if (lower === 'received-spf') return true;
  return lower === 'authentication-results' && serverNamed(value) === host.toLowerCase();
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
