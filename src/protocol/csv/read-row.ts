import { normalizeAddress, parseMailbox } from '../address/index.ts';
import { readValue, type PropertyType, type PropertyValue } from '../contact-filter/index.ts';

/**
 * Positions at which a program may start a cell, whatever separator it uses. A quote only opens a cell at its start, so
 * it does not protect a semicolon, tab or line end from a program that splits by those.
 */
const CELLS = /(?<=^|[;\t\r\n])[^;\t\r\n]*/g;
/** The beginnings of formulas in various spreadsheets. */
const FORMULA = /^'*[" ]*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20]/;
/**
 * A number may begin with a sign only if it is the whole text: after a separator, the remainder of the row may belong
 * to it.
 */
const NUMBER = /^[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i;
/** Matches a whole text that begins with characters a spreadsheet may skip, or that would look like an empty cell. */
const BARE = /^'*(?:[\t\r\n]|$)/;

/**
 * Returns a text that no spreadsheet executes: it puts an apostrophe before what would be a formula, and `undefused`
 * removes it. An apostrophe also marks a text without any characters, which would otherwise look like an empty cell.
 */
export function defused(text: string): string {
  if (NUMBER.test(text)) return text;
  return (BARE.test(text) ? "'" : '') + text.replaceAll(CELLS, (cell) => (FORMULA.test(cell) ? `'${cell}` : cell));
}

export function undefused(text: string): string {
  if (!text.includes("'")) return text;
  const own = text.startsWith("'") && BARE.test(text) ? text.slice(1) : text;
  return own.replaceAll(CELLS, (cell) => (cell.startsWith("'") && FORMULA.test(cell) ? cell.slice(1) : cell));
}

/** Quotes a cell of a CSV row (RFC 4180). */
export const quoted = (text: string): string =>
  /[",;\t\r\n]/.test(text) || text !== text.trim() ? `"${text.replaceAll('"', '""')}"` : text;

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
}

export interface RowFault {
  reason: string;
  value: string | null;
}

const NAME_CHARS_MAX = 200;
const SHOWN_CHARS = 200;
const YES = new Set(['true', 'yes', '1', 'y', 'unsubscribed']);
const NO = new Set(['false', 'no', '0', 'n', 'subscribed']);
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
      throw new Fault('the value has bytes that are not UTF-8, unlike the rest of the file', text);
    }
    return text;
  };
  const { email, emailKey } = readEmail(cell(columns.email).trim());
  const values: Record<string, PropertyValue> = {};
  for (const key in columns.properties) {
    const text = cell(columns.properties[key]);
    // A key without a type was deleted after the file was uploaded: `import-rows.ts` drops its value.
    if (text !== '') values[key] = parseProperty(key, types.get(key) ?? 'string', undefused(text));
  }
  const lists = parseLists(columns, cell);
  return {
    ...(lists ? { lists } : {}),
    email,
    emailKey,
    first_name: parseName('first name', cell(columns.first_name), columns),
    last_name: parseName('last name', cell(columns.last_name), columns),
    unsubscribed: parseBoolean('unsubscribed', cell(columns.unsubscribed).trim()),
    values,
  };
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

function parseLists({ lists = {} }: Columns, cell: (at: number | undefined) => string): ReadRow['lists'] {
  let found: ReadRow['lists'];
  for (const list in lists) {
    const ids = cell(lists[list as IdList])
      .split(/[\s,;]+/)
      .filter((id) => id !== '');
    const stray = ids.find((id) => !UUID.test(id));
    if (stray !== undefined) throw new Fault(`${list} must be ids separated by spaces`, stray);
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
      /^[^"<]*\s/.test(text) ? 'the address contains a space; write only the address' : parsed.fault,
      text,
    );
  }
  if (parsed.mailbox.name !== '') throw new Fault('the address has a name; write only the address', text);
  const { address } = parsed.mailbox;
  return { email: address, emailKey: normalizeAddress(address) };
}

