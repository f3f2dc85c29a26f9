import { HtmlTokenizer } from '../html/index.ts';
import { decodeAttribute } from '../html-references/index.ts';

const QUOTE = String.raw`(?:["']|&(?:amp;)?(?:quot|#39);)`;
const SPACE = String.raw`\s{0,20}`;
/** Where HTML names a picture, as it is or escaped; in a `srcset`, others stand behind a width or a density. */
const BEFORE = [
  `(?<![\\w-])(?:src|srcset|background|href|poster)${SPACE}=${SPACE}${QUOTE}?${SPACE}`,
  `\\s\\d[\\d.]{0,8}[wx],${SPACE}`,
  `url\\(${SPACE}${QUOTE}?${SPACE}`,
].join('|');
// RFC 2392: the id is percent-encoded in the URL.
const CONTENT_ID_URL = new RegExp(String.raw`(?<=${BEFORE})cid:([^\s"'<>()&]+)`, 'gi');

/** An email shows a few dozen pictures; one that names a hundred thousand shows the first of them. */
const ADDRESSES_MAX = 1000;

/** Pixels only: an SVG is a document. */
const RASTER_TYPES: Record<string, string> = {
  'image/png': 'image/png',
  'image/jpeg': 'image/jpeg',
  'image/jpg': 'image/jpeg',
  'image/gif': 'image/gif',
  'image/webp': 'image/webp',
  'image/avif': 'image/avif',
  'image/bmp': 'image/bmp',
};

/** The ids of the attachments that the text shows in place, without angle brackets. */
export function contentIdsIn(html: string): Set<string> {
  return new Set(Array.from(addressesIn(html), ([, id = '']) => decoded(id)));
}

/** Undefined where the type is no picture that can be shown. */
export function imageDataUrl(contentType: string, content: Buffer): string | undefined {
  const type = RASTER_TYPES[contentType.split(';', 1)[0]?.trim().toLowerCase() ?? ''];
  return type && `data:${type};base64,${content.toString('base64')}`;
}

/**
 * Puts pictures in the place of their `cid:` addresses. What they add is at most `charsMax`: an email may name one
 * large picture a hundred thousand times.
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

/** The first places where a picture is named. */
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

/** Whether it is worth offering to load remote images: a guess that would rather offer once too often. */
export const mayLoadImages = (html: string): boolean =>
  ADDRESS.test(html) && (ELEMENT.test(html) || ATTRIBUTE.test(html) || STYLE.test(html));

const SHOWN = /^(?:https?:\/\/|mailto:|tel:)/i;
const CHARS_MAX = 2048;
/** Most links of a hostile text are none, or the same one again. */
const LOOKED_AT_MAX = 5000;

/** The addresses that a text links to, each once and in order, to be read and not to be followed. */
export function linksIn(html: string, countMax: number): string[] {
  const links = new Set<string>();
  // Many texts have no link, and then nothing has to be read.
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
