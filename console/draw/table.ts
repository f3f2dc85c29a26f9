import { inWords, valueOf, type Field, type Tone } from '../../cli/families/index.ts';
import { cellText, clean, styleOf, type Terminal } from '../../cli/output/index.ts';
import { shownWidth, wrap, bold, faint, fit, inverse, unstyled } from './text.ts';

type Fields = readonly Field<never>[];

interface Wish {
  field: Field<never>;
  natural: number;
}

interface Placed extends Wish {
  width: number;
}

const GAP = 2;
const TEXT_MIN = 12;
const TEXT_MAX = 60;

/** A state is told by a mark and a word; its colour only repeats them. */
const MARKS: Record<Tone, string> = { plain: '·', good: '✓', attention: '!', bad: '✗' };

export function cellOf(terminal: Terminal, field: Field<never>, row: object): string {
  const text = clean(cellText(terminal, field, row));
  const tone = text === '' ? undefined : field.tone?.(row as never);
  return tone === undefined ? text : terminal.paint(styleOf(tone), `${MARKS[tone]} ${text}`);
}

/**
 * The columns that find room beside each other: those that are always shown, as wide as they like, then ids, which are
 * copied more often than read, then those for wide screens. What gets no room is in the detail.
 */
export function placeColumns(terminal: Terminal, fields: Fields, rows: readonly object[], width: number): Placed[] {
  const ranked = fields
    .filter(({ kind, shown }) => kind !== 'long' && kind !== 'body' && shown !== 'asked')
    .map((field) => ({ field, natural: naturalWidth(terminal, field, rows) }));
  const isFirst = ({ field }: Wish): boolean => field.shown === undefined && field.kind !== 'id';
  const placed: Placed[] = [];
  let left = width;
  const place = ({ field, natural }: Wish, least: number): void => {
    const gap = placed.length > 0 ? GAP : 0;
    if (least + gap > left) return;
    placed.push({ field, width: least, natural });
    left -= least + gap;
  };
  for (const wish of ranked.filter(isFirst)) {
    const isText = ['text', 'name'].includes(wish.field.kind ?? 'text');
    place(wish, isText ? Math.min(wish.natural, TEXT_MIN) : wish.natural);
  }
  for (; left > 0; left--) {
    // The narrowest of what is shown in part is widened first.
    const [cut] = placed.filter((one) => one.width < one.natural).sort((a, b) => a.width - b.width);
    if (!cut) break;
    cut.width++;
  }
  const later = ranked.filter((wish) => !isFirst(wish) && wish.natural > 0);
  for (const wish of later.sort((a, b) => Number(b.field.kind === 'id') - Number(a.field.kind === 'id')))
    place(wish, wish.natural);
  return placed.sort((a, b) => Number(a.field.kind === 'id') - Number(b.field.kind === 'id'));
}

function naturalWidth(terminal: Terminal, field: Field<never>, rows: readonly object[]): number {
  const widths = rows.map((row) => shownWidth(cellOf(terminal, field, row)));
  const widest = Math.max(0, ...widths);
  // A column for wide screens that is empty shows nothing.
  return widest === 0 && field.shown === 'wide' ? 0 : Math.min(TEXT_MAX, Math.max(field.label.length, widest));
}

export interface TableView {
  fields: Fields;
  rows: readonly object[];
  /** Which row the keys are for. */
  cursor: number;
  /** The first row that is seen. */
  top: number;
  isMarked: (row: object) => boolean;
}

/** The titles and as many rows as there is room for. */
export function drawTable(terminal: Terminal, view: TableView, width: number, height: number): string[] {
  const { fields, rows, cursor, top, isMarked } = view;
  const columns = placeColumns(terminal, fields, rows, width - 2);
  const line = (texts: readonly string[]): string =>
    texts.map((text, at) => fit(text, columns[at]?.width ?? 0)).join(' '.repeat(GAP));
  const head = `  ${bold(line(columns.map(({ field }) => field.label.toUpperCase())))}`;
  const body = rows.slice(top, top + height - 1).map((row, at) => {
    const text = line(columns.map(({ field }) => cellOf(terminal, field, row)));
    const sign = isMarked(row) ? '*' : ' ';
    if (top + at !== cursor) return fit(` ${sign}${text}`, width);
    // One without colours: inverse is what every terminal can, and no colour is readable on all of them.
    return inverse(fit(`›${sign}${unstyled(text)}`, width));
  });
  return [fit(head, width), ...body];
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
    .map((field) => ({ label: field.label, text: clean(inWords(valueOf(field, row))) }))
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
