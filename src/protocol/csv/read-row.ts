import { normalizeAddress, parseMailbox } from '../address/index.ts';
import { readValue, type PropertyType, type PropertyValue } from '../contact-filter/index.ts';
import type { Columns, IdList } from './columns.ts';
import { undefused } from './defuse.ts';

/** What a row says; an empty cell says nothing. */
export interface ReadRow {
  email: string;
  emailKey: string;
  first_name: string | undefined;
  last_name: string | undefined;
  unsubscribed: boolean | undefined;
  /** By key. */
  values: Record<string, PropertyValue>;
  /** Segments and topics by their ids; absent where the row says nothing of them. */
  lists?: Partial<Record<IdList, string[]>>;
}

export interface RowFault {
  reason: string;
  value: string | null;
}

const NAME_CHARS_MAX = 200;
const SHOWN_CHARS = 200;
const YES = new Set(['true', 'yes', '1', 'y', 'unsubscribed']);
const NO = new Set(['false', 'no', '0', 'n', 'subscribed']);
/** An address as most are: in this form it needs no parser to be known for one, and is its own key in lower case. */
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

export interface Table {
  columns: Columns;
  types: ReadonlyMap<string, PropertyType>;
  /** Of a file that is damaged, U+FFFD stands for bytes that could not be read. */
  isDamaged?: boolean | undefined;
}

/** Reads one row by its columns; a row at fault says why, with the value that stands there. */
export function readRow(cells: readonly string[], table: Table): ReadRow | RowFault {
  try {
    return read(cells, table);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return rowFault(error.message, error.value);
  }
}

export function rowFault(reason: string, given: string): RowFault {
  const value = given.replaceAll('\0', '\uFFFD').toWellFormed().slice(0, SHOWN_CHARS);
  return { reason, value: value === '' ? null : value };
}

function read(cells: readonly string[], { columns, types, isDamaged }: Table): ReadRow {
  if (cells.length > columns.width && cells.slice(columns.width).some((cell) => cell.trim() !== '')) {
    throw new Fault(`the row has ${cells.length} values for ${columns.width} columns`, cells[columns.width] ?? '');
  }
  const cell = (at: number | undefined): string => {
    const text = at === undefined ? '' : (cells[at] ?? '');
    if (text.includes('\0') || !text.isWellFormed())
      throw new Fault('the value contains a NUL or a broken character', text);
    if (isDamaged && text.includes('\uFFFD')) {
      throw new Fault('the value has bytes that are not UTF-8, as the rest of the file is', text);
    }
    return text;
  };
  const { email, emailKey } = readEmail(cell(columns.email).trim());
  const values: Record<string, PropertyValue> = {};
  for (const key in columns.properties) {
    const text = cell(columns.properties[key]);
    // A key without a type was deleted after the file was handed in: `import-rows.ts` drops its value.
    if (text !== '') values[key] = propertyOf(key, types.get(key) ?? 'string', undefused(text));
  }
  const lists = listsOf(columns, cell);
  return {
    ...(lists ? { lists } : {}),
    email,
    emailKey,
    first_name: nameOf('first name', cell(columns.first_name), columns),
    last_name: nameOf('last name', cell(columns.last_name), columns),
    unsubscribed: booleanOf('unsubscribed', cell(columns.unsubscribed).trim()),
    values,
  };
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

function listsOf({ lists = {} }: Columns, cell: (at: number | undefined) => string): ReadRow['lists'] {
  let found: ReadRow['lists'];
  for (const list in lists) {
    const ids = cell(lists[list as IdList])
      .split(/[\s,;]+/)
      .filter((id) => id !== '');
    const stray = ids.find((id) => !UUID.test(id));
    if (stray !== undefined) throw new Fault(`${list} must hold ids, separated by spaces`, stray);
    if (ids.length > 0) found = { ...found, [list]: ids.map((id) => id.toLowerCase()) };
  }
  return found;
}

function readEmail(text: string): { email: string; emailKey: string } {
  if (text.length <= ORDINARY_CHARS_MAX && ORDINARY.test(text)) return { email: text, emailKey: text };
  if (text === '') throw new Fault('the row has no address', text);
  const parsed = parseMailbox(undefused(text));
  if (!parsed.ok) {
    throw new Fault(
      /^[^"<]*\s/.test(text) ? 'the address contains a space; give the address alone' : parsed.fault,
      text,
    );
  }
  if (parsed.mailbox.name !== '') throw new Fault('the address has a name with it; give the address alone', text);
  const { address } = parsed.mailbox;
  return { email: address, emailKey: normalizeAddress(address) };
}

function nameOf(what: string, text: string, { isExport }: Columns): string | undefined {
  const name = undefused(isExport ? text : text.trim());
  // Characters as the API counts them: an emoji is one.
  if (name.length > NAME_CHARS_MAX && [...name].length > NAME_CHARS_MAX) {
    throw new Fault(`the ${what} has ${[...name].length} characters; at most ${NAME_CHARS_MAX} are possible`, name);
  }
  return text === '' || (name === '' && !isExport) ? undefined : name;
}

function booleanOf(what: string, text: string): boolean | undefined {
  if (text === '') return undefined;
  const word = text.toLowerCase();
  if (YES.has(word)) return true;
  if (NO.has(word)) return false;
  throw new Fault(`${what} must be true or false`, text);
}

/** Not as a program writes numbers in other bases. No digit can belong to two parts, or a long cell would take time by the square of it. */
const DECIMAL = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i;

function propertyOf(key: string, type: PropertyType, text: string): PropertyValue {
  if (type === 'boolean') return booleanOf(key, text.trim()) ?? false;
  const trimmed = text.trim();
  const given = type === 'number' ? (DECIMAL.test(trimmed) ? Number(trimmed) : Number.NaN) : text;
  const result = readValue(type, given);
  if (!result.ok) throw new Fault(`${key} ${result.fault}`, text);
  return result.value;
}
