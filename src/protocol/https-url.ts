const URL_CHARS_MAX = 2048;

/** A URL that may be fetched as far as its text can say, or what is wrong with it. */
export function readHttpsUrl(text: string): URL | string {
  if (text.length > URL_CHARS_MAX) return `may have at most ${URL_CHARS_MAX} characters; got ${text.length}.`;
  // The parser of URLs takes these out without a word, and what is fetched would not be what was written.
  if (/[\s\p{Cc}]/u.test(text)) return 'must be an https URL without spaces or control characters.';
  const url = URL.parse(text);
  if (!url || url.protocol !== 'https:') return 'must be an https URL such as https://example.com/invoice.pdf.';
  if (url.username !== '' || url.password !== '') return 'must be a URL without a user name or password in it.';
  url.hash = '';
  return url;
}
