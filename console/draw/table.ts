import { readWords, readFieldValue, type Field, type Tone } from '../../cli/families/index.ts';
import { cellText, clean, toStyle, type Terminal } from '../../cli/output/index.ts';
import { bar, bold, faint, fit, fitRight, shownWidth, unstyled, wrap } from './text.ts';

/** A column, and how wide it is. */
interface Placed {
  field: Field<never>;
  width: number;
  /** A cell that is longer than its column is not cut. */
  isKept: boolean;
}

interface Columns {
  beside: readonly Placed[];
  /** Names that do not fit next to the other columns: each row shows them on lines of their own. */
  below: readonly Field<never>[];
}

interface Space {
  width: number;
  /** Between two columns. */
  gap: number;
  formatText: (field: Field<never>, row: object) => string;
  /** True if the selected row is shown in full next to the table: each row is then one line, and long names are cut. */
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
/** This much of a name is enough to distinguish rows. */
const NAME_MIN = 20;
/** One row in so many may have a name longer than its column: over all columns, and when times are dropped. */
const FEW = 8;
const MANY = 3;

/**
 * Selects the columns that fit next to each other. A name identifies its row and is not cut: empty columns and times,
 * which the order of the rows shows as well, are dropped first, and if that is not enough, names go below their rows,
 * the last of them first. One row in a few may have a longer name. Then come ids, which are copied more often than
 * read, and columns for wide screens. The detail has the columns that do not fit.
 */
function placeColumns(fields: readonly Field<never>[], rows: readonly object[], space: Space): Columns {
  const wishes = fields
    .filter(({ kind, shown }) => kind !== 'long' && kind !== 'body' && shown !== 'asked')
    .map((field) => computeWish(field, rows, space));
  const always = wishes.filter(isAlways);
  const { first, below } = firstLine(always, space);
  const beside = fill(first, space);
  const later = wishes.filter((wish) => !isAlways(wish) && !(wish.isEmpty && wish.field.shown === 'wide'));
  let left = space.width - sumWidths(beside, space);
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
const holdsTime = ({ field }: Wish): boolean => field.kind === 'time';

function firstLine(always: readonly Wish[], space: Space): { first: readonly Wish[]; below: readonly Wish[] } {
  const names = always.filter(({ isKept }) => isKept);
  for (let kept = names.length; ; kept--) {
    const below = names.slice(kept);
    const all = always.filter((wish) => !below.includes(wish));
    const filled = all.filter(({ isEmpty }) => !isEmpty);
    const timeless = filled.filter((wish) => !holdsTime(wish));
    const narrower = (some: readonly Wish[], longer: number): Wish[] => some.map((wish) => narrow(wish, longer));
    const ways = space.isOneLine
      ? [all.map(whole), filled.map(whole), filled, timeless, timeless.map(cutMore)]
      : [all, filled, narrower(filled, FEW), timeless, narrower(timeless, FEW), narrower(timeless, MANY)];
    const tried = ways.slice(0, kept > 0 || space.isOneLine ? ways.length : 2);
    const first = tried.find((some) => sumLeast(some, space) <= space.width);
    if (first || kept === 0) return { first: first ?? filled, below };
  }
}

/** Names as short as other texts may be. */
const cutMore = (wish: Wish): Wish => ({ ...wish, least: wish.isName ? Math.min(wish.least, TEXT_MIN) : wish.least });

/** If there is space, a name is whole even when the selected row is shown next to the table. */
const whole = (wish: Wish): Wish => ({ ...wish, least: wish.isName ? wish.natural : wish.least });

/** Narrows a column for names so that one row in so many has a longer one. */
function narrow(wish: Wish, longer: number): Wish {
  if (!wish.isKept) return wish;
  const usual = wish.widths[wish.widths.length - 1 - Math.floor(wish.widths.length / longer)] ?? 0;
  return { ...wish, least: Math.max(wish.field.label.length, usual) };
}

/**
 * Gives each column the width that it needs; the remaining space goes to the text that is cut in most rows, and to
 * names that it makes whole.
 */
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
    // The longest cell that fits, so that fewer rows continue below.
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

const sumWidths = (placed: readonly Placed[], { gap }: Space): number =>
  sum(
    placed.map(({ width }) => width),
    gap,
  );

const sumLeast = (wishes: readonly Wish[], { gap }: Space): number =>
  sum(
    wishes.map(({ least }) => least),
    gap,
  );

function computeWish(field: Field<never>, rows: readonly object[], { formatText, isOneLine = false }: Space): Wish {
  const { kind = 'text', label } = field;
  const widths = rows.map((row) => shownWidth(formatText(field, row))).sort((a, b) => a - b);
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

type Fields = readonly Field<never>[];

const GAP = 2;
/** The indentation of lines below a row, and the mark that refers to them. */
const INDENT = 4;
const SEE_BELOW = '…';

/** A mark and a word show a state; the color only repeats them. */
const MARKS: Record<Tone, string> = { plain: '·', good: '✓', attention: '!', bad: '✗' };

/** The end of an id distinguishes rows and is enough to name an item; the detail has the whole id. */
const ID_END = 8;

function formatCell(terminal: Terminal, field: Field<never>, row: object, isBrief = false): string {
  const said = clean(cellText(terminal, field, row));
  const whole = isBrief && isTime(field) ? inBrief(said) : said;
  const text = field.kind === 'id' ? whole.slice(-ID_END) : whole;
  const tone = text === '' ? undefined : field.tone?.(row as never);
  if (tone === undefined || (tone === 'plain' && field.kind === 'number')) return text;
  return terminal.paint(toStyle(tone), `${MARKS[tone]} ${text}`);
}

const isTime = ({ kind }: Field<never>): boolean => kind === 'time' || kind === 'moment';

/** Returns a time without the current year and the zone, which are shown next to the table. */
export const inBrief = (text: string): string => {
  const [, year, time] = /^(\d{4})-(\d\d-\d\d \d\d:\d\d(?::\d\d)?)/.exec(text) ?? [];
  return year === String(new Date().getFullYear()) && time !== undefined ? time : text;
};

interface TableView {
  fields: Fields;
  rows: readonly object[];
  /** The selected row. */
  cursor: number;
  isMarked: (row: object) => boolean;
  /** Keys go to something else: the selected row is marked without a bar. */
  isAside?: boolean | undefined;
  /** The selected row is shown in full next to it. */
  hasBeside?: boolean | undefined;
}

export interface Table {
  head: readonly string[];
  /** The columns that are shown, in their order. */
  shown: Fields;
  /** Returns the lines of a row; more than one if a name does not fit next to the other columns. */
  row: (at: number) => readonly string[];
}

export function layTable(
  terminal: Terminal,
  { fields, rows, cursor, isMarked, isAside = false, hasBeside = false }: TableView,
  width: number,
): Table {
  const formatText = (field: Field<never>, row: object): string => formatCell(terminal, field, row, hasBeside);
  const columns = placeColumns(fields, rows, { width: width - 2, gap: GAP, formatText, isOneLine: hasBeside });
  const { beside, below } = columns;
  const titles = [
    `  ${beside.map(({ field, width: wide }) => placed(field, formatTitle(field), wide)).join(' '.repeat(GAP))}`,
    ...below.map((field) => ' '.repeat(INDENT) + formatTitle(field)),
  ];
  return {
    shown: [...beside.map(({ field }) => field), ...below],
    head: titles.map((line) => fit(bold(line), width)),
    row: (at) => {
      const row = rows[at];
      if (row === undefined) return [];
      const lines = rowLines(columns, (field) => formatText(field, row), width);
      const sign = isMarked(row) ? '*' : ' ';
      const [first = '', ...more] = lines;
      if (at !== cursor) return [fit(` ${sign}${first}`, width), ...more];
      const inHand = [`›${sign}${first}`, ...more];
      if (isAside) return inHand.map((line) => bold(fit(unstyled(line), width)));
      // Every terminal supports inverse; a state is as readable in it as without.
      return inHand.map((line) => bar(fit(line, width)));
    },
  };
}

/** Numbers are aligned right. */
const placed = ({ kind }: Field<never>, text: string, width: number): string =>
  kind === 'number' ? fitRight(text, width) : fit(text, width);

const formatTitle = ({ label }: Field<never>): string => label.toUpperCase();

function rowLines({ beside, below }: Columns, formatText: (field: Field<never>) => string, width: number): string[] {
  const low = below.map(formatText);
  const cells = beside.map(({ field, width: wide, isKept }) => {
    const text = formatText(field);
    if (!isKept || shownWidth(text) <= wide) return placed(field, text, wide);
    low.push(text);
    return fit(SEE_BELOW, wide);
  });
  return [
    cells.join(' '.repeat(GAP)),
    ...low
      .filter((text) => text !== '')
      .flatMap((text) => wrap(text, width - INDENT).map((line) => fit(' '.repeat(INDENT) + line, width))),
  ];
}

/** Upper bound for one value below the table. */
const LINES_MAX = 6;

/**
 * Draws the values of the selected row that do not fit in a line, below the table. Each has at least its first line
 * there; the remaining lines go to them in their order.
 */
export function drawBelow(fields: Fields, row: object | undefined, width: number, height: number): string[] {
  if (row === undefined) return [];
  const long = fields
    .filter(({ kind, shown }) => kind === 'long' && shown === undefined)
    .map((field) => ({ label: field.label, text: clean(readWords(field, row)) }))
    .filter(({ text }) => text !== '');
  // Each value has its label and one line.
  let left = height - 2 * long.length;
  return long.flatMap(({ label, text }) => {
    const all = wrap(text, width - 4);
    const lines = all.length > LINES_MAX ? [...all.slice(0, LINES_MAX), '…'] : all;
    const room = 1 + Math.max(0, Math.min(left, lines.length - 1));
    left -= room - 1;
    // A single line contains the mark itself.
    const cut = room === 1 ? [fit(text, width - 4)] : [...lines.slice(0, room - 1), '…'];
    const shown = room < lines.length ? cut : lines;
    return [`  ${faint(label)}`, ...shown.map((line) => `    ${line}`)];
  });
}

/** The column by which rows are sorted, and whether the largest value comes first. */
export interface Order {
  field: Field<never>;
  isDown: boolean;
}

const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: 'base' });

/** Returns the rows in this order; those without a value come last, and equal ones keep their order. */
export function inOrder<Row extends object>(rows: readonly Row[], { field, isDown }: Order): readonly Row[] {
  const keyed = rows.map((row) => ({ row, key: toSortKey(field, row) }));
  const filled = keyed.filter(({ key }) => key !== undefined);
  const empty = keyed.filter(({ key }) => key === undefined);
  filled.sort((a, b) => (isDown ? -1 : 1) * compared(a.key ?? '', b.key ?? ''));
  return [...filled, ...empty].map(({ row }) => row);
}

/** Numbers by their size, times by when they are, and everything else as it is read. */
function toSortKey(field: Field<never>, row: object): string | number | undefined {
  const value = readFieldValue(field, row);
  if (typeof value === 'number') return value;
  if (field.kind === 'time' || field.kind === 'moment') {
    const at = typeof value === 'string' ? Date.parse(value) : Number.NaN;
    return Number.isNaN(at) ? undefined : at;
  }
  const words = readWords(field, row);
  return words === '' ? undefined : words;
}

function compared(one: string | number, other: string | number): number {
  if (typeof one === 'number' && typeof other === 'number') return one - other;
  return collator.compare(String(one), String(other));
}

/**
 * Returns the order after a key: `>` goes to the next column and `<` to the previous one, with no order after the last
 * column; `=` reverses it. Undefined for any other key.
 */
export function orderBy(
  key: string,
  now: Order | undefined,
  shown: readonly Field<never>[],
): { order: Order | undefined } | undefined {
  if (key === '=') return now && { order: { ...now, isDown: !now.isDown } };
  if (key !== '>' && key !== '<') return undefined;
  const at = shown.findIndex(({ name }) => name === now?.field.name);
  const step = key === '>' ? 1 : -1;
  // The list's own order comes before the first column.
  const to = (at + 1 + step + shown.length + 1) % (shown.length + 1);
  const field = shown[to - 1];
  return { order: field && { field, isDown: false } };
}
