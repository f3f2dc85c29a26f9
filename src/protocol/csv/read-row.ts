import { normalizeAddress, parseMailbox } from '../address/index.ts';
import { readValue, type PropertyType, type PropertyValue } from '../contact-filter/index.ts';
import { readDate } from '../written-date.ts';
import { undefused } from './spreadsheet-cells.ts';
import { readLocalNumber, readYesNo, type ColumnSign } from './cell-values.ts';
import type { Columns, IdList } from './find-columns.ts';

/** The values of a row; an empty cell has no value. */
export interface ReadRow {
  email: string;
  emailKey: string;
  first_name: string | undefined;
  last_name: string | undefined;
  unsubscribed: boolean | undefined;
  /** Property values by key. */
  values: Record<string, PropertyValue>;
  /** Ids of segments and topics; absent if the row has no value for them. */
  lists?: Partial<Record<IdList, string[]>>;
  /** Values that the row is read without; absent if there are none. */
  skipped?: SkippedValue[];
}

export interface SkippedValue extends RowFault {
  /** Position of the column in the header, starting with 1. */
  column: number;
}

export interface RowFault {
  reason: string;
  value: string | null;
}

const NAME_CHARS_MAX = 200;
const SHOWN_CHARS = 200;
/** The common form of an address. It needs no parser to be recognized, and its key is itself in lower case. */
const ORDINARY =
  /^[a-z0-9](?:[a-z0-9_+-]|\.(?!\.)){0,62}(?<!\.)@(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,24}$/;
const ORDINARY_CHARS_MAX = 120;

class Fault extends Error {
  readonly value: string;

  constructor(reason: string, value: string) {
    super(reason);
    this.value = value;
  }
}

interface Table {
  columns: Columns;
  types: ReadonlyMap<string, PropertyType>;
  /** Properties whose texts must be dates. */
  dates?: ReadonlySet<string> | undefined;
  /** Decimal signs of the properties whose columns show one. */
  decimalSigns?: ReadonlyMap<string, ColumnSign> | undefined;
  /**
   * True if a row is read without a property or a name that is invalid. An invalid address, opt-out or list of ids makes
   * the row invalid all the same: without it, the row would have another meaning.
   */
  skipsBadValues?: boolean | undefined;
  /** The file is damaged; U+FFFD replaces bytes that could not be decoded. */
  isDamaged?: boolean | undefined;
}

/** Reads one row by its columns. An invalid row returns a fault with the reason and the offending value. */
export function readRow(cells: readonly string[], table: Table): ReadRow | RowFault {
  try {
    return read(cells, table);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return rowFault(error.message, error.value);
  }
}

/** What the values of a column are. */
export type CellType = 'address' | 'name' | 'ids' | PropertyType;

/** Returns the reason why a value of a column is not of this type; undefined if it is. */
export function cellFault(text: string, type: CellType, sign?: ColumnSign): RowFault | undefined {
  try {
    if (type === 'address') readEmail(text.trim());
    else if (type === 'name') parseName('name', text, {});
    else if (type === 'ids') parseIds('the value', text);
    else parseProperty(undefused(text), { key: 'the value', type, sign });
    return undefined;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return rowFault(error.message, error.value);
  }
}

export function rowFault(reason: string, given: string): RowFault {
  const value = given.replaceAll('\0', '\uFFFD').toWellFormed().slice(0, SHOWN_CHARS);
  return { reason, value: value === '' ? null : value };
}

