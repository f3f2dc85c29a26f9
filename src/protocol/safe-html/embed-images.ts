import { firstMatches } from './first-matches.ts';

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

const addressesIn = (html: string) => firstMatches(html, CONTENT_ID_URL, ADDRESSES_MAX);

function decoded(id: string): string {
  try {
    return decodeURIComponent(id);
  } catch {
    return id;
  }
}
