import { clean } from './clean.ts';
import type { Style, Terminal } from './terminal.ts';
import { shorten, widthOf } from './width.ts';

export interface Column<Row> {
  title: string;
  value: (row: Row) => string | number | null | undefined;
  style?: (row: Row) => Style;
  /** A `whole` cell is never shortened; a `below` one stands on a line of its own wherever the row has no space for it. */
  fit?: 'cut' | 'whole' | 'below';
}

export interface TableOptions<Row> {
  /** Each row on one line, however long, and nothing shortened. */
  isWide?: boolean | undefined;
  /** Lines to stand under a row at a terminal. */
  remarks?: (row: Row) => readonly string[];
}

/** Answers the lines of some rows, with the titles above the first of them; the widths stay what they were at first. */
export type WriteRows<Row> = (rows: readonly Row[]) => string;

const GAP = '  ';
const INDENT = '  ';
const WIDTH_MIN = 8;

/**
 * For a person, aligned columns under their titles, shortened to the width of the terminal; what has no space beside the
 * others stands in lines below. For a program, a line of titles and one line for each row, whole values with a tab
 * between them.
 */
export function openTable<Row>(
  terminal: Terminal,
  columns: readonly Column<Row>[],
  { isWide = false, remarks }: TableOptions<Row> = {},
): WriteRows<Row> {
  const titles = columns.map((column) => column.title);
  let lines: Line[] | undefined;
  return (rows) => {
    const cells = rows.map((row) => columns.map((column) => clean(String(column.value(row) ?? ''))));
    const isFirst = lines === undefined;
    if (!terminal.isTty) {
      lines = [];
      return [...(isFirst ? [titles] : []), ...cells].map((line) => line.join('\t')).join('\n');
    }
    lines ??= layOut(columns, [titles, ...cells], isWide ? Infinity : terminal.columns);
    const head = isFirst ? draw(lines, titles, (text) => terminal.paint('dim', text)) : [];
    const body = cells.flatMap((texts, at) => {
      const row = rows[at] as Row;
      const paint = (text: string, column: number): string =>
        terminal.paint(columns[column]?.style?.(row) ?? 'plain', text);
      return [...draw(lines ?? [], texts, paint), ...(remarks?.(row) ?? []).map((remark) => INDENT + remark)];
    });
    return [...head, ...body].join('\n');
  };
}

export const formatTable = <Row>(
  terminal: Terminal,
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  options: TableOptions<Row> = {},
): string => openTable(terminal, columns, options)(rows);

interface Placed {
  /** Which of the columns. */
  at: number;
  width: number;
  isCut: boolean;
}

/** The cells of a row that stand beside each other. */
type Line = Placed[];

/** Columns go to one line as long as the narrowest they can be fits there, the others to lines below. */
function layOut(columns: readonly Column<never>[], texts: readonly string[][], space: number): Line[] {
  const natural = columns.map((_, at) => Math.max(...texts.map((line) => widthOf(line[at] ?? ''))));
  const fitsWhole = widthOfAll(natural) <= space;
  const inRow: Line[] = [[]];
  const below: Line[] = [];
  for (const [at, column] of columns.entries()) {
    const width = natural[at] ?? 0;
    if (column.fit === 'below' && !fitsWhole) {
      below.push([{ at, width, isCut: false }]);
      continue;
    }
    const isCut = (column.fit ?? 'cut') === 'cut';
    const placed: Placed = { at, width, isCut };
    const line = inRow.at(-1) ?? [];
    const indent = inRow.length > 1 ? INDENT.length : 0;
    if (line.length > 0 && indent + widthOfAll([...line, placed].map(narrowest)) > space) inRow.push([placed]);
    else line.push(placed);
  }
  for (const [at, line] of inRow.entries()) fit(line, space - (at === 0 ? 0 : INDENT.length));
  return [...inRow, ...below].filter((line) => line.length > 0);
}

const narrowest = ({ width, isCut }: Placed): number => (isCut ? Math.min(width, WIDTH_MIN) : width);

const widthOfAll = (widths: readonly number[]): number =>
  widths.reduce((sum, width) => sum + width, 0) + GAP.length * (widths.length - 1);

/** The widest column that may be shortened gives way first. */
function fit(line: Line, space: number): void {
  for (let excess = widthOfAll(line.map(({ width }) => width)) - space; excess > 0; excess--) {
    const soft = line.filter(({ width, isCut }) => isCut && width > WIDTH_MIN);
    const widest = soft.sort((a, b) => b.width - a.width)[0];
    if (!widest) return;
    widest.width--;
  }
}

/** A line below that would be empty is left out. */
function draw(
  lines: readonly Line[],
  texts: readonly string[],
  paint: (text: string, column: number) => string,
): string[] {
  return lines.flatMap((line, at) => {
    if (at > 0 && line.every((placed) => texts[placed.at] === '')) return [];
    const drawn = line.map(({ at: column, width, isCut }) => {
      const text = texts[column] ?? '';
      const shown = isCut ? shorten(text, width) : text;
      return paint(shown, column) + ' '.repeat(Math.max(0, width - widthOf(shown)));
    });
    return [((at === 0 ? '' : INDENT) + drawn.join(GAP)).trimEnd()];
  });
}

/** Labels and values, one pair a line; a pair without a value is left out. */
export function formatPairs(
  terminal: Terminal,
  pairs: readonly (readonly [label: string, value: string | number | null | undefined, style?: Style])[],
): string {
  const shown = pairs.filter(([, value]) => value !== undefined && value !== null && value !== '');
  const width = Math.max(...shown.map(([label]) => label.length));
  return shown
    .map(([label, value, style = 'plain']) => {
      const text = terminal.paint(style, clean(String(value)));
      return `${terminal.paint('dim', label.padEnd(width))}${GAP}${text}`;
    })
    .join('\n');
}
