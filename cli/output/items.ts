import { readPart, type Field, type Tone } from '../families/columns.ts';
import { grouped, inWords, readFieldValue } from '../families/field-value.ts';
import { clean, cleanLines } from './clean.ts';
import { CliFault, nearestTo } from './cli-fault.ts';
import { formatPairs, type Column } from './table.ts';
import type { Style, Terminal } from './terminal.ts';
import { formatTime, shortTime } from './time.ts';

const SHOWN = 8;

/** Returns the end of an id, where it is random: the beginning is a time, which ids of one hour have in common. */
export const shortId = (id: string): string => (id.length > SHOWN * 2 ? id.slice(-SHOWN) : id);

type Item = object;
export type Fields = readonly Field<never>[];

const STYLES: Record<Tone, Style> = { plain: 'plain', good: 'green', attention: 'yellow', bad: 'red' };

export const toStyle = (tone: Tone): Style => STYLES[tone];

/** Returns the columns of a table from a family's fields. */
export const tableColumns = (terminal: Terminal, fields: Fields): Column<Item>[] =>
  fields.map((field) => ({
    title: field.label.toUpperCase(),
    value: (item) => cellText(terminal, field, item),
    style: (item) => fieldStyle(field, item),
    fit: chooseFit(field),
    isRight: field.kind === 'number',
  }));

/**
 * Returns the columns of a list: for a person the ends of ids and short times, so that a row fits on one line; with
 * `isWide`, and for a program, the whole values.
 */
export const listColumns = (terminal: Terminal, fields: Fields, isWide = false): Column<Item>[] =>
  isWide || !terminal.isTty
    ? tableColumns(terminal, fields)
    : tableColumns(terminal, fields).map((column, at) => ({
        ...column,
        ...brief(terminal, fields[at] as Field<never>),
      }));

function brief(terminal: Terminal, field: Field<never>): Partial<Column<Item>> {
  const { kind } = field;
  if (kind === 'id') return { value: (item) => shortId(cellText(terminal, field, item)) };
  if (kind === 'time' || kind === 'moment') {
    const precision = kind === 'moment' ? 'second' : 'minute';
    return {
      value: (item) => {
        const value = field.words ? field.words(item as never) : readFieldValue(field, item);
        return typeof value === 'string' ? shortTime(value, Date.now(), precision) : inWords(value);
      },
    };
  }
  return kind === 'whole' ? { fit: 'name' } : {};
}

function chooseFit({ kind = 'text', isKept }: Field<never>): NonNullable<Column<Item>['fit']> {
  if (isKept) return 'kept';
  if (kind === 'text') return 'cut';
  if (kind === 'name') return 'name';
  return kind === 'long' || kind === 'body' ? 'below' : 'whole';
}

/** Formats an item in full: a line for each field, and below them the values that have lines of their own. */
export function formatItem(terminal: Terminal, fields: Fields, item: Item): string {
  const columns = terminal.isTty ? terminal.columns : undefined;
  const bodies = fields.filter(isBody).map((field) => formatBody(readFieldValue(field, item, columns)));
  return [formatPairs(terminal, buildPairs(terminal, fields, item)), ...bodies]
    .filter((part) => part !== '')
    .join('\n\n');
}

const isBody = ({ kind }: Field<never>): boolean => kind === 'body';

const buildPairs = (terminal: Terminal, fields: Fields, item: Item) =>
  fields
    .filter((field) => !isBody(field))
    .map((field) => [field.label, formatField(terminal, field, item, 'second'), fieldStyle(field, item)] as const);

/** The same, for a caller that wraps lines: only fields with a value, with equally wide labels. */
export function itemPairs(terminal: Terminal, fields: Fields, item: Item): { label: string; text: string }[] {
  const pairs = buildPairs(terminal, fields, item).filter(([, text]) => text !== '');
  const width = Math.max(0, ...pairs.map(([label]) => label.length));
  return pairs.map(([label, text, style]) => ({
    label: label.padEnd(width),
    text: terminal.paint(style, clean(text)),
  }));
}

function formatBody(value: unknown): string {
  if (value === null || value === undefined) return '';
  return cleanLines(typeof value === 'string' ? value : JSON.stringify(value, null, 2));
}

/** Returns the text of a cell of a table. */
export const cellText = (terminal: Terminal, field: Field<never>, item: Item): string =>
  formatField(terminal, field, item, field.kind === 'moment' ? 'second' : 'minute');

function formatField(terminal: Terminal, field: Field<never>, item: Item, precision: 'minute' | 'second'): string {
  if (field.words && terminal.isTty) return field.words(item as never);
  const value = readFieldValue(field, item);
  if (field.kind === 'number' && typeof value === 'number' && terminal.isTty) return grouped(value);
  const isTime = field.kind === 'time' || field.kind === 'moment';
  return isTime && typeof value === 'string' ? formatTime(terminal, value, precision) : inWords(value);
}

const fieldStyle = (field: Field<never>, item: Item): Style => toStyle(field.tone?.(item as never) ?? 'plain');

/** Returns the fields that are shown by default. */
export const shownFields = (fields: Fields, isWide = false): Fields =>
  fields.filter(({ shown }) => shown === undefined || (isWide && shown === 'wide'));

/**
 * Returns the fields that `--fields` names, in its order: by the name in the API, or by a title or a filter of the
 * list. A field of a field needs no declaration of its own.
 */
export function namedFields(fields: Fields, names: readonly string[], noun: string): Fields {
  const found = names.map((name): Field<never> => {
    const field = fields.find((one) => one.name === name) ?? fields.find((one) => wordsFor(one).includes(plain(name)));
    if (field) return field;
    const [first = ''] = name.split('.');
    if (name !== first && fields.some((one) => one.name === first)) return { name, label: name };
    const words = fields.flatMap((one) => wordsFor(one).map((word) => [word, one.name] as const));
    const nearest = nearestTo(
      plain(name),
      words.map(([word]) => word),
    );
    const advice = nearest === undefined ? '' : `. Did you mean ${words.find(([word]) => word === nearest)?.[1]}?`;
    const known = [...new Set(fields.map((one) => one.name))].join(', ');
    throw new CliFault(`--fields: ${noun} has no ${JSON.stringify(name)}; it has ${known}${advice}`, 'usage');
  });
  return [...new Set(found)];
}

const wordsFor = ({ name, label, filter }: Field<never>): string[] =>
  [name, label, ...(filter === undefined ? [] : [filter])].map(plain);

const plain = (name: string): string => name.toLowerCase().replaceAll(/[ -]/g, '_');

/** Returns an item with only these fields, as the API returned them. */
export const pickFields = (item: Item, fields: Fields): object =>
  Object.fromEntries(fields.map(({ name }) => [name, readPart(item, name) ?? null]));
