// RFC 2392: the id is percent-encoded in the URL.
const CONTENT_ID_URL = /cid:([^\s"'<>()&]+)/gi;

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
  return new Set(Array.from(html.matchAll(CONTENT_ID_URL), ([, id = '']) => decoded(id)));
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
  let left = charsMax;
  return html.replace(CONTENT_ID_URL, (whole, id: string) => {
    const url = images.get(decoded(id));
    if (url === undefined || url.length > left) return whole;
    left -= url.length;
    return url;
  });
}

function decoded(id: string): string {
  try {
    return decodeURIComponent(id);
  } catch {
    return id;
  }
}
