const URL_CHARS_MAX = 2048;

/** Returns a URL that may be fetched, as far as its text shows, or a description of what is wrong with it. */
export function readHttpsUrl(text: string): URL | string {
  if (text.length > URL_CHARS_MAX) return `may have at most ${URL_CHARS_MAX} characters; got ${text.length}.`;
  // The URL parser silently removes these, so a URL other than the written one would be fetched.
  if (/[\s\p{Cc}]/u.test(text)) return 'must be an https URL without spaces or control characters.';
  const url = URL.parse(text);
  if (!url || url.protocol !== 'https:') return 'must be an https URL such as https://example.com/invoice.pdf.';
  if (url.username !== '' || url.password !== '') return 'must be a URL without a user name or password in it.';
  url.hash = '';
  return url;
}
