const BOUNDARY = /boundary\s*=\s*(?:"((?:[^"\\]|\\.){1,256})"|([^\s;"]{1,256}))/gi;
const LINE_CHARS_MAX = 300;

/**
 * How many delimiters of parts there are, up to `max`, in one pass: a parser has built the parts by the time it can count
 * them. A text with lines of hyphens has none.
 */
export function countParts(raw: Uint8Array, max: number): number {
  const text = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength).toString('latin1');
  const boundaries = new Set<string>();
  for (const [, quoted, bare = ''] of text.matchAll(BOUNDARY)) {
    boundaries.add((quoted === undefined ? bare : quoted.replaceAll(/\\(.)/g, '$1')).trimEnd());
  }
  if (boundaries.size === 0) return 0;
  let count = 0;
  for (let at = text.indexOf('\n--'); at >= 0 && count <= max; at = text.indexOf('\n--', at + 3)) {
    const line =
      text
        .slice(at + 3, at + 3 + LINE_CHARS_MAX)
        .split('\n', 1)[0]
        ?.trimEnd() ?? '';
    if (boundaries.has(line)) count++;
  }
  return count;
}
