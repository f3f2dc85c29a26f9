import { GAP, type Fit, type Line, type Placed } from './layout.ts';

/** A text says something from so many columns on; a name, which tells one thing from another, from more. */
const TEXT_MIN = 8;
const NAME_MIN = 24;
const NAME_LEAST = 10;
const TITLE_MIN = 4;

interface Column {
  at: number;
  fit: Fit;
  /** As wide as its widest cell. */
  cells: number;
  width: number;
}

/**
 * Each row on one line, as narrow as the terminal is: texts give way first, then names, then titles. Where that is not
 * enough the last columns are left out, texts before all others, and never the first.
 */
export function layOneLine(
  fits: readonly Fit[],
  titles: readonly number[],
  rows: readonly number[][],
  space: number,
): Line {
  let columns = titles.map((title, at): Column => {
    const cells = Math.max(0, ...rows.map((row) => row[at] ?? 0));
    return { at, fit: fits[at] ?? 'cut', cells, width: Math.max(title, cells) };
  });
  const isText = ({ fit }: Column): boolean => fit === 'cut' || fit === 'below';
  const isName = ({ fit }: Column): boolean => fit === 'name';
  for (;;) {
    shrink(columns, space, isText, () => TEXT_MIN);
    shrink(columns, space, isName, () => NAME_MIN);
    shrink(
      columns,
      space,
      () => true,
      ({ cells }) => Math.max(cells, TITLE_MIN),
    );
    if (excessOf(columns, space) <= 0 || columns.length === 1) break;
    const text = columns.findLast((column) => column !== columns[0] && isText(column));
    if (!text) shrink(columns, space, isName, () => NAME_LEAST);
    if (!text && excessOf(columns, space) <= 0) break;
    const left = text ?? columns.at(-1);
    columns = columns
      .filter((column) => column !== left)
      .map((column) => ({ ...column, width: Math.max(titles[column.at] ?? 0, column.cells) }));
  }
  return { placed: columns.map(({ at, width }): Placed => ({ at, width: Math.min(width, space), fit: 'cut' })), space };
}

const excessOf = (columns: readonly Column[], space: number): number =>
  columns.reduce((sum, { width }) => sum + width, GAP.length * (columns.length - 1)) - space;

/** The widest gives way first, and none beyond its least. */
function shrink(
  columns: readonly Column[],
  space: number,
  isMeant: (column: Column) => boolean,
  least: (column: Column) => number,
): void {
  for (let excess = excessOf(columns, space); excess > 0; excess--) {
    const soft = columns.filter((column) => isMeant(column) && column.width > least(column));
    const widest = soft.sort((a, b) => b.width - a.width)[0];
    if (!widest) return;
    widest.width--;
  }
}
