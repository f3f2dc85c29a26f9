import { clean } from './clean.ts';
import type { Style, Terminal } from './terminal.ts';

export interface Column<Row> {
  title: string;
  value: (row: Row) => string | number | boolean | null | undefined;
  style?: (row: Row) => Style;
  /** A cell that is to be copied is never shortened. */
  isWhole?: boolean;
}

/**
 * For a person, aligned columns under their titles, shortened to the width of the terminal. For a program, one line for
 * each row, whole values with a tab between them and no titles.
 */
export function formatTable<Row>(terminal: Terminal, rows: readonly Row[], columns: readonly Column<Row>[]): string {
  const cells = rows.map((row) => columns.map((column) => clean(String(column.value(row) ?? ''))));
  if (!terminal.isTty) return cells.map((line) => line.join('\t')).join('\n');
  return alignTable(terminal, rows, columns, cells);
}

function alignTable<Row>(
  terminal: Terminal,
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  cells: readonly string[][],
): string {
  const titles = columns.map((column) => column.title);
  const widths = fitWidths([titles, ...cells], columns, terminal.columns);
  const layOut = (line: readonly string[], paint: (text: string, at: number) => string): string =>
    line
      .map((text, at) => {
        const width = widths[at] ?? 0;
        const shown = columns[at]?.isWhole ? text : shorten(text, width);
        return paint(shown, at) + ' '.repeat(Math.max(0, width - widthOf(shown)));
      })
      .join(GAP)
      .trimEnd();
  const head = layOut(titles, (text) => terminal.paint('dim', text));
  const body = cells.map((line, row) =>
    layOut(line, (text, at) => terminal.paint(columns[at]?.style?.(rows[row] as Row) ?? 'plain', text)),
  );
  return [head, ...body].join('\n');
}

const GAP = '  ';
const WIDTH_MIN = 8;

/** The widest column that may be shortened gives way first. */
function fitWidths(lines: readonly string[][], columns: readonly Column<never>[], room: number): number[] {
  const widths = columns.map((_, at) => Math.max(...lines.map((line) => widthOf(line[at] ?? ''))));
  let excess = widths.reduce((sum, width) => sum + width, 0) + GAP.length * (columns.length - 1) - room;
  while (excess > 0) {
    const soft = widths.map((width, at) => (columns[at]?.isWhole ? 0 : width));
    const widest = soft.indexOf(Math.max(...soft));
    const width = widths[widest];
    if (width === undefined || columns[widest]?.isWhole || width <= WIDTH_MIN) break;
    widths[widest] = width - 1;
    excess--;
  }
  return widths;
}

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** Terminals give two columns to East Asian wide characters and to emoji. */
export function widthOf(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  let width = 0;
  for (const { segment } of graphemes.segment(text)) width += WIDE.test(segment) ? 2 : 1;
  return width;
}

const WIDE =
  /\p{Emoji_Presentation}|\u{FE0F}|[\u1100-\u115F\u2E80-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6\u{20000}-\u{3FFFD}]/u;

function shorten(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let shown = '';
  let used = 0;
  for (const { segment } of graphemes.segment(text)) {
    used += widthOf(segment);
    if (used > width - 1) break;
    shown += segment;
  }
  return `${shown}…`;
}

/** Labels and values, one pair a line; a pair without a value is left out. */
export function formatPairs(
  terminal: Terminal,
  pairs: readonly (readonly [label: string, value: string | number | null | undefined])[],
): string {
  const shown = pairs.filter(([, value]) => value !== undefined && value !== null && value !== '');
  const width = Math.max(...shown.map(([label]) => label.length));
  return shown
    .map(([label, value]) => `${terminal.paint('dim', label.padEnd(width))}  ${clean(String(value))}`)
    .join('\n');
}

/** An ISO 8601 time of the API, readable at a terminal and exact at a pipe. */
export const formatTime = (terminal: Terminal, time: string | null | undefined): string =>
  time === null || time === undefined || !terminal.isTty ? (time ?? '') : `${time.slice(0, 16).replace('T', ' ')}Z`;
