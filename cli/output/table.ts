import { clean } from './clean.ts';
import { fitProse, shorten, measureWidth } from './prose.ts';
import type { Style, Terminal } from './terminal.ts';

/**
 * A `whole` cell is never shortened; a `name` is not either, and goes below its row if few are as long. A `kept` cell is
 * never left out where rows are one line, and shortened only if it takes more than half of the line.
 */
type Fit = 'cut' | 'whole' | 'kept' | 'name' | 'below';

interface Placed {
  /** The index of the column. */
  at: number;
  width: number;
  fit: Fit;
}

/** The cells of a row that share a line, and their total width. */
interface Line {
  placed: readonly Placed[];
  space: number;
}

const GAP = '  ';
const INDENT = '  ';
/** Marks a cell whose value is below its row. */
const SEE_BELOW = '…';
const WIDTH_MIN = 8;

/**
 * Distributes the columns over as few lines as their smallest widths permit, broken where least has to be cut. A column
 * of names is as wide as its widest, unless the table takes fewer lines with the longest of them below their rows.
 */
function layOut(fits: readonly Fit[], titles: readonly number[], rows: readonly number[][], space: number): Line[] {
  const widest = titles.map((title, at) => Math.max(title, ...rows.map((row) => row[at] ?? 0)));
  const all = widest.map((width, at): Placed => ({ at, width, fit: fits[at] ?? 'cut' }));
  if (widthOfAll(all) <= space) return [{ placed: all, space }];
  const beside = all.filter(({ fit }) => fit !== 'below');
  let best: { lines: Line[]; height: number } | undefined;
  for (const limit of listNameWidths(fits, widest, rows)) {
    const placed = beside.map((one) =>
      one.fit === 'name' ? { ...one, width: Math.min(one.width, Math.max(limit, titles[one.at] ?? 0)) } : one,
    );
    // If more than a few are longer, and more with each narrower column, they are easier to read on a line of their
    // own.
    const misfits = rows.filter((row) => placed.some(({ at, width, fit }) => fit === 'name' && (row[at] ?? 0) > width));
    if (misfits.length * 3 > rows.length) break;
    const lines = breakLines(placed, space);
    const height = rows.reduce((sum, row) => sum + measureHeight(lines, row), 0);
    if (best === undefined || height < best.height) best = { lines, height };
  }
  const below = all.filter(({ fit }) => fit === 'below');
  return [...(best?.lines ?? []), ...below.map((one) => ({ placed: [one], space: Infinity }))];
}

/** Returns candidate widths for names: the widest, then each narrower one. */
function listNameWidths(fits: readonly Fit[], widest: readonly number[], rows: readonly number[][]): number[] {
  const names = widest.flatMap((width, at) => (fits[at] === 'name' ? [width, ...rows.map((row) => row[at] ?? 0)] : []));
  return names.length === 0 ? [Infinity] : [...new Set(names)].sort((a, b) => b - a);
}

interface Broken {
  lines: Line[];
  /** The width by which the columns exceed the line. */
  excess: number;
}

function breakLines(placed: readonly Placed[], space: number): Line[] {
  const best: Broken[] = [];
  best[placed.length] = { lines: [], excess: 0 };
  for (let from = placed.length - 1; from >= 0; from--) {
    const room = from === 0 ? space : space - INDENT.length;
    for (let to = placed.length; to > from; to--) {
      const cells = placed.slice(from, to);
      const rest = best[to];
      if (!rest || (cells.length > 1 && widthOfAll(cells.map(narrowest)) > room)) continue;
      const lines = [{ placed: cells, space: room }, ...rest.lines];
      const excess = Math.max(0, widthOfAll(cells) - room) + rest.excess;
      const known = best[from];
      const fewer = known === undefined ? -1 : lines.length - known.lines.length;
      if (fewer < 0 || (fewer === 0 && excess < (known?.excess ?? 0))) best[from] = { lines, excess };
    }
  }
  return (best[0]?.lines ?? []).map(narrow);
}

const narrowest = (one: Placed): Placed =>
  one.fit === 'cut' ? { ...one, width: Math.min(one.width, WIDTH_MIN) } : one;

const widthOfAll = (placed: readonly Placed[]): number =>
  placed.reduce((sum, { width }) => sum + width, 0) + GAP.length * (placed.length - 1);

/** Shortens the widest column that may be shortened first. */
function narrow({ placed, space }: Line): Line {
  const cells = placed.map((one) => ({ ...one }));
  for (let excess = widthOfAll(cells) - space; excess > 0; excess--) {
    const soft = cells.filter(({ width, fit }) => fit === 'cut' && width > WIDTH_MIN);
    const widest = soft.sort((a, b) => b.width - a.width)[0];
    if (!widest) break;
    widest.width--;
  }
  return { placed: cells, space };
}

/** Returns the number of lines of a row; an empty one below it is left out. */
const measureHeight = (lines: readonly Line[], row: readonly number[]): number =>
  lines.reduce((sum, line, at) => sum + (at === 0 || isFilled(line, row) ? 1 + tooLong(line, row).length : 0), 0);

const isFilled = ({ placed }: Line, row: readonly number[]): boolean => placed.some(({ at }) => row[at] !== 0);

/**
 * Returns the cells of a row that are wider than their column, find no space on the line either, and so go below it.
 */
