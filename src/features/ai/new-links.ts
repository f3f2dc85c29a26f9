import { decodeAttribute } from '../../protocol/html-references/index.ts';
import { listStartTags } from '../../protocol/track-links/index.ts';

const LINKS_MAX = 100;
const CHARS_MAX = 2048;
/** Texts that mail programs turn into links: a scheme, a host with a path or a well-known ending, an email address. */
const IN_TEXT = [
  /\b(?:https?:\/\/|ftp:\/\/|www\.|mailto:|tel:|sms:)[^\s<>"'`\\^{}|]+/gi,
  /(?<![\w.@/-])(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.){1,8}(?:[a-z]{2,24}\/[^\s<>"'`\\^{}|]*|(?:com|net|org|info|biz|io|co|app|dev|shop|online|site|xyz|top)\b(?![\w@-]))/gi,
  /(?<![\w.+:/-])[\w.+-]{1,64}@[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63})+/gi,
];
const LEADING = ['href', 'src', 'srcset', 'action', 'formaction', 'poster', 'background', 'data', 'cite', 'xlink:href'];

/** Returns the addresses of a draft that occur in none of its sources. */
export function newLinks(draft: { html: string; text: string }, sources: readonly string[]): string[] {
  const given = sources.map((source) => decodeAttribute(source)).join('\n');
  const stood = new Set([...addressesIn(given), ...sources.flatMap(addressesIn)].map(plain));
  const found = [...addressesIn(draft.html), ...addressesIn(draft.text)];
  const unknown = new Map(found.filter((address) => !stood.has(plain(address))).map((one) => [plain(one), one]));
  return [...unknown.values()].slice(0, LINKS_MAX).map((address) => address.slice(0, CHARS_MAX));
}

/** Returns addresses of attributes, with any scheme, and those in the text, which mail programs turn into links. */
function addressesIn(text: string): string[] {
  const tags = listStartTags(text);
  const attributes = tags.flatMap(({ attributes: written }) =>
    LEADING.map((name) => written.get(name)).filter((value) => value !== undefined),
  );
  const styles = tags.flatMap(({ attributes: written }) => urlsIn(written.get('style') ?? ''));
  const values = [...attributes.map((value) => decodeAttribute(value)), ...styles, ...urlsIn(text)];
  const read = decodeAttribute(text);
  const written = IN_TEXT.flatMap((form) => read.match(form) ?? []);
  return [...values, ...written.map(withoutStops)]
    .map((address) => address.trim())
    .filter((address) => address !== '' && !address.startsWith('#'));
}

const STOPS = '.,;:!?)]';

/** Strips punctuation from the end: a pattern would start over at each character of an address that consists of it. */
function withoutStops(address: string): string {
  let end = address.length;
  while (end > 0 && STOPS.includes(address.charAt(end - 1))) end -= 1;
  return address.slice(0, end);
}

/** Returns the URLs of a style sheet. */
const urlsIn = (css: string): string[] =>
  [...decodeAttribute(css).matchAll(/url\(\s*["']?([^"')\s]+)/gi)].map(([, address = '']) => address);

/**
 * Normalizes an address: letter case of the host, a trailing slash, and a scheme that mail programs add make no
 * difference.
 */
function plain(address: string): string {
  const bare = address.replace(/^mailto:/i, '');
  const isHost = /^[a-z0-9.-]+\.[a-z]{2,24}(?:[/?#:]|$)/i.test(bare);
  const url = URL.parse(isHost ? `https://${bare}` : bare);
  if (url === null || !/^https?:$/.test(url.protocol)) return url?.href ?? bare.toLowerCase();
  return url.href.slice(url.protocol.length);
}
