const BOUNDARY = /boundary\s*=\s*(?:"((?:[^"\\]|\\.){1,256})"|([^\s;"]{1,256}))/gi;
const LF = 10;
const LINE_CHARS_MAX = 300;
/** As a text the whole of a large message would take as much memory again. */
const WINDOW_BYTES = 1024 * 1024;
/** Windows overlap by more than a parameter has. */
const OVERLAP_BYTES = 4096;

/**
 * How many delimiters of parts there are, up to `max`: a parser has built the parts by the time it can count them. A text
 * with lines of hyphens has none.
 */
export function countParts(raw: Uint8Array, max: number): number {
  const all = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength);
  const boundaries = boundariesIn(all);
  if (boundaries.size === 0) return 0;
  let count = 0;
  for (let at = all.indexOf('\n--'); at >= 0 && count <= max; at = all.indexOf('\n--', at + 3)) {
    const lf = all.indexOf(LF, at + 3);
    const end = Math.min(lf < 0 ? all.length : lf, at + 3 + LINE_CHARS_MAX);
    const line = all.toString('latin1', at + 3, end);
    if (boundaries.has(line.trimEnd())) count++;
  }
  return count;
}

function boundariesIn(all: Buffer): Set<string> {
  const boundaries = new Set<string>();
  for (let from = 0; from < all.length; from += WINDOW_BYTES) {
    const text = all.toString('latin1', from, from + WINDOW_BYTES + OVERLAP_BYTES);
    for (const [, quoted, bare = ''] of text.matchAll(BOUNDARY)) {
      boundaries.add((quoted === undefined ? bare : quoted.replaceAll(/\\(.)/g, '$1')).trimEnd());
    }
  }
  return boundaries;
}
