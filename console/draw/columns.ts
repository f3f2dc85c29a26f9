import type { Field } from '../../cli/families/index.ts';
import { shownWidth } from './text.ts';

/** A column, and how wide it is. */
export interface Placed {
  field: Field<never>;
  width: number;
  /** A cell that is longer than its column is not cut. */
  isKept: boolean;
}

export interface Columns {
  beside: readonly Placed[];
  /** Names for which there is no space beside the rest: every row has them on lines of their own. */
  below: readonly Field<never>[];
}

export interface Space {
  width: number;
  /** Between two columns. */
  gap: number;
  textOf: (field: Field<never>, row: object) => string;
  /** The row in hand stands in full beside the table: a row is one line, and a long name is cut. */
  isOneLine?: boolean | undefined;
}

interface Wish extends Omit<Placed, 'width'> {
  least: number;
  natural: number;
  isName: boolean;
  isEmpty: boolean;
  /** The widths of its cells, the narrowest first. */
  widths: readonly number[];
}

const TEXT_MIN = 12;
const TEXT_MAX = 60;
/** So much of a name tells one row from the others. */
const NAME_MIN = 20;
/** One row in so many may have a longer name than its column has space for: of all columns, and where times are given up. */
const FEW = 8;
const MANY = 3;

/**
 * The columns that find room beside each other. A name, by which one knows its row, is not cut: what is empty and the times,
 * which the order of the rows tells as well, go before it, and where all is too wide even so, names stand below their rows,
 * the last of them first. One row in a few may have a longer name. Then come ids, which are copied more often than read, and
 * what is for wide screens. What gets no room is in the detail.
 */
export function placeColumns(fields: readonly Field<never>[], rows: readonly object[], space: Space): Columns {
  const wishes = fields
    .filter(({ kind, shown }) => kind !== 'long' && kind !== 'body' && shown !== 'asked')
    .map((field) => wishOf(field, rows, space));
  const always = wishes.filter(isAlways);
  const { first, below } = firstLine(always, space);
  const beside = fill(first, space);
  const later = wishes.filter((wish) => !isAlways(wish) && !(wish.isEmpty && wish.field.shown === 'wide'));
  let left = space.width - widthOf(beside, space);
  for (const { natural, ...wish } of later.sort((a, b) => Number(isId(b)) - Number(isId(a)))) {
    const gap = beside.length > 0 ? space.gap : 0;
    if (natural + gap > left) continue;
    beside.push({ ...wish, width: natural });
    left -= natural + gap;
  }
  return { beside: beside.sort((a, b) => Number(isId(a)) - Number(isId(b))), below: below.map(({ field }) => field) };
}

const isId = ({ field }: { field: Field<never> }): boolean => field.kind === 'id';
const isAlways = ({ field }: Wish): boolean => field.shown === undefined && field.kind !== 'id';
const isTime = ({ field }: Wish): boolean => field.kind === 'time';

function firstLine(always: readonly Wish[], space: Space): { first: readonly Wish[]; below: readonly Wish[] } {
  const names = always.filter(({ isKept }) => isKept);
  for (let kept = names.length; ; kept--) {
    const below = names.slice(kept);
    const all = always.filter((wish) => !below.includes(wish));
    const filled = all.filter(({ isEmpty }) => !isEmpty);
    const timeless = filled.filter((wish) => !isTime(wish));
    const narrower = (some: readonly Wish[], longer: number): Wish[] => some.map((wish) => narrow(wish, longer));
    const ways = space.isOneLine
      ? [all.map(whole), filled.map(whole), filled, timeless, timeless.map(cutMore)]
      : [all, filled, narrower(filled, FEW), timeless, narrower(timeless, FEW), narrower(timeless, MANY)];
    const tried = ways.slice(0, kept > 0 || space.isOneLine ? ways.length : 2);
    const first = tried.find((some) => leastOf(some, space) <= space.width);
    if (first || kept === 0) return { first: first ?? filled, below };
  }
}

/** Names as short as other texts may be. */
const cutMore = (wish: Wish): Wish => ({ ...wish, least: wish.isName ? Math.min(wish.least, TEXT_MIN) : wish.least });

/** Where there is room for it, a name is whole even beside the row in hand. */
const whole = (wish: Wish): Wish => ({ ...wish, least: wish.isName ? wish.natural : wish.least });

/** With a column for names in which one row in so many has a longer one. */
function narrow(wish: Wish, longer: number): Wish {
  if (!wish.isKept) return wish;
  const usual = wish.widths[wish.widths.length - 1 - Math.floor(wish.widths.length / longer)] ?? 0;
  return { ...wish, least: Math.max(wish.field.label.length, usual) };
}

/** Each as wide as it needs; what is left goes to the text that is cut in most rows, and to names that it makes whole. */
function fill(wishes: readonly Wish[], space: Space): Placed[] {
  const placed: (Placed & Pick<Wish, 'natural' | 'widths'>)[] = [];
  let left = space.width;
  for (const { least, ...wish } of wishes) {
    const gap = placed.length > 0 ? space.gap : 0;
    if (least + gap > left) continue;
    placed.push({ ...wish, width: least });
    left -= least + gap;
  }
  for (; left > 0; left--) {
    const [cut] = placed
      .filter((one) => !one.isKept && one.width < one.natural)
      .sort((a, b) => rowsCut(b) - rowsCut(a) || b.natural - b.width - (a.natural - a.width));
    if (!cut) break;
    cut.width++;
  }
  for (const name of placed.filter(({ isKept }) => isKept)) {
    // The longest of its cells that fits: the fewer rows go on below.
    const whole = name.widths.findLast((width) => width <= name.width + left) ?? 0;
    const more = Math.max(0, (name.natural <= name.width + left ? name.natural : whole) - name.width);
    name.width += more;
    left -= more;
  }
  return placed;
}

const rowsCut = ({ widths, width }: Pick<Wish, 'widths'> & { width: number }): number =>
  widths.filter((one) => one > width).length;

const sum = (widths: readonly number[], gap: number): number =>
  widths.reduce((total, width) => total + width, 0) + gap * Math.max(0, widths.length - 1);

const widthOf = (placed: readonly Placed[], { gap }: Space): number =>
  sum(
    placed.map(({ width }) => width),
    gap,
  );

const leastOf = (wishes: readonly Wish[], { gap }: Space): number =>
  sum(
    wishes.map(({ least }) => least),
    gap,
  );

function wishOf(field: Field<never>, rows: readonly object[], { textOf, isOneLine = false }: Space): Wish {
  const { kind = 'text', label } = field;
  const widths = rows.map((row) => shownWidth(textOf(field, row))).sort((a, b) => a - b);
  const widest = widths.at(-1) ?? 0;
  const isEmpty = widest === 0;
  if (kind === 'text') {
    const natural = Math.min(TEXT_MAX, Math.max(label.length, widest));
    const least = Math.min(natural, TEXT_MIN);
    return { field, isKept: false, isName: false, least, natural, isEmpty, widths };
  }
  const natural = Math.max(label.length, widest);
  const isName = kind === 'name' || (kind === 'whole' && natural > 2 * TEXT_MIN);
  const isKept = isName && !isOneLine;
  const least = isName && isOneLine ? Math.min(natural, NAME_MIN) : natural;
  return { field, isKept, isName, least, natural, isEmpty, widths };
}
