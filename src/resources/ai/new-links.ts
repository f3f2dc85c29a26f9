import { decodeKnownReferences, startTagsOf } from '../../protocol/track-links/index.ts';

const LINKS_MAX = 100;
const CHARS_MAX = 2048;
const IN_TEXT = /\b(?:https?:\/\/|www\.|mailto:)[^\s<>"'`\\^{}|]+/gi;
const LEADING = ['href', 'src', 'srcset', 'action', 'formaction', 'poster', 'background', 'data', 'cite', 'xlink:href'];

/** The addresses of a draft that stand in nothing that it was made of. */
export function newLinks(draft: { html: string; text: string }, sources: readonly string[]): string[] {
  const given = sources.map((source) => decodeKnownReferences(source).text).join('\n');
  const stood = new Set([...addressesIn(given), ...sources.flatMap(addressesIn)].map(plain));
  const found = [...addressesIn(draft.html), ...addressesIn(draft.text)];
  const unknown = new Map(found.filter((address) => !stood.has(plain(address))).map((one) => [plain(one), one]));
  return [...unknown.values()].slice(0, LINKS_MAX).map((address) => address.slice(0, CHARS_MAX));
}

/** Those of attributes, whatever their scheme, and those that are written out, which readers make links of. */
function addressesIn(text: string): string[] {
  const tags = startTagsOf(text);
  const attributes = tags.flatMap(({ attributes: written }) =>
    LEADING.map((name) => written.get(name)).filter((value) => value !== undefined),
  );
  const styles = tags.flatMap(({ attributes: written }) => urlsIn(written.get('style') ?? ''));
  const values = [...attributes.map((value) => decodeKnownReferences(value).text), ...styles, ...urlsIn(text)];
  const written = decodeKnownReferences(text).text.match(IN_TEXT) ?? [];
  return [...values, ...written.map((address) => address.replace(/[.,;:!?)\]]+$/, ''))]
    .map((address) => address.trim())
    .filter((address) => address !== '' && !address.startsWith('#'));
}

/** Those of style sheets. */
const urlsIn = (css: string): string[] =>
  [...decodeKnownReferences(css).text.matchAll(/url\(\s*["']?([^"')\s]+)/gi)].map(([, address = '']) => address);

/** Letter case of scheme and host, and a slash behind the host, make no other address. */
function plain(address: string): string {
  const url = URL.parse(address.replace(/^www\./i, 'http://www.'));
  return url === null ? address.toLowerCase() : url.href;
}
