import { readWords, type Field, type Tone } from '../../cli/families/index.ts';
import { cellText, clean, styleOf, type Terminal } from '../../cli/output/index.ts';
import { placeColumns, type Columns } from './columns.ts';
import { bar, bold, faint, fit, fitRight, shownWidth, unstyled, wrap } from './text.ts';

type Fields = readonly Field<never>[];

const GAP = 2;
/** What goes on below a row, and what marks it there. */
const INDENT = 4;
const SEE_BELOW = '…';

/** A state is told by a mark and a word; its colour only repeats them. */
const MARKS: Record<Tone, string> = { plain: '·', good: '✓', attention: '!', bad: '✗' };

/** The end of an id tells one row from the others, and is enough to name it; the detail has it whole. */
const ID_END = 8;

export function cellOf(terminal: Terminal, field: Field<never>, row: object, isBrief = false): string {
  const said = clean(cellText(terminal, field, row));
  const whole = isBrief && isTime(field) ? inBrief(said) : said;
  const text = field.kind === 'id' ? whole.slice(-ID_END) : whole;
  const tone = text === '' ? undefined : field.tone?.(row as never);
  if (tone === undefined || (tone === 'plain' && field.kind === 'number')) return text;
  return terminal.paint(styleOf(tone), `${MARKS[tone]} ${text}`);
}

const isTime = ({ kind }: Field<never>): boolean => kind === 'time' || kind === 'moment';

/** A time of this year without the year and the zone, which stand beside the table. */
export const inBrief = (text: string): string => {
  const [, year, time] = /^(\d{4})-(\d\d-\d\d \d\d:\d\d(?::\d\d)?)/.exec(text) ?? [];
  return year === String(new Date().getFullYear()) && time !== undefined ? time : text;
};

export interface TableView {
  fields: Fields;
  rows: readonly object[];
  /** Which row the keys are for. */
  cursor: number;
  isMarked: (row: object) => boolean;
  /** The keys are for something else: the row in hand is told without a bar. */
  isAside?: boolean | undefined;
  /** The row in hand stands in full beside it. */
  hasBeside?: boolean | undefined;
}

export interface Table {
  head: readonly string[];
  /** The columns that are shown, in their order. */
  shown: Fields;
  /** The lines of a row; more than one where it has a name for which there is no space beside the rest. */
  row: (at: number) => readonly string[];
}

export function layTable(
  terminal: Terminal,
  { fields, rows, cursor, isMarked, isAside = false, hasBeside = false }: TableView,
  width: number,
): Table {
  const textOf = (field: Field<never>, row: object): string => cellOf(terminal, field, row, hasBeside);
  const columns = placeColumns(fields, rows, { width: width - 2, gap: GAP, textOf, isOneLine: hasBeside });
  const { beside, below } = columns;
  const titles = [
    `  ${beside.map(({ field, width: wide }) => placed(field, titleOf(field), wide)).join(' '.repeat(GAP))}`,
    ...below.map((field) => ' '.repeat(INDENT) + titleOf(field)),
  ];
  return {
    shown: [...beside.map(({ field }) => field), ...below],
    head: titles.map((line) => fit(bold(line), width)),
    row: (at) => {
      const row = rows[at];
      if (row === undefined) return [];
      const lines = rowLines(columns, (field) => textOf(field, row), width);
      const sign = isMarked(row) ? '*' : ' ';
      const [first = '', ...more] = lines;
      if (at !== cursor) return [fit(` ${sign}${first}`, width), ...more];
      const inHand = [`›${sign}${first}`, ...more];
      if (isAside) return inHand.map((line) => bold(fit(unstyled(line), width)));
      // Inverse is what every terminal can; a state is as readable in it as it is without.
      return inHand.map((line) => bar(fit(line, width)));
    },
  };
}

/** Numbers end where those above and below them end. */
const placed = ({ kind }: Field<never>, text: string, width: number): string =>
  kind === 'number' ? fitRight(text, width) : fit(text, width);

const titleOf = ({ label }: Field<never>): string => label.toUpperCase();

function rowLines({ beside, below }: Columns, textOf: (field: Field<never>) => string, width: number): string[] {
  const low = below.map(textOf);
  const cells = beside.map(({ field, width: wide, isKept }) => {
    const text = textOf(field);
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

/** How much of one value stands below the table. */
const LINES_MAX = 6;

/**
 * What stands below the table about the row in hand: the values that have no room in a line. Each has at least its first
 * line there; what is left goes to them in their order.
 */
export function drawBelow(fields: Fields, row: object | undefined, width: number, height: number): string[] {
  if (row === undefined) return [];
  const long = fields
    .filter(({ kind, shown }) => kind === 'long' && shown === undefined)
    .map((field) => ({ label: field.label, text: clean(readWords(field, row)) }))
    .filter(({ text }) => text !== '');
  // Of each its label and a line.
  let left = height - 2 * long.length;
  return long.flatMap(({ label, text }) => {
    const all = wrap(text, width - 4);
    const lines = all.length > LINES_MAX ? [...all.slice(0, LINES_MAX), '…'] : all;
    const room = 1 + Math.max(0, Math.min(left, lines.length - 1));
    left -= room - 1;
    // With one line alone the mark stands in it.
    const cut = room === 1 ? [fit(text, width - 4)] : [...lines.slice(0, room - 1), '…'];
    const shown = room < lines.length ? cut : lines;
    return [`  ${faint(label)}`, ...shown.map((line) => `    ${line}`)];
  });
}
