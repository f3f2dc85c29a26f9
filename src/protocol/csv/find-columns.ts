import type { PropertyType } from '../contact-filter/index.ts';
import { undefused } from './spreadsheet-cells.ts';

/** The caller's assignment of columns. A field that is null is not read from any column. */
export interface ColumnMap {
  email?: string | undefined;
  first_name?: string | null | undefined;
  last_name?: string | null | undefined;
  unsubscribed?: string | null | undefined;
  segment_ids?: string | null | undefined;
  opted_in_topic_ids?: string | null | undefined;
  opted_out_topic_ids?: string | null | undefined;
  properties?: Readonly<Record<string, { column: string; type?: PropertyType | undefined } | null>> | undefined;
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

/** Columns that the file of failed rows has after those of its import. They are never imported. */
export const FAILURE_COLUMNS = ['rasket_row', 'rasket_reason'] as const;

/** A header column that is not imported; numbered from 1. */
export interface IgnoredColumn {
  column: number;
  /** Null if the header has no name for it. */
  name: string | null;
}

/** A header column that is imported; numbered from 1. */
export interface ImportedColumn extends IgnoredColumn {
  /** What it is imported as: a field, an id list, or `properties.` and a key. */
  field: string;
  /** True if the caller named it, false if its name was recognized. */
  isNamed: boolean;
}

export type ColumnsResult =
  | { ok: true; columns: Columns; imported: ImportedColumn[]; ignored: IgnoredColumn[] }
  | { ok: false; fault: string };

type OwnField = 'email' | 'first_name' | 'last_name' | 'unsubscribed';

/**
 * Recognized column names, compared without letter case, accents, spaces and punctuation: first the English ones, then
 * those of German, French, Spanish, Italian, Portuguese, Dutch, Polish, Swedish and Japanese. A name that often means
 * something else, such as a full name, is not recognized.
 */
const OBVIOUS: Record<OwnField, readonly string[]> = {
  email: [
    ...['email', 'emailaddress', 'mail', 'address', 'emails', 'mailaddress'],
    ...['E-Mail-Adresse', 'Mailadresse'],
    ...['adresse e-mail', 'adresse email', 'courriel', 'adresse courriel', 'adresse mail', 'adresse électronique'],
    ...['correo', 'correo electrónico', 'dirección de correo', 'dirección de correo electrónico'],
    ...['indirizzo e-mail', 'posta elettronica', 'indirizzo di posta elettronica'],
    ...['endereço de e-mail', 'correio eletrónico', 'correio eletrônico'],
    ...['e-mailadres', 'mailadres'],
    ...['adres e-mail', 'adres email', 'poczta elektroniczna'],
    ...['e-postadress', 'e-post', 'epostadress', 'mejladress', 'mejl'],
    ...['メール', 'メールアドレス', 'Eメール', '電子メール', 'Eメールアドレス'],
  ],
  first_name: [
    ...['firstname', 'givenname', 'forename', 'fname'],
    ...['Vorname'],
    ...['prénom'],
    ...['nombre', 'nombre de pila', 'primer nombre'],
    ...['nome', 'nome di battesimo', 'primeiro nome', 'nome próprio'],
    ...['voornaam'],
    ...['imię'],
    ...['förnamn'],
    ...['名', 'ファーストネーム'],
  ],
  last_name: [
    ...['lastname', 'surname', 'familyname', 'lname'],
    ...['Nachname', 'Familienname', 'Zuname'],
    ...['nom', 'nom de famille'],
    ...['apellido', 'apellidos', 'primer apellido'],
    ...['cognome'],
    ...['sobrenome', 'apelido', 'último nome'],
    ...['achternaam', 'familienaam'],
    ...['nazwisko'],
    ...['efternamn'],
    ...['姓', '苗字', '名字', 'ラストネーム'],
  ],
  unsubscribed: [
    ...['unsubscribed', 'optedout', 'optout'],
    ...['abgemeldet', 'Newsletter abgemeldet'],
    ...['désabonné', 'désinscrit'],
    ...['dado de baja', 'suscripción cancelada'],
    ...['disiscritto', 'iscrizione annullata'],
    ...['descadastrado', 'inscrição cancelada', 'subscrição cancelada'],
    ...['uitgeschreven', 'afgemeld'],
    ...['wypisany', 'wypisano'],
    ...['avregistrerad', 'avprenumererad'],
    ...['配信停止', '購読解除'],
  ],
};
const OWN_FIELDS = Object.keys(OBVIOUS) as OwnField[];

/** Names of columns for well-known properties, which are recognized if the team has declared the property. */
const OBVIOUS_PROPERTIES: Readonly<Record<string, readonly string[]>> = {
  timezone: [
    ...['timezone', 'tz'],
    ...['Zeitzone'],
    ...['fuseau horaire'],
    ...['zona horaria', 'huso horario'],
    ...['fuso orario'],
    ...['fuso horário'],
    ...['tijdzone'],
    ...['strefa czasowa'],
    ...['tidszon'],
    ...['タイムゾーン', '時間帯'],
  ],
  created_at: [
    ...['created', 'createdat', 'createdon', 'creation date', 'date created', 'signed up at', 'signup date'],
    ...['Erstellt', 'Erstellt am', 'Angelegt am', 'Anmeldedatum'],
    ...['créé le', 'date de création', "date d'inscription"],
    ...['creado', 'creado el', 'fecha de creación', 'fecha de alta'],
    ...['creato il', 'data di creazione', 'data di iscrizione'],
    ...['criado em', 'data de criação', 'data de inscrição'],
    ...['aangemaakt', 'aangemaakt op', 'aanmaakdatum'],
    ...['utworzono', 'data utworzenia', 'data rejestracji'],
    ...['skapad', 'skapad den', 'skapat datum'],
    ...['作成日', '作成日時', '登録日', '登録日時'],
  ],
};

const COLUMNS_MAX = 1000;
const CELL_SHOWN = 60;
const NAME_KEPT = 200;

/** Returns a name without letter case, accents, spaces and punctuation. */
const plain = (name: string): string =>
  name
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, '');

