import { encode } from 'uqr';

/** Longer texts have squares too small for a phone, and choosing the best mask for them takes milliseconds. */
const CHARS_MAX = 500;
/** §5.3.8: a light margin, four squares wide. */
const QUIET_ZONE = 4;
/** Maximum number of pixels a square. */
const PIXELS = 5;

/**
 * Renders a QR code, dark on light whatever the colors of the page are; undefined if the text is too long for a camera
 * to read.
 */
export function qrSvg(text: string, label: string): string | undefined {
  if (text.length > CHARS_MAX) return undefined;
  const { data, size } = encode(text, { ecc: 'M', border: QUIET_ZONE });
  const runs = data.flatMap((row, y) => findRuns(row).map(([x, length]) => `M${x} ${y}h${length}v1h-${length}z`));
  const side = Math.min(size * PIXELS, 320);
  return (
    `<svg class="qr" role="img" aria-label="${label}" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size} ${size}" width="${side}" height="${side}" shape-rendering="crispEdges">` +
    `<rect width="${size}" height="${size}" fill="#fff"/><path fill="#000" d="${runs.join('')}"/></svg>`
  );
}

/** Returns where runs of dark squares begin, and their lengths. */
function findRuns(row: readonly boolean[]): [x: number, length: number][] {
  const runs: [number, number][] = [];
  for (const [x, isDark] of row.entries()) {
    const last = runs.at(-1);
    if (!isDark) continue;
    if (last && last[0] + last[1] === x) last[1]++;
    else runs.push([x, 1]);
  }
  return runs;
}