function tooLong({ placed, space }: Line, row: readonly number[]): Placed[] {
  const filled = placed.filter(({ at }) => row[at] !== 0);
  const last = filled.at(-1);
  const low: Placed[] = [];
  const shownWidth = (one: Placed): number => {
    if (low.includes(one)) return one === last ? SEE_BELOW.length : one.width;
    const own = one.fit === 'cut' ? Math.min(row[one.at] ?? 0, one.width) : (row[one.at] ?? 0);
    return one === last ? own : Math.max(own, one.width);
  };
  for (;;) {
    const shown = last ? placed.slice(0, placed.indexOf(last) + 1) : [];
    if (widthOfAll(shown.map((one) => ({ ...one, width: shownWidth(one) }))) <= space) return low;
    const long = filled.filter((one) => one.fit !== 'cut' && !low.includes(one) && (row[one.at] ?? 0) > one.width);
    const longest = long.sort((a, b) => (row[b.at] ?? 0) - b.width - ((row[a.at] ?? 0) - a.width))[0];
    if (!longest || filled.length === 1) return low;
    low.push(longest);
  }
}

/** The smallest useful width of a text; a name, which identifies an item, needs more. */
const TEXT_MIN = 8;
const NAME_MIN = 24;
const NAME_LEAST = 10;
const TITLE_MIN = 4;

interface ShrinkableColumn {
  at: number;
  fit: Fit;
  /** The width of its widest cell. */
  cells: number;
  width: number;
}

/**
 * Puts each row on one line of the terminal: texts are shortened first, then names, then titles. If that is not enough
 * the last columns are left out, texts before all others, and never the first or a kept one.
 */
function layOneLine(fits: readonly Fit[], titles: readonly number[], rows: readonly number[][], space: number): Line {
  let columns = titles.map((title, at): ShrinkableColumn => {
    const fit = fits[at] ?? 'cut';
    const widest = Math.max(0, ...rows.map((row) => row[at] ?? 0));
    const cells = fit === 'kept' ? Math.min(widest, Math.floor(space / 2)) : widest;
    return { at, fit, cells, width: Math.max(title, cells) };
  });
  const isText = ({ fit }: ShrinkableColumn): boolean => fit === 'cut' || fit === 'below';
  const isName = ({ fit }: ShrinkableColumn): boolean => fit === 'name';
  for (;;) {
    shrink(columns, space, isText, () => TEXT_MIN);
    shrink(columns, space, isName, () => NAME_MIN);
    shrink(
      columns,
      space,
      () => true,
      ({ cells }) => Math.max(cells, TITLE_MIN),
    );
    const optional = columns.filter((column) => column !== columns[0] && column.fit !== 'kept');
    if (computeExcess(columns, space) <= 0 || optional.length === 0) break;
    const text = optional.findLast(isText);
    if (!text) shrink(columns, space, isName, () => NAME_LEAST);
    if (!text && computeExcess(columns, space) <= 0) break;
    const left = text ?? optional.at(-1);
    columns = columns
      .filter((column) => column !== left)
      .map((column) => ({ ...column, width: Math.max(titles[column.at] ?? 0, column.cells) }));
  }
  return { placed: columns.map(({ at, width }): Placed => ({ at, width: Math.min(width, space), fit: 'cut' })), space };
}

const computeExcess = (columns: readonly ShrinkableColumn[], space: number): number =>
  columns.reduce((sum, { width }) => sum + width, GAP.length * (columns.length - 1)) - space;

/** Shrinks the widest first, and none below its minimum. */
function shrink(
  columns: readonly ShrinkableColumn[],
  space: number,
  isMeant: (column: ShrinkableColumn) => boolean,
  least: (column: ShrinkableColumn) => number,
): void {
  for (let excess = computeExcess(columns, space); excess > 0; excess--) {
    const soft = columns.filter((column) => isMeant(column) && column.width > least(column));
    const widest = soft.sort((a, b) => b.width - a.width)[0];
    if (!widest) return;
    widest.width--;
  }
}

export interface Column<Row> {
  title: string;
  value: (row: Row) => string | number | null | undefined;
  style?: (row: Row) => Style;
  /**
   * A `whole` cell is never shortened; neither is a `name`, which goes below its row if few are as long; a `below` one
   * goes on a line of its own whenever the row has no space for it.
   */
  fit?: Fit;
  /** Aligns its cells and its title to the right at a terminal. */
  isRight?: boolean;
}

interface TableOptions<Row> {
  /** Each row is one line, however long, and nothing is shortened. */
  isWide?: boolean | undefined;
  /** Each row is one line that fits the terminal: values without space are shortened or left out. */
  isOneLine?: boolean | undefined;
  /** Returns lines to print below a row at a terminal. */
  remarks?: (row: Row) => readonly string[];
}

export interface Table<Row> {
  /** Returns the lines of some rows, with the titles above the first of them; later calls keep the widths. */
  write(rows: readonly Row[]): string;
  /** Reports whether anything that was written is shortened. */
  hasCut(): boolean;
}

/**
 * Opens a table. For a person, aligned columns under their titles, shortened to the width of the terminal; values that
 * find no space go below the row. For a program, a line of titles and one line for each row, whole values with a tab
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
      const widths = cells.map((texts) => texts.map(measureWidth));
      const sizes = [fits, titles.map(measureWidth), widths] as const;
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

/**
 * Draws one line of a row, and below it the values that are too long for it. The last cell takes the remaining space.
 */
function drawLine(line: Line, { texts, paint, isRight, isFirst, onCut }: Drawing): string[] {
  const widths = texts.map(measureWidth);
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
    const width = Math.max(one.width, measureWidth(shown));
    const blanks = ' '.repeat(width - measureWidth(shown));
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
