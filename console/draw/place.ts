import { grouped } from '../../cli/families/index.ts';

/** What of a list is loaded. */
interface Loaded {
  rows: readonly unknown[];
  /** How many of the list stand before these; undefined behind a jump to the end, where they were not counted. */
  skipped: number | undefined;
  hasBefore: boolean;
  hasBehind: boolean;
}

/** Which row is in hand, of how many. */
export const placeOf = (at: number, count: number): string =>
  count === 0 ? '0' : `${grouped(at + 1)}/${grouped(count)}`;

/** The same in a list of pages, with a + where more of it follow. */
export function placeInList({ rows, skipped, hasBefore, hasBehind }: Loaded, at: number): string {
  const more = hasBehind ? '+' : '';
  if (skipped === undefined) return `${hasBefore ? '… ' : ''}${placeOf(at, rows.length)}${more}`;
  return `${rows.length === 0 ? '0' : placeOf(skipped + at, skipped + rows.length)}${more}`;
}

/** Of what is loaded, where that was searched or sorted here: the API sorts by time alone. */
export function placeInLoaded({ rows, hasBefore, hasBehind }: Loaded, at: number, count: number): string {
  const of = count === rows.length ? '' : ` of ${grouped(rows.length)}`;
  return `${placeOf(at, count)}${of}${hasBefore || hasBehind ? ' loaded' : ''}`;
}

/** Which lines of a text are seen; nothing where that is all of them. */
export function linesInWords(top: number, seen: number, count: number): string {
  if (count <= seen) return '';
  return `lines ${grouped(top + 1)}–${grouped(Math.min(count, top + seen))} of ${grouped(count)}`;
}