function parseName(what: string, text: string, { isExport }: Columns): string | undefined {
  const name = undefused(isExport ? text : text.trim());
  // Count characters as the API does: an emoji is one.
  if (name.length > NAME_CHARS_MAX && [...name].length > NAME_CHARS_MAX) {
    throw new Fault(`the ${what} has ${[...name].length} characters; at most ${NAME_CHARS_MAX} are allowed`, name);
  }
  return text === '' || (name === '' && !isExport) ? undefined : name;
}

function parseBoolean(what: string, text: string): boolean | undefined {
  if (text === '') return undefined;
  const word = text.toLowerCase();
  if (YES.has(word)) return true;
  if (NO.has(word)) return false;
  throw new Fault(`${what} must be true or false`, text);
}

/** Excludes other bases. No digit can match two parts, or a long cell would take quadratic time. */
const DECIMAL = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i;

function parseProperty(key: string, type: PropertyType, text: string): PropertyValue {
  if (type === 'boolean') return parseBoolean(key, text.trim()) ?? false;
  const trimmed = text.trim();
  const given = type === 'number' ? (DECIMAL.test(trimmed) ? Number(trimmed) : Number.NaN) : text;
  const result = readValue(type, given);
  if (!result.ok) throw new Fault(`${key} ${result.fault}`, text);
  return result.value;
}

/** The caller's assignment of columns. */
export interface ColumnMap {
  email?: string | undefined;
  first_name?: string | undefined;
  last_name?: string | undefined;
  unsubscribed?: string | undefined;
  segment_ids?: string | undefined;
  opted_in_topic_ids?: string | undefined;
  opted_out_topic_ids?: string | undefined;
  properties?: Readonly<Record<string, { column: string; type?: PropertyType | undefined }>> | undefined;
}

/** The positions of the columns in a row. */
export interface Columns {
  email: number;
  first_name?: number;
  last_name?: number;
  unsubscribed?: number;
  properties: Readonly<Record<string, number>>;
  lists?: Readonly<Partial<Record<IdList, number>>>;
  /** Maximum number of cells in a row. */
  width: number;
  /** The file is an export of ours, where white space around a column name belongs to the name. */
  isExport?: boolean;
}

/** Columns of our exports that hold ids in one cell, separated by spaces. */
export type IdList = (typeof ID_LISTS)[number];
export const ID_LISTS = ['segment_ids', 'opted_in_topic_ids', 'opted_out_topic_ids'] as const;

/** The first columns of our exports, before `ID_LISTS`. */
export const OWN_COLUMNS: readonly string[] = ['email', 'first_name', 'last_name', 'unsubscribed'];

/** A header column that is not imported; numbered from 1. */
export interface IgnoredColumn {
  column: number;
  /** Null if the header has no name for it. */
  name: string | null;
}

export type ColumnsResult = { ok: true; columns: Columns; ignored: IgnoredColumn[] } | { ok: false; fault: string };

type OwnField = 'email' | 'first_name' | 'last_name' | 'unsubscribed';

/** Recognized column names, compared without letter case, spaces, hyphens and underscores. */
const OBVIOUS: Record<OwnField, readonly string[]> = {
  email: ['email', 'emailaddress', 'mail', 'address', 'emails'],
  first_name: ['firstname', 'givenname', 'forename', 'fname'],
  last_name: ['lastname', 'surname', 'familyname', 'lname'],
  unsubscribed: ['unsubscribed', 'optedout', 'optout'],
};
const OWN_FIELDS = Object.keys(OBVIOUS) as OwnField[];

const COLUMNS_MAX = 1000;
const CELL_SHOWN = 60;
const NAME_KEPT = 200;

const plain = (name: string): string => name.toLowerCase().replaceAll(/[\s_-]+/g, '');

/**
 * Finds the columns in a header: by the map, or without one by recognized names and the keys of declared properties.
 */
