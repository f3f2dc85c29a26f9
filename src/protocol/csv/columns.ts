import type { PropertyType } from '../contact-filter/index.ts';

/** Which column is which, as a caller says it. */
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

/** By the places of cells in a row. */
export interface Columns {
  email: number;
  first_name?: number;
  last_name?: number;
  unsubscribed?: number;
  properties: Readonly<Record<string, number>>;
  lists?: Readonly<Partial<Record<IdList, number>>>;
  /** How many cells a row may have. */
  width: number;
  /** Of an export of ours: white space around a name belongs to it. */
  isExport?: boolean;
}

/** Columns of an export of ours: ids in one cell, separated by spaces. */
export type IdList = (typeof ID_LISTS)[number];
export const ID_LISTS = ['segment_ids', 'opted_in_topic_ids', 'opted_out_topic_ids'] as const;

/** How an export of ours begins, before `ID_LISTS`. */
export const OWN_COLUMNS: readonly string[] = ['email', 'first_name', 'last_name', 'unsubscribed'];

/** A column of the header that nothing is taken from; counted from 1. */
export interface IgnoredColumn {
  column: number;
  /** Null where the header has no name for it. */
  name: string | null;
}

export type ColumnsResult = { ok: true; columns: Columns; ignored: IgnoredColumn[] } | { ok: false; fault: string };

type OwnField = 'email' | 'first_name' | 'last_name' | 'unsubscribed';

/** Names that say by themselves what a column is; compared without letter case, spaces, hyphens and underscores. */
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

/** Finds the columns in a header; without a map by obvious names and by the keys of declared properties. */
export function columnsOf(
  header: readonly string[],
  map: ColumnMap | undefined,
  keys: readonly string[],
): ColumnsResult {
  const names = header.map((name) => name.replace(/^\uFEFF/, '').trim());
  if (names.length > COLUMNS_MAX) {
    return { ok: false, fault: `the header has ${names.length} columns; at most ${COLUMNS_MAX} are possible` };
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
    finder.fault = `no column holds addresses: call one "email" or name it in column_map; there are ${listed(names)}`;
  }
  if (finder.fault !== undefined) return { ok: false, fault: finder.fault };
  return { ok: true, columns, ignored: ignoredOf(names, columns) };
}

function ignoredOf(names: readonly string[], columns: Columns): IgnoredColumn[] {
  const { properties, lists, ...own } = columns;
  const taken = new Set([...OWN_FIELDS.map((field) => own[field]), ...Object.values({ ...properties, ...lists })]);
  return names.flatMap((name, at) =>
    taken.has(at) ? [] : [{ column: at + 1, name: name === '' ? null : name.slice(0, NAME_KEPT) }],
  );
}

/** The id lists whose names no property has: a property of that name, from before exports had the lists, keeps the column. */
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
      this.fault ??= `${where} names the column ${shown(name)}, which the header does not have; there are ${listed(this.#names)}`;
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

  /** Two columns of one name: which is meant cannot be known. */
  #only([first = -1, ...more]: readonly number[], name: string): number {
    if (more.length > 0) this.fault ??= `the header has two columns called ${shown(name)}; rename one of them`;
    return first;
  }
}

const shown = (name: string): string => JSON.stringify(name.slice(0, CELL_SHOWN));
const listed = (names: readonly string[]): string =>
  names.slice(0, 10).map(shown).join(', ') + (names.length > 10 ? ` and ${names.length - 10} more` : '');
