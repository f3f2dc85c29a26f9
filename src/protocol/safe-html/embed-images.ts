import { HtmlTokenizer } from '../html/index.ts';
import { decodeAttribute } from '../html-references/index.ts';

const QUOTE = String.raw`(?:["']|&(?:amp;)?(?:quot|#39);)`;
const SPACE = String.raw`\s{0,20}`;
/**
 * The contexts in which HTML names an image, literal or escaped; in a `srcset`, further images follow a width or a
 * density.
 */
const BEFORE = [
  `(?<![\\w-])(?:src|srcset|background|href|poster)${SPACE}=${SPACE}${QUOTE}?${SPACE}`,
  `\\s\\d[\\d.]{0,8}[wx],${SPACE}`,
  `url\\(${SPACE}${QUOTE}?${SPACE}`,
].join('|');
// RFC 2392: the id is percent-encoded in the URL.
const CONTENT_ID_URL = new RegExp(String.raw`(?<=${BEFORE})cid:([^\s"'<>()&]+)`, 'gi');

/** An email shows a few dozen images; of one that names a hundred thousand, only the first are shown. */
const ADDRESSES_MAX = 1000;

/** Bitmaps only: an SVG is a document. */
const RASTER_TYPES: Record<string, string> = {
  'image/png': 'image/png',
  'image/jpeg': 'image/jpeg',
  'image/jpg': 'image/jpeg',
  'image/gif': 'image/gif',
  'image/webp': 'image/webp',
  'image/avif': 'image/avif',
  'image/bmp': 'image/bmp',
};

/** Returns the ids of the attachments that the text shows inline, without angle brackets. */
export function contentIdsIn(html: string): Set<string> {
  return new Set(Array.from(addressesIn(html), ([, id = '']) => decoded(id)));
}

/** Returns undefined if the type is not an image type that can be shown. */
export function imageDataUrl(contentType: string, content: Buffer): string | undefined {
  const type = RASTER_TYPES[contentType.split(';', 1)[0]?.trim().toLowerCase() ?? ''];
  return type && `data:${type};base64,${content.toString('base64')}`;
}

/**
 * Replaces `cid:` addresses by images. They add at most `charsMax` characters: an email may name one large image a
 * hundred thousand times.
 */
export function embedImages(html: string, images: ReadonlyMap<string, string>, charsMax: number): string {
  if (images.size === 0) return html;
  const parts: string[] = [];
  let left = charsMax;
  let end = 0;
  for (const { 0: whole, 1: id = '', index } of addressesIn(html)) {
    const url = images.get(decoded(id));
    if (url === undefined || url.length > left) continue;
    left -= url.length;
    parts.push(html.slice(end, index), url);
    end = index + whole.length;
  }
  return [...parts, html.slice(end)].join('');
}

/** Yields the first places where an image is named. */
function* addressesIn(html: string): Generator<RegExpExecArray> {
  let count = 0;
  for (const match of html.matchAll(CONTENT_ID_URL)) {
    if (++count > ADDRESSES_MAX) return;
    yield match;
  }
}

function decoded(id: string): string {
  try {
    return decodeURIComponent(id);
  } catch {
    return id;
  }
}

const ELEMENT = /<(?:img|source)[\t\n\f\r /]/i;
const ATTRIBUTE = /(?:background|srcset)[\t\n\f\r ]*=/i;
const STYLE = /(?:url|image-set)\(/i;
const ADDRESS = /https?:|\/\//i;

/** Guesses whether to offer to load remote images; it errs on the side of offering. */
export const mayLoadImages = (html: string): boolean =>
  ADDRESS.test(html) && (ELEMENT.test(html) || ATTRIBUTE.test(html) || STYLE.test(html));

const SHOWN = /^(?:https?:\/\/|mailto:|tel:)/i;
const CHARS_MAX = 2048;
/** Most links of a hostile text are invalid or duplicates. */
const LOOKED_AT_MAX = 5000;

/** Returns the distinct addresses that a text links to, in order, for display and not to be followed. */
export function linksIn(html: string, countMax: number): string[] {
  const links = new Set<string>();
  // Many texts have no link, and need no parsing.
  if (!/href/i.test(html)) return [];
  const tokens = new HtmlTokenizer(html);
  let lookedAt = 0;
  for (let kind = tokens.next(); kind !== 'end'; kind = tokens.next()) {
    const place = kind === 'start tag' ? tokens.findAttribute('href') : undefined;
    if (place === undefined) continue;
    if (++lookedAt > LOOKED_AT_MAX || links.size >= countMax) break;
    const address = decodeAttribute(html.slice(place.start, place.end)).trim();
    if (SHOWN.test(address) && address.length <= CHARS_MAX) links.add(address);
  }
  return [...links];
}