export function findColumns(
  header: readonly string[],
  map: ColumnMap | undefined,
  keys: readonly string[],
): ColumnsResult {
  const names = header.map((name) => name.replace(/^\uFEFF/, '').trim());
  if (names.length > COLUMNS_MAX) {
    return { ok: false, fault: `the header has ${names.length} columns; at most ${COLUMNS_MAX} are allowed` };
  }
  const finder = new ColumnFinder(names);
  const columns: Columns = { email: -1, properties: {}, width: names.length };
  for (const field of OWN_FIELDS) {
    const said = map?.[field];
    const isObvious = map === undefined || field === 'email';
    const at = said !== undefined ? finder.said(`column_map.${field}`, said) : isObvious ? finder.obvious(field) : -1;
    if (at >= 0) columns[field] = at;
  }
  columns.properties = map ? finder.mapped(map.properties ?? {}) : finder.declared(keys);
  columns.isExport = !map && [...OWN_COLUMNS, ...unclaimedIdLists(keys)].every((name, at) => names[at] === name);
  columns.lists = map ? finder.lists(map) : finder.declared(unclaimedIdLists(keys));
  if (finder.fault === undefined && columns.email < 0) {
    finder.fault = `no column has email addresses; name one "email" or set it in column_map; the columns are ${listed(names)}`;
  }
  if (finder.fault !== undefined) return { ok: false, fault: finder.fault };
  return { ok: true, columns, ignored: listIgnored(names, columns) };
}

function listIgnored(names: readonly string[], columns: Columns): IgnoredColumn[] {
  const { properties, lists, ...own } = columns;
  const taken = new Set([...OWN_FIELDS.map((field) => own[field]), ...Object.values({ ...properties, ...lists })]);
  return names.flatMap((name, at) =>
    taken.has(at) ? [] : [{ column: at + 1, name: name === '' ? null : name.slice(0, NAME_KEPT) }],
  );
}

/**
 * Returns the id lists whose names no property uses. A property of that name, created before exports had the lists,
 * keeps the column.
 */
export const unclaimedIdLists = (keys: readonly string[]): readonly IdList[] =>
  ID_LISTS.filter((list) => !keys.some((key) => key.toLowerCase() === list));

class ColumnFinder {
  fault: string | undefined;
  readonly #names: readonly string[];

  constructor(names: readonly string[]) {
    this.#names = names;
  }

  said(where: string, name: string): number {
    const wanted = name.trim();
    const exact = this.#places((other) => other === wanted);
    const places = exact.length > 0 ? exact : this.#places((other) => other.toLowerCase() === wanted.toLowerCase());
    if (places.length === 0) {
      this.fault ??= `${where} names the column ${shown(name)}, which the header does not have; its columns are ${listed(this.#names)}`;
    }
    return this.#only(places, wanted);
  }

  obvious(field: OwnField): number {
    const exact = this.#places((other) => other.toLowerCase() === field);
    if (exact.length > 0) return this.#only(exact, field);
    for (const name of OBVIOUS[field]) {
      const places = this.#places((other) => plain(other) === name);
      if (places.length > 0) return this.#only(places, this.#names[places[0] ?? 0] ?? '');
    }
    return -1;
  }

  mapped(properties: NonNullable<ColumnMap['properties']>): Record<string, number> {
    return Object.fromEntries(
      Object.entries(properties).map(([key, { column }]) => [key, this.said(`column_map.properties.${key}`, column)]),
    );
  }

  lists(map: ColumnMap): Partial<Record<IdList, number>> {
    const found: Partial<Record<IdList, number>> = {};
    for (const list of ID_LISTS) {
      const said = map[list];
      if (said !== undefined) found[list] = this.said(`column_map.${list}`, said);
    }
    return found;
  }

  declared(keys: readonly string[]): Record<string, number> {
    const found: Record<string, number> = {};
    for (const key of keys) {
      const places = this.#places((other) => other.toLowerCase() === key.toLowerCase());
      if (places.length > 0) found[key] = this.#only(places, key);
    }
    return found;
  }

  #places(matches: (name: string) => boolean): number[] {
    return this.#names.flatMap((name, at) => (matches(name) ? [at] : []));
  }

  /** Two columns with the same name are ambiguous. */
  #only([first = -1, ...more]: readonly number[], name: string): number {
    if (more.length > 0) this.fault ??= `the header has two columns called ${shown(name)}; rename one of them`;
    return first;
  }
}

const shown = (name: string): string => JSON.stringify(name.slice(0, CELL_SHOWN));
const listed = (names: readonly string[]): string =>
  names.slice(0, 10).map(shown).join(', ') + (names.length > 10 ? ` and ${names.length - 10} more` : '');
