import { clean } from './clean.ts';
import { GAP, INDENT, isFilled, layOut, SEE_BELOW, tooLong, type Fit, type Line } from './layout.ts';
import { layOneLine } from './one-line.ts';
import { fitProse } from './prose.ts';
import type { Style, Terminal } from './terminal.ts';
import { shorten, widthOf } from './width.ts';

export interface Column<Row> {
  title: string;
  value: (row: Row) => string | number | null | undefined;
  style?: (row: Row) => Style;
  /**
   * A `whole` cell is never shortened; neither is a `name`, and where few are as long it stands below its row; a `below` one
   * stands on a line of its own wherever the row has no space for it.
   */
  fit?: Fit;
  /** At a terminal its cells and its title end below each other. */
  isRight?: boolean;
}

export interface TableOptions<Row> {
  /** Each row on one line, however long, and nothing shortened. */
  isWide?: boolean | undefined;
  /** Each row on one line that fits the terminal: what has no space is shortened or left out. */
  isOneLine?: boolean | undefined;
  /** Lines to stand under a row at a terminal. */
  remarks?: (row: Row) => readonly string[];
}

export interface Table<Row> {
  /** Answers the lines of some rows, with the titles above the first of them; the widths stay what they were at first. */
  write(rows: readonly Row[]): string;
  /** Whether anything that was written is shortened. */
  hasCut(): boolean;
}

/**
 * For a person, aligned columns under their titles, shortened to the width of the terminal; what has no space beside the
 * others stands in lines below. For a program, a line of titles and one line for each row, whole values with a tab
 * between them.
 */
export function openTable<Row>(
  terminal: Terminal,
  columns: readonly Column<Row>[],
  { isWide = false, isOneLine = false, remarks }: TableOptions<Row> = {},
): Table<Row> {
  const titles = columns.map((column) => column.title);
  const fits = columns.map(({ fit = 'cut' }) => fit);
  let lines: Line[] | undefined;
  let hasCut = false;
  const isRight = (at: number): boolean => columns[at]?.isRight ?? false;
  const draw = (texts: readonly string[], paint: Paint, onCut?: () => void): string[] =>
    (lines ?? []).flatMap((line, at) => drawLine(line, { texts, paint, isRight, isFirst: at === 0, onCut }));
  const onCut = (): void => void (hasCut = true);
  return {
    hasCut: () => hasCut,
    write(rows) {
      const cells = rows.map((row) => columns.map((column) => clean(String(column.value(row) ?? ''))));
      const isFirst = lines === undefined;
      if (!terminal.isTty) {
        lines = [];
        return [...(isFirst ? [titles] : []), ...cells].map((line) => line.join('\t')).join('\n');
      }
      const widths = cells.map((texts) => texts.map(widthOf));
      const sizes = [fits, titles.map(widthOf), widths] as const;
      lines ??=
        isOneLine && !isWide
          ? [layOneLine(...sizes, terminal.columns)]
          : layOut(...sizes, isWide ? Infinity : terminal.columns);
      if (isOneLine && !isWide && (lines[0]?.placed.length ?? 0) < columns.length) hasCut = true;
      const head = isFirst ? draw(titles, (text) => terminal.paint('dim', text)) : [];
      const body = cells.flatMap((texts, at) => {
        const row = rows[at] as Row;
        const paint: Paint = (text, column) => terminal.paint(columns[column]?.style?.(row) ?? 'plain', text);
        return [
          ...draw(texts, paint, onCut),
          ...(remarks?.(row) ?? []).map((remark) => fitProse(INDENT + remark, terminal.columns)),
        ];
      });
      return [...head, ...body].join('\n');
    },
  };
}

export const formatTable = <Row>(
  terminal: Terminal,
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  options: TableOptions<Row> = {},
): string => openTable(terminal, columns, options).write(rows);

type Paint = (text: string, column: number) => string;

interface Drawing {
  texts: readonly string[];
  paint: Paint;
  isRight: (at: number) => boolean;
  isFirst: boolean;
  onCut: (() => void) | undefined;
}

/** One of the lines of a row, and below it what is too long for it. The last of its cells takes what space is left. */
function drawLine(line: Line, { texts, paint, isRight, isFirst, onCut }: Drawing): string[] {
  const widths = texts.map(widthOf);
  if (!isFirst && !isFilled(line, widths)) return [];
  const low = tooLong(line, widths);
  const last = line.placed.findLast(({ at }) => texts[at] !== '');
  let drawn = '';
  let used = 0;
  for (const one of line.placed.slice(0, line.placed.findIndex((cell) => cell === last) + 1)) {
    const text = texts[one.at] ?? '';
    const space = one === last ? Math.max(one.width, line.space - used) : one.width;
    const whole = low.includes(one) ? SEE_BELOW : text;
    const shown = one.fit === 'cut' ? shorten(whole, space) : whole;
    if (shown !== whole) onCut?.();
    const width = Math.max(one.width, widthOf(shown));
    const blanks = ' '.repeat(width - widthOf(shown));
    const painted = paint(shown, one.at);
    drawn += (isRight(one.at) ? blanks + painted : painted + blanks) + GAP;
    used += width + GAP.length;
  }
  return [(isFirst ? '' : INDENT) + drawn.trimEnd(), ...low.map(({ at }) => INDENT + paint(texts[at] ?? '', at))];
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
