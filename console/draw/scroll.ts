import { faint, fit } from './text.ts';
import { grouped } from '../../cli/families/index.ts';

const THUMB = '┃';
const TRACK = '│';

/** The visible part of a whole, in rows or lines. */
interface Seen {
  top: number;
  seen: number;
  count: number;
}

/**
 * Adds a scroll bar at the right of these lines, unless all of them are visible. The bar takes the last column; next to
 * another screen it is drawn on the line between the two, one column further.
 */
export function withBar(
  lines: readonly string[],
  part: Seen,
  { columns, hasBeside = false }: { columns: number; hasBeside?: boolean | undefined },
): string[] {
  if (part.seen >= part.count) return [...lines];
  const { from, to } = computeThumb(part, lines.length);
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

/** The thumb touches an end only if nothing follows there. */
function computeThumb({ top, seen, count }: Seen, height: number): { from: number; to: number } {
  const size = Math.max(1, Math.min(height - 2, Math.round((height * seen) / count)));
  const free = Math.max(0, height - size);
  const between = Math.max(1, Math.min(free - 1, Math.round((free * top) / (count - seen))));
  const from = top <= 0 ? 0 : top >= count - seen ? free : between;
  return { from, to: from + size };
}

/** The loaded part of a list. */
interface Loaded {
  rows: readonly unknown[];
  /** The number of rows before these; undefined after a jump to the end, where they were not counted. */
  skipped: number | undefined;
  hasBefore: boolean;
  hasBehind: boolean;
}

/** Describes the position of the selected row. */
export const formatPosition = (at: number, count: number): string =>
  count === 0 ? '0' : `${grouped(at + 1)}/${grouped(count)}`;

/** The same in a list of pages, with a + if more of them follow. */
export function placeInList({ rows, skipped, hasBefore, hasBehind }: Loaded, at: number): string {
  const more = hasBehind ? '+' : '';
  if (skipped === undefined) return `${hasBefore ? '… ' : ''}${formatPosition(at, rows.length)}${more}`;
  return `${rows.length === 0 ? '0' : formatPosition(skipped + at, skipped + rows.length)}${more}`;
}

/** Describes the position among the loaded rows, if those were searched or sorted here: the API sorts only by time. */
export function placeInLoaded({ rows, hasBefore, hasBehind }: Loaded, at: number, count: number): string {
  const of = count === rows.length ? '' : ` of ${grouped(rows.length)}`;
  return `${formatPosition(at, count)}${of}${hasBefore || hasBehind ? ' loaded' : ''}`;
}

/** Describes the visible lines of a text; empty if all of them are visible. */
export function linesInWords(top: number, seen: number, count: number): string {
  if (count <= seen) return '';
  return `lines ${grouped(top + 1)}–${grouped(Math.min(count, top + seen))} of ${grouped(count)}`;
}

/**
 * Returns the new position for a key, in a text of so many lines of which one page is visible; undefined for a key that
 * does not move.
 */
export function computePosition(key: string, at: number, page: number, length: number): number | undefined {
  const steps: Readonly<Record<string, number>> = {
    up: -1,
    k: -1,
    down: 1,
    j: 1,
    pageup: -page,
    'ctrl-b': -page,
    pagedown: page,
    'ctrl-f': page,
    ' ': page,
    'ctrl-u': -Math.floor(page / 2),
    'ctrl-d': Math.floor(page / 2),
    home: -at,
    g: -at,
    end: length,
    G: length,
  };
  const step = steps[key];
  return step === undefined ? undefined : Math.max(0, Math.min(at + step, length - page));
}