const listPlain = <Name extends string>(names: Readonly<Record<Name, readonly string[]>>): Map<Name, string[]> =>
  new Map(Object.entries<readonly string[]>(names).map(([field, all]) => [field as Name, all.map(plain)]));
const OBVIOUS_NAMES = listPlain(OBVIOUS);
const OBVIOUS_PROPERTY_NAMES = listPlain(OBVIOUS_PROPERTIES);

/** Returns the key of the well-known property that a column of this name is for; undefined if there is none. */
export const findObviousProperty = (name: string): string | undefined =>
  [...OBVIOUS_PROPERTY_NAMES].find(([, names]) => names.includes(plain(name)))?.[0];

/**
 * Finds the columns in a header: those that the map names, and among the others those with recognized names and with the
 * keys of declared properties. Id lists are recognized only without a map.
 */
export function findColumns(
  header: readonly string[],
  map: ColumnMap | undefined,
  keys: readonly string[],
): ColumnsResult {
  const names = header.map((name) => undefused(name.replace(/^\uFEFF/, '').trim()));
  if (names.length > COLUMNS_MAX) {
    return { ok: false, fault: `the header has ${names.length} columns; at most ${COLUMNS_MAX} are allowed` };
  }
  const finder = new ColumnFinder(names, map);
  const columns: Columns = { email: -1, properties: finder.mapped(), width: names.length };
  const lists = finder.mappedLists();
  for (const field of OWN_FIELDS) {
    const at = field === 'email' ? finder.email() : finder.own(field);
    if (at >= 0) columns[field] = at;
  }
  columns.properties = { ...columns.properties, ...finder.obviousProperties(keys), ...finder.declared(keys) };
  columns.lists = map ? lists : finder.declared(unclaimedIdLists(keys));
  columns.isExport = !map && [...OWN_COLUMNS, ...unclaimedIdLists(keys)].every((name, at) => names[at] === name);
  if (finder.fault === undefined && columns.email < 0) {
    finder.fault = `no column has email addresses; name one "email" or set it in column_map; the columns are ${listed(names)}`;
  }
  if (finder.fault !== undefined) return { ok: false, fault: finder.fault };
  return { ok: true, columns, ...describeColumns(names, columns, finder) };
}

function describeColumns(
  names: readonly string[],
  { email, first_name, last_name, unsubscribed, properties, lists }: Columns,
  finder: ColumnFinder,
): { imported: ImportedColumn[]; ignored: IgnoredColumn[] } {
  const own = { email, first_name, last_name, unsubscribed, ...lists };
  const fields = [
    ...Object.entries(own),
    ...Object.entries(properties).map(([key, at]) => [`properties.${key}`, at] as const),
  ];
  const nameAt = (at: number): string | null => names[at]?.slice(0, NAME_KEPT) || null;
  const imported = fields.flatMap(([field, at]) =>
    at === undefined || at < 0 ? [] : [{ column: at + 1, name: nameAt(at), field, isNamed: finder.isNamed(at) }],
  );
  const taken = new Set(imported.map(({ column }) => column));
  const ignored = names.flatMap((name, at) =>
    taken.has(at + 1) || isOfFailures(name) ? [] : [{ column: at + 1, name: nameAt(at) }],
  );
  return { imported: imported.toSorted((a, b) => a.column - b.column), ignored };
}

/** Returns whether a column is one that the file of failed rows has after those of its import. */
export const isOfFailures = (name: string): boolean => FAILURE_COLUMNS.some((own) => own === name);

/**
 * Returns the id lists whose names no property uses. A property of that name, created before exports had the lists,
 * keeps the column.
 */
export const unclaimedIdLists = (keys: readonly string[]): readonly IdList[] =>
  ID_LISTS.filter((list) => !keys.some((key) => key.toLowerCase() === list));

class ColumnFinder {
  fault: string | undefined;
  readonly #names: readonly string[];
  readonly #map: ColumnMap | undefined;
  /** Positions of columns that the map names. */
  readonly #named = new Set<number>();

  constructor(names: readonly string[], map: ColumnMap | undefined) {
    this.#names = names;
    this.#map = map;
    for (const field of OWN_FIELDS) this.#find(`column_map.${field}`, map?.[field]);
  }

