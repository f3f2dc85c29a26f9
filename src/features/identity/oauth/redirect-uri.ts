const CHARS_MAX = 2048;
const LOOPBACK: ReadonlySet<string> = new Set(['127.0.0.1', '[::1]', 'localhost']);
/** As a parser leaves it; parsers take more, such as ; and * which would mean something in the policy of the consent page. */
const HOST = /^(?:[a-z0-9._-]*|\[[0-9a-f:.]+\])$/;

/** What is wrong with an address that a browser would be sent to with an answer; undefined when it may be registered. */
export function redirectFault(text: string, listed: readonly string[]): string | undefined {
  if (text.length > CHARS_MAX) return `may have at most ${CHARS_MAX} characters`;
  if (!/^[\x21-\x7e]+$/.test(text) || text.includes('\\')) return 'must be an absolute address in plain ASCII';
  if (text.includes('#')) return 'must have no fragment';
  if (listed.includes(text)) return undefined;
  const url = URL.parse(text);
  if (!url) return 'must be an absolute address';
  if (url.username !== '' || url.password !== '') return 'must have no user name and no password';
  if (!HOST.test(url.hostname)) return 'must have a host of letters, digits, dots and hyphens alone';
  if (url.protocol === 'https:') return /^https:\/\/[^/]/i.test(text) ? undefined : 'must be an absolute address';
  // The host as it was written: a parser makes 127.0.0.1 of 2130706433 too.
  const host = /^http:\/\/(\[[^\]]*\]|[^/:?#]*)(?::\d{1,5})?(?:[/?]|$)/i.exec(text)?.[1]?.toLowerCase();
  if (host !== undefined && LOOPBACK.has(host)) return undefined;
  return 'must be an https address, or an http address on 127.0.0.1, [::1] or localhost; others have to be listed in oauth.private_scheme_redirects by the operator of this service';
}

/** The address with what is answered; its own query stays as it was registered. */
export function redirectTo(uri: string, answer: Record<string, string | undefined>): string {
  const given = Object.entries(answer).filter((pair): pair is [string, string] => pair[1] !== undefined);
  const query = new URLSearchParams(given).toString();
  const joint = !uri.includes('?') ? '?' : /[?&]$/.test(uri) ? '' : '&';
  return `${uri}${joint}${query}`;
}
