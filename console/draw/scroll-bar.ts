import { faint, fit } from './text.ts';

const THUMB = '┃';
const TRACK = '│';

/** Which part of a whole is seen, in rows or lines. */
export interface Seen {
  top: number;
  seen: number;
  count: number;
}

/**
 * These lines with a bar at their right that says which part is seen, where that is not all. The bar takes the last of the
 * columns; where another screen stands to the right it is drawn on the line between the two, one column further.
 */
export function withBar(
  lines: readonly string[],
  part: Seen,
  { columns, hasBeside = false }: { columns: number; hasBeside?: boolean | undefined },
): string[] {
  if (part.seen >= part.count) return [...lines];
  const { from, to } = thumbOf(part, lines.length);
  const width = hasBeside ? columns : columns - 1;
  return lines.map((line, at) => {
    const isThumb = at >= from && at < to;
    if (hasBeside && !isThumb) return line;
    return fit(line, width) + (isThumb ? THUMB : faint(TRACK));
  });
}

/** The lines of a text from `top` on, or from as far as they go, with the bar. */
export function linesSeen(
  lines: readonly string[],
  { top, columns, rows, hasBeside }: { top: number; columns: number; rows: number; hasBeside?: boolean },
): { at: number; shown: string[] } {
  const at = Math.max(0, Math.min(top, lines.length - rows));
  const part = { top: at, seen: rows, count: lines.length };
  return { at, shown: withBar(lines.slice(at, at + rows), part, { columns, hasBeside }) };
}

/** It touches an end only where nothing is left beyond that. */
function thumbOf({ top, seen, count }: Seen, height: number): { from: number; to: number } {
  const size = Math.max(1, Math.min(height - 2, Math.round((height * seen) / count)));
  const free = Math.max(0, height - size);
  const between = Math.max(1, Math.min(free - 1, Math.round((free * top) / (count - seen))));
  const from = top <= 0 ? 0 : top >= count - seen ? free : between;
  return { from, to: from + size };
}