  isNamed(at: number): boolean {
    return this.#named.has(at);
  }

  /** Returns the column of a field: the one that the map names, or else one whose name is recognized; -1 if there is none. */
  own(field: OwnField): number {
    const said = this.#map?.[field];
    if (said === null) return -1;
    if (said !== undefined) return this.#find(`column_map.${field}`, said);
    const exact = this.#free((other) => other.toLowerCase() === field);
    return exact.length > 0 ? this.#only(exact, field) : this.#obvious(OBVIOUS_NAMES.get(field) ?? []);
  }

  /**
   * Returns the column of addresses. A file without one cannot be imported, so it may be a column that the map names for
   * a property, and two columns are a fault.
   */
  email(): number {
    const found = this.own('email');
    if (found >= 0 || this.fault !== undefined) return found;
    for (const name of OBVIOUS_NAMES.get('email') ?? []) {
      const [first = -1, ...more] = this.#places((other) => plain(other) === name);
      if (more.length > 0) this.fault = describeTwo(this.#names[first] ?? '');
      if (first >= 0) return first;
    }
    return -1;
  }

  /** Returns the columns of the properties that the map names. */
  mapped(): Record<string, number> {
    return Object.fromEntries(
      Object.entries(this.#map?.properties ?? {}).flatMap(([key, given]) =>
        given === null ? [] : [[key, this.#find(`column_map.properties.${key}`, given.column)]],
      ),
    );
  }

  /** Returns the columns of the id lists that the map names. */
  mappedLists(): Partial<Record<IdList, number>> {
    const found: Partial<Record<IdList, number>> = {};
    for (const list of ID_LISTS) {
      const at = this.#find(`column_map.${list}`, this.#map?.[list]);
      if (at >= 0) found[list] = at;
    }
    return found;
  }

  /** Returns the columns that have the name of one of these keys, which the map does not mention. */
  declared(keys: readonly string[]): Record<string, number> {
    const found: Record<string, number> = {};
    for (const key of this.#unmapped(keys)) {
      const places = this.#free((other) => other.toLowerCase() === key.toLowerCase());
      const at = places.length > 0 ? this.#only(places, key) : -1;
      if (at >= 0) found[key] = at;
    }
    return found;
  }

  /** Returns the columns of the well-known properties among these keys, which have not been found by the key. */
  obviousProperties(keys: readonly string[]): Record<string, number> {
    const found: Record<string, number> = {};
    for (const key of this.#unmapped(keys)) {
      if (this.#free((name) => name.toLowerCase() === key.toLowerCase()).length > 0) continue;
      const at = this.#obvious(OBVIOUS_PROPERTY_NAMES.get(key.toLowerCase()) ?? []);
      if (at >= 0) found[key] = at;
    }
    return found;
  }

  #unmapped(keys: readonly string[]): readonly string[] {
    const mapped = new Set(Object.keys(this.#map?.properties ?? {}).map((key) => key.toLowerCase()));
    return keys.filter((key) => !mapped.has(key.toLowerCase()));
  }

  #find(where: string, name: string | null | undefined): number {
    if (name === undefined || name === null) return -1;
    const wanted = name.trim();
    const exact = this.#places((other) => other === wanted);
    const places = exact.length > 0 ? exact : this.#places((other) => other.toLowerCase() === wanted.toLowerCase());
    if (places.length === 0) {
      this.fault ??= `${where} names the column ${shown(name)}, which the header does not have; its columns are ${listed(this.#names)}`;
    }
    const [at = -1, ...more] = places;
    if (more.length > 0) this.fault ??= describeTwo(wanted);
    if (at >= 0) this.#named.add(at);
    return at;
  }

  /** Returns the column with the first of these plain names that the header has; -1 if it has none of them. */
  #obvious(names: readonly string[]): number {
    for (const name of names) {
      const places = this.#free((other) => plain(other) === name);
      if (places.length > 0) return this.#only(places, this.#names[places[0] ?? 0] ?? '');
    }
    return -1;
  }

  #places(matches: (name: string) => boolean): number[] {
    return this.#names.flatMap((name, at) => (matches(name) ? [at] : []));
  }

  /** Returns the places among the columns that the map does not name. */
  #free(matches: (name: string) => boolean): number[] {
    return this.#places((name) => !isOfFailures(name) && matches(name)).filter((at) => !this.#named.has(at));
  }

  /**
   * Returns the only place. Two columns with the same name are ambiguous: without a map that is a fault, and with one,
   * which may name what it needs, neither column is imported.
   */
  #only([first = -1, ...more]: readonly number[], name: string): number {
    if (more.length === 0) return first;
    if (!this.#map) this.fault ??= describeTwo(name);
    return -1;
  }
}

const describeTwo = (name: string): string => `the header has two columns called ${shown(name)}; rename one of them`;
const shown = (name: string): string => JSON.stringify(name.slice(0, CELL_SHOWN));
const listed = (names: readonly string[]): string =>
  names.slice(0, 10).map(shown).join(', ') + (names.length > 10 ? ` and ${names.length - 10} more` : '');
