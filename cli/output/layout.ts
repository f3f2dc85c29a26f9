/** A `whole` cell is never shortened; a `name` is not either, and stands below its row where few are as long. */
export type Fit = 'cut' | 'whole' | 'name' | 'below';

export interface Placed {
  /** Which of the columns. */
  at: number;
  width: number;
  fit: Fit;
}

/** The cells of a row that stand beside each other, and how wide they may be together. */
export interface Line {
  placed: readonly Placed[];
  space: number;
}

export const GAP = '  ';
export const INDENT = '  ';
/** What stands in the place of a cell that stands below its row. */
export const SEE_BELOW = '…';
const WIDTH_MIN = 8;

/**
 * Columns go to as few lines as the narrowest they can be fit in, broken where least has to be cut. A column of names is as
 * wide as its widest, unless the whole takes fewer lines with the longest of them below their rows.
 */
export function layOut(
  fits: readonly Fit[],
  titles: readonly number[],
  rows: readonly number[][],
  space: number,
): Line[] {
  const widest = titles.map((title, at) => Math.max(title, ...rows.map((row) => row[at] ?? 0)));
  const all = widest.map((width, at): Placed => ({ at, width, fit: fits[at] ?? 'cut' }));
  if (widthOfAll(all) <= space) return [{ placed: all, space }];
  const beside = all.filter(({ fit }) => fit !== 'below');
  let best: { lines: Line[]; height: number } | undefined;
  for (const limit of limitsOf(fits, widest, rows)) {
    const placed = beside.map((one) =>
      one.fit === 'name' ? { ...one, width: Math.min(one.width, Math.max(limit, titles[one.at] ?? 0)) } : one,
    );
    // Where more than a few are longer, and with each that is narrower more, they are better off in a line of their own.
    const misfits = rows.filter((row) => placed.some(({ at, width, fit }) => fit === 'name' && (row[at] ?? 0) > width));
    if (misfits.length * 3 > rows.length) break;
    const lines = breakLines(placed, space);
    const height = rows.reduce((sum, row) => sum + heightOf(lines, row), 0);
    if (best === undefined || height < best.height) best = { lines, height };
  }
  const below = all.filter(({ fit }) => fit === 'below');
  return [...(best?.lines ?? []), ...below.map((one) => ({ placed: [one], space: Infinity }))];
}

/** How wide names may be: as wide as the widest, then as each that is narrower. */
function limitsOf(fits: readonly Fit[], widest: readonly number[], rows: readonly number[][]): number[] {
  const names = widest.flatMap((width, at) => (fits[at] === 'name' ? [width, ...rows.map((row) => row[at] ?? 0)] : []));
  return names.length === 0 ? [Infinity] : [...new Set(names)].sort((a, b) => b - a);
}

interface Broken {
  lines: Line[];
  /** By how much its columns are too wide. */
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

/** The widest column that may be shortened gives way first. */
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

/** How many lines a row takes; one below that would be empty is left out. */
const heightOf = (lines: readonly Line[], row: readonly number[]): number =>
  lines.reduce((sum, line, at) => sum + (at === 0 || isFilled(line, row) ? 1 + tooLong(line, row).length : 0), 0);

export const isFilled = ({ placed }: Line, row: readonly number[]): boolean => placed.some(({ at }) => row[at] !== 0);

/** The cells of a row that are wider than their column, have no space beside the others either, and so stand below it. */
export function tooLong({ placed, space }: Line, row: readonly number[]): Placed[] {
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
