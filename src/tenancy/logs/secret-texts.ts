export const REDACTED = '[redacted]';

/** Shorter than every token of ours, longer than the prefix of a key that people are shown. */
const TOKEN_CHARS_MIN = 19;
/** Of keys, sessions, challenges, device logins, OAuth, webhooks, share links and of mails to people; many a word ends in a prefix of the last two. */
const TOKENS =
  /(?:rk|rks|rmc|rkd|rko|rkop|rkor|rkoc|rkc|rkr|whsec|(?:(?<![A-Za-z0-9])|(?<=%2[Ff]))r[si])_[A-Za-z0-9_+/=-]{16,}/g;

/** Tokens of ours wherever they stand in a text: one may be pasted into a subject as well as into a template. */
export function redactTokens(text: string): string {
  // Most texts are short or without an underscore, and finding that out costs a fraction of the search.
  return text.length >= TOKEN_CHARS_MIN && text.includes('_') ? text.replaceAll(TOKENS, REDACTED) : text;
}

/** The path as it was called; a token is one in percent-encoding too. */
export function redactPath(path: string): string {
  if (!path.includes('%')) return redactTokens(path);
  return path.split('/').map(redactSegment).join('/');
}

function redactSegment(segment: string): string {
  const decoded = decodedOr(segment);
  return redactTokens(decoded) === decoded ? segment : REDACTED;
}

function decodedOr(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** A reader of the log may see where a file came from, and may not fetch it: a signature stands in the query, a password before the host. */
export function redactUrl(text: string): string {
  if (!/[?#@]|^\s*data:/i.test(text)) return redactTokens(text);
  if (!URL.canParse(text)) return REDACTED;
  const url = new URL(text);
  // A scheme without a host keeps everything in its path: data:, mailto:.
  if (url.host === '') return `${url.protocol}${REDACTED}`;
  const isCut = url.search !== '' || url.hash !== '' || url.username !== '' || url.password !== '';
  return redactTokens(`${url.protocol}//${url.host}${url.pathname}`) + (isCut ? `?${REDACTED}` : '');
}
