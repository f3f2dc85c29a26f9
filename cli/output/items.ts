import type { Field, Tone } from '../families/family.ts';
import { inWords, readPart, valueOf } from '../families/field-value.ts';
import { cleanLines } from './clean.ts';
import { CliFault } from './cli-fault.ts';
import { nearestTo } from './nearest.ts';
import { formatPairs, type Column } from './table.ts';
import type { Style, Terminal } from './terminal.ts';
import { formatTime } from './time.ts';

type Item = object;
export type Fields = readonly Field<never>[];

const STYLES: Record<Tone, Style> = { plain: 'plain', good: 'green', attention: 'yellow', bad: 'red' };

export const styleOf = (tone: Tone): Style => STYLES[tone];

/** What a family declares as the columns of a table. */
export const tableColumns = (terminal: Terminal, fields: Fields): Column<Item>[] =>
  fields.map((field) => ({
    title: field.label.toUpperCase(),
    value: (item) => cellText(terminal, field, item),
    style: (item) => fieldStyle(field, item),
    fit: fitOf(field),
  }));

function fitOf({ kind = 'text' }: Field<never>): NonNullable<Column<Item>['fit']> {
  if (kind === 'text') return 'cut';
  if (kind === 'name') return 'name';
  return kind === 'long' || kind === 'body' ? 'below' : 'whole';
}

/** An item in full: a line for each field, and below them what has lines of its own. */
export function formatItem(terminal: Terminal, fields: Fields, item: Item): string {
  const isBody = ({ kind }: Field<never>): boolean => kind === 'body';
  const pairs = fields
    .filter((field) => !isBody(field))
    .map((field) => [field.label, textOf(terminal, field, item, 'second'), fieldStyle(field, item)] as const);
  const bodies = fields.filter(isBody).map((field) => bodyOf(valueOf(field, item)));
  return [formatPairs(terminal, pairs), ...bodies].filter((part) => part !== '').join('\n\n');
}

function bodyOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  return cleanLines(typeof value === 'string' ? value : JSON.stringify(value, null, 2));
}

/** What stands in a table. */
export const cellText = (terminal: Terminal, field: Field<never>, item: Item): string =>
  textOf(terminal, field, item, field.kind === 'moment' ? 'second' : 'minute');

function textOf(terminal: Terminal, field: Field<never>, item: Item, precision: 'minute' | 'second'): string {
  const value = valueOf(field, item);
  const isTime = field.kind === 'time' || field.kind === 'moment';
  return isTime && typeof value === 'string' ? formatTime(terminal, value, precision) : inWords(value);
}

const fieldStyle = (field: Field<never>, item: Item): Style => styleOf(field.tone?.(item as never) ?? 'plain');

/** Those that are shown without being asked for. */
export const shownFields = (fields: Fields, isWide = false): Fields =>
  fields.filter(({ shown }) => shown === undefined || (isWide && shown === 'wide'));

/** Those that `--fields` names, in its order. A field of a field needs no declaration of its own. */
export function namedFields(fields: Fields, names: readonly string[], noun: string): Fields {
  return names.map((name): Field<never> => {
    const found = fields.find((field) => field.name === name);
    if (found) return found;
    const [first = ''] = name.split('.');
    if (name !== first && fields.some((field) => field.name === first)) return { name, label: name };
    const known = [...new Set(fields.map((field) => field.name))];
    const nearest = nearestTo(name, known);
    const advice = nearest === undefined ? '' : `. Did you mean ${nearest}?`;
    throw new CliFault(
      `--fields: ${noun} has no ${JSON.stringify(name)}; it has ${known.join(', ')}${advice}`,
      'usage',
    );
  });
}

/** An item with the named fields alone, as the API gave them. */
export const pickFields = (item: Item, names: readonly string[]): object =>
  Object.fromEntries(names.map((name) => [name, readPart(item, name) ?? null]));