function read(cells: readonly string[], table: Table): ReadRow {
  const { columns, types, dates, decimalSigns, skipsBadValues, isDamaged } = table;
  if (cells.length > columns.width && cells.slice(columns.width).some((cell) => cell.trim() !== '')) {
    throw new Fault(`the row has ${cells.length} values for ${columns.width} columns`, cells[columns.width] ?? '');
  }
  const cell = (at: number | undefined): string => {
    const text = at === undefined ? '' : (cells[at] ?? '');
    if (text.includes('\0') || !text.isWellFormed())
      throw new Fault('the value contains a NUL or a broken character', text);
    if (isDamaged && text.includes('\uFFFD')) {
      throw new Fault('the value has bytes that are not UTF-8, unlike the rest of the file', text);
    }
    return text;
  };
  const skipped: SkippedValue[] = [];
  const readOptional = <Value>(at: number | undefined, parse: (text: string) => Value): Value | undefined => {
    try {
      return parse(cell(at));
    } catch (error) {
      if (!skipsBadValues || at === undefined || !(error instanceof Fault)) throw error;
      skipped.push({ column: at + 1, ...rowFault(error.message, error.value) });
      return undefined;
    }
  };
  const { email, emailKey } = readEmail(cell(columns.email).trim());
  const values: Record<string, PropertyValue> = {};
  for (const key in columns.properties) {
    const value = readOptional(columns.properties[key], (text) => {
      if (text === '') return undefined;
      // A key without a type was deleted after the file was uploaded: `import-rows.ts` drops its value.
      const type = types.get(key) ?? 'string';
      if (dates?.has(key) && type === 'string') mustBeDate(key, undefused(text));
      return parseProperty(undefused(text), { key, type, sign: decimalSigns?.get(key) });
    });
    if (value !== undefined) values[key] = value;
  }
  const lists = parseLists(columns, cell);
  return {
    ...(lists ? { lists } : {}),
    email,
    emailKey,
    first_name: readOptional(columns.first_name, (text) => parseName('first name', text, columns)),
    last_name: readOptional(columns.last_name, (text) => parseName('last name', text, columns)),
    unsubscribed: parseUnsubscribed(undefused(cell(columns.unsubscribed).trim())),
    values,
    ...(skipped.length > 0 ? { skipped } : {}),
  };
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

function parseLists({ lists = {} }: Columns, cell: (at: number | undefined) => string): ReadRow['lists'] {
  let found: ReadRow['lists'];
  for (const list in lists) {
    const ids = parseIds(list, cell(lists[list as IdList]));
    if (ids.length > 0) found = { ...found, [list]: ids };
  }
  return found;
}

function parseIds(what: string, text: string): string[] {
  const ids = text.split(/[\s,;]+/).filter((id) => id !== '');
  const stray = ids.find((id) => !UUID.test(id));
  if (stray !== undefined) throw new Fault(`${what} must be ids separated by spaces`, stray);
  return ids.map((id) => id.toLowerCase());
}

function readEmail(text: string): { email: string; emailKey: string } {
  if (text.length <= ORDINARY_CHARS_MAX && ORDINARY.test(text)) return { email: text, emailKey: text };
  if (text === '') throw new Fault('the row has no address', text);
  const parsed = parseMailbox(undefused(text));
  if (!parsed.ok) {
    throw new Fault(
      /^[^"<]*\s/.test(text) ? 'the address contains a space; write only the address' : parsed.fault,
      text,
    );
  }
  if (parsed.mailbox.name !== '') throw new Fault('the address has a name; write only the address', text);
  const { address } = parsed.mailbox;
  return { email: address, emailKey: normalizeAddress(address) };
}

function parseName(what: string, text: string, { isExport }: Pick<Columns, 'isExport'>): string | undefined {
  const name = undefused(isExport ? text : text.trim());
  // Count characters as the API does: an emoji is one.
  if (name.length > NAME_CHARS_MAX && [...name].length > NAME_CHARS_MAX) {
    throw new Fault(`the ${what} has ${[...name].length} characters; at most ${NAME_CHARS_MAX} are allowed`, name);
  }
  return text === '' || (name === '' && !isExport) ? undefined : name;
}

function parseUnsubscribed(text: string): boolean | undefined {
  if (text === '') return undefined;
  const isOut = readYesNo(text);
  if (isOut === undefined) throw new Fault('unsubscribed must be true or false', text);
  return isOut;
}

function mustBeDate(key: string, text: string): void {
  if (readDate(text) !== undefined) return;
  throw new Fault(`${key} starts an automation and must be a date that exists, as YYYY-MM-DD or MM-DD`, text);
}

interface PropertyColumn {
  key: string;
  type: PropertyType;
  sign: ColumnSign | undefined;
}

function parseProperty(text: string, { key, type, sign }: PropertyColumn): PropertyValue | undefined {
  if (type !== 'string' && text.trim() === '') return undefined;
  if (type === 'boolean') {
    const isYes = readYesNo(text);
    if (isYes === undefined) throw new Fault(`${key} must be true or false`, text);
    return isYes;
  }
  const number = type === 'number' ? readLocalNumber(text, sign) : undefined;
  if (number === 'ambiguous') {
    throw new Fault(`${key} has either a decimal sign or a separator of thousands, and its column does not tell`, text);
  }
  const result = readValue(type, type === 'number' ? (number ?? Number.NaN) : text);
  if (!result.ok) throw new Fault(`${key} ${result.fault}`, text);
  return result.value;
}
