import { createHash } from 'node:crypto';
import type { Db, Executor, Row, Value, Dialect } from './db.ts';

/** PostgreSQL cannot store NUL in a text; STAND_IN replaces it there. */
const NUL = '\0';
const STAND_IN = '\uFFFD';

interface FittedRow {
  row: Row;
  /** A character that the target cannot store was replaced. */
  isChanged: boolean;
}

/**
 * Converts a row so that both databases can store it: it replaces characters that only one of them accepts, and
 * normalizes JSON.
 */
function fitRow(row: Row, table: CopiedTable, into: Dialect): FittedRow {
  const fitted: Row = {};
  let isChanged = false;
  for (const { name, kind } of table.columns) {
    const value = row[name] ?? null;
    if (typeof value === 'string') {
      const text = kind === 'json' ? jsonFor(value, into) : { text: textFor(value, into), isChanged: false };
      fitted[name] = text.text;
      isChanged ||= text.isChanged || (kind !== 'json' && text.text !== value);
    } else fitted[name] = value;
  }
  return { row: fitted, isChanged };
}

const textFor = (text: string, into: Dialect): string =>
  into === 'pg' && text.includes(NUL) ? text.replaceAll(NUL, STAND_IN) : text;

/**
 * Sorts fields by name, because `jsonb` has an order of its own. For PostgreSQL it also replaces NUL and lone
 * surrogates, which `jsonb` rejects.
 */
function jsonFor(text: string, into: Dialect): { text: string; isChanged: boolean } {
  let isChanged = false;
  const clean = (part: string): string => {
    if (into !== 'pg') return part;
    const fit = textFor(part, into).toWellFormed();
    isChanged ||= fit !== part;
    return fit;
  };
  return { text: JSON.stringify(ordered(JSON.parse(text), clean)), isChanged };
}

function ordered(value: unknown, clean: (text: string) => string): unknown {
  if (typeof value === 'string') return clean(value);
  if (Array.isArray(value)) return value.map((one) => ordered(one, clean));
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).map(([name, one]): [string, unknown] => [clean(name), ordered(one, clean)]);
  return Object.fromEntries(fields.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
}

/** Serializes the values of a row; two rows have the same text if and only if every value is equal. */
const rowText = (row: Row, table: CopiedTable): string =>
  JSON.stringify(table.columns.map(({ name }) => comparable(row[name] ?? null)));

const comparable = (value: Value): unknown =>
  Buffer.isBuffer(value) ? { bytes: value.length, sha256: createHash('sha256').update(value).digest('hex') } : value;

/** Lists the columns in which two rows differ. */
const differing = (a: Row, b: Row, table: CopiedTable): string[] =>
  table.columns
    .map(({ name }) => name)
    .filter((name) => JSON.stringify(comparable(a[name] ?? null)) !== JSON.stringify(comparable(b[name] ?? null)));

/** Estimates the memory that a row takes. */
function rowBytes(row: Row): number {
  let bytes = 0;
  for (const value of Object.values(row))
    bytes += typeof value === 'string' || Buffer.isBuffer(value) ? 16 + value.length : 16;
  return bytes;
}

/** Identifies a row by its key in a message to people. */
const keyText = (row: Row, table: CopiedTable): string =>
  table.key.map((name) => `${name} ${String(row[name])}`).join(', ');

/** The target rejects a row, or has it with other values than the source. */
export class RowFault extends Error {
  override readonly name = 'RowFault';
}

export interface CopyWatch {
  /** Called with the number of further rows done, and their size. */
  done(table: string, rows: number, bytes: number): void;
  /** Called for a row in which a character was replaced that the target cannot store. */
  replaced(table: string, key: string): void;
}

/** Approximate memory for one page: the size of the last page determines the number of rows in the next. */
const PAGE_BYTES = 2 * 1024 * 1024;
const ROWS_FIRST = 20;
const ROWS_MAX = 250;

const quoted = (name: string): string => `"${name}"`;

/** Select `jsonb` as text, because pg would parse it into an object. */
const selected = ({ columns }: CopiedTable, { dialect }: Executor): string =>
  columns
    .map(({ name, kind }) => (kind === 'json' && dialect === 'pg' ? `"${name}"::text as "${name}"` : quoted(name)))
    .join(', ');

/** Yields the rows of a table in the order of its key. */
async function* readPages(from: Executor, table: CopiedTable): AsyncGenerator<Row[]> {
  const key = table.key.map(quoted).join(', ');
  const sql = `select ${selected(table, from)} from ${quoted(table.name)}`;
  const beyond = `where (${key}) > (${table.key.map(() => '?').join(', ')})`;
  let last: Row | undefined;
  let limit = ROWS_FIRST;
  for (;;) {
    const values: Value[] = last === undefined ? [] : table.key.map((name) => last?.[name] ?? null);
    const page = await from.all(`${sql} ${last ? beyond : ''} order by ${key} limit ?`, [...values, limit]);
    last = page.at(-1);
    if (last === undefined) return;
    yield page;
    if (page.length < limit) return;
    const bytes = page.reduce((sum, row) => sum + rowBytes(row), 0);
    const fitting = Math.floor(PAGE_BYTES / (bytes / page.length));
    limit = Math.max(1, Math.min(fitting, 2 * limit, ROWS_MAX));
  }
}

export const countRows = async (db: Executor, table: string): Promise<number> =>
  (await db.get<{ n: number }>(`select count(*) as n from ${quoted(table)}`))?.n ?? 0;

/** Copies all rows of a table into an empty one. A page is one transaction, which does not wait for the disk. */
export async function copyTable(from: Executor, into: Db, table: CopiedTable, watch: CopyWatch): Promise<void> {
  for await (const page of readPages(from, table)) {
    const rows = page.map((row) => {
      const fitted = fitOrThrow(row, table, into);
      if (fitted.isChanged) watch.replaced(table.name, keyText(row, table));
      return fitted.row;
    });
    await insert(into, table, rows);
    watch.done(
      table.name,
      page.length,
      page.reduce((sum, row) => sum + rowBytes(row), 0),
    );
  }
}

function fitOrThrow(row: Row, table: CopiedTable, into: Executor): ReturnType<typeof fitRow> {
  try {
    return fitRow(row, table, into.dialect);
  } catch (error) {
    throw toRowFault(row, table, error);
  }
}

async function insert(into: Db, table: CopiedTable, rows: readonly Row[]): Promise<void> {
  const columns = table.columns.map(({ name }) => name);
  const write = (some: readonly Row[]): Promise<number> =>
    into.txUnsynced((tx) =>
      tx.insertMany(
        table.name,
        columns,
        some.map((row) => columns.map((name) => row[name] ?? null)),
      ),
    );
  try {
    await write(rows);
  } catch (error) {
    if (isOfTheWorld(error)) throw error;
    // Insert the rows one by one to find the one that fails.
    for (const row of rows) await write([row]).catch((cause: unknown) => Promise.reject(toRowFault(row, table, cause)));
    throw error;
  }
}

/**
 * Only errors about a value or a constraint are a row's fault: classes 22 and 23 of PostgreSQL, constraints and types
 * of SQLite.
 */
const isOfTheWorld = (error: unknown): boolean =>
  !/^(22|23|SQLITE_CONSTRAINT|SQLITE_MISMATCH)/.test(String((error as { code?: unknown }).code ?? ''));

function toRowFault(row: Row, table: CopiedTable, cause: unknown): Error {
  const because = cause instanceof Error ? cause.message : String(cause);
  return new RowFault(`the row of ${table.name} with ${keyText(row, table)} cannot be copied: ${because}`, { cause });
}

export interface TableCheck {
  rows: number;
  /** Hash of the rows' texts in the order of the source's key; equal on both sides if every row is. */
  hash: string;
}

/**
 * Compares every row of the source with the row of the target that has its key, and checks that the target has no
 * others.
 */
export async function verifyTable(
  from: Executor,
  into: Executor,
  table: CopiedTable,
  watch: Pick<CopyWatch, 'done'>,
): Promise<TableCheck> {
  const hashes = [createHash('sha256'), createHash('sha256')] as const;
  let rows = 0;
  for await (const page of readPages(from, table)) {
    const found = new Map((await rowsByKeys(into, table, page)).map((row) => [keyText(row, table), row]));
    for (const read of page) {
      const expected = fitRow(read, table, into.dialect).row;
      const copy = found.get(keyText(expected, table));
      if (!copy) throw new RowFault(`the row of ${table.name} with ${keyText(expected, table)} is missing in the copy`);
      const row = fitRow(copy, table, into.dialect).row;
      const texts = [rowText(expected, table), rowText(row, table)];
      if (texts[0] !== texts[1]) throw notTheSame(expected, row, table);
      for (const [i, hash] of hashes.entries()) hash.update(`${texts[i]}\n`);
    }
    rows += page.length;
    watch.done(table.name, page.length, 0);
  }
  const copies = await countRows(into, table.name);
  if (copies !== rows) throw new RowFault(`${table.name} has ${rows} rows in the source and ${copies} in the copy`);
  const [hash, ofCopy] = hashes.map((one) => one.digest('hex'));
  if (hash === undefined || hash !== ofCopy)
    throw new RowFault(`the rows of ${table.name} have another hash in the copy`);
  return { rows, hash };
}

const notTheSame = (expected: Row, found: Row, table: CopiedTable): RowFault =>
  new RowFault(
    `the row of ${table.name} with ${keyText(expected, table)} is another one in the copy: ${differing(expected, found, table).join(', ')} differ`,
  );

function rowsByKeys(db: Executor, table: CopiedTable, rows: readonly Row[]): Promise<Row[]> {
  const key = table.key.map(quoted).join(', ');
  const isOne = table.key.length === 1;
  const marks = isOne ? '?' : `(${table.key.map(() => '?').join(', ')})`;
  const list = rows.map(() => marks).join(', ');
  const among = isOne ? `${key} in (${list})` : `(${key}) in (${db.dialect === 'pg' ? list : `values ${list}`})`;
  const values = rows.flatMap((row) => {
    const { row: fitted } = fitRow(row, table, db.dialect);
    return table.key.map((name) => fitted[name] ?? null);
  });
  return db.all(`select ${selected(table, db)} from ${quoted(table.name)} where ${among}`, values);
}

/** Deletes all rows of these tables, in whatever order they refer to each other. */
export async function emptyTables(db: Db, tables: readonly string[]): Promise<void> {
  if (db.dialect === 'pg') {
    await db.run(`truncate ${tables.map(quoted).join(', ')}`);
    return;
  }
  await db.tx(async (tx) => {
    await tx.run('pragma defer_foreign_keys = on');
    for (const table of tables) await tx.run(`delete from ${table}`);
  });
}

/** The type of a column's values, independent of the database. */
type ColumnKind = 'text' | 'integer' | 'real' | 'bytes' | 'json' | 'unknown';

interface ColumnShape {
  name: string;
  kind: ColumnKind;
  /** The name of the type in its database. */
  type: string;
  /** The database itself sets the value: a counter, or computed from other columns. */
  isFilled: boolean;
}

export interface TableShape {
  name: string;
  columns: ColumnShape[];
  /** The columns of the primary key, in order. */
  key: string[];
  /** The tables that its foreign keys refer to. */
  parents: string[];
}

const KINDS: [RegExp, ColumnKind][] = [
  [/^(uuid|text|varchar|character varying)/, 'text'],
  [/^(bigint|integer|smallint)$/, 'integer'],
  [/^(double precision|real|float)$/, 'real'],
  [/^(bytea|blob)$/, 'bytes'],
  [/^jsonb$/, 'json'],
];

const detectKind = (type: string): ColumnKind => KINDS.find(([form]) => form.test(type))?.[1] ?? 'unknown';

interface ColumnRow {
  table: string;
  name: string;
  type: string;
  key: number;
  filled: number;
}

/** SQLite keeps a full-text index in additional tables (`shadow`), which only the index itself writes. */
const SQLITE = {
  columns: `select t.name as "table", c.name as name, lower(c.type) as type, c.pk as key,
        case when c.hidden <> 0 or (m.sql like '%autoincrement%' and c.pk = 1) then 1 else 0 end as filled
      from pragma_table_list t join sqlite_master m on m.name = t.name join pragma_table_xinfo(t.name) c
      where t.schema = 'main' and t.type in ('table', 'virtual') and t.name not like 'sqlite_%' order by t.name, c.cid`,
  parents: `select distinct m.name as child, f."table" as parent
      from sqlite_master m join pragma_foreign_key_list(m.name) f where m.type = 'table'`,
};
const PG = {
  columns: `select c.relname as "table", a.attname as name, format_type(a.atttypid, null) as type,
        coalesce(array_position(i.indkey::int[], a.attnum::int) + 1, 0) as key,
        case when a.attidentity <> '' or a.attgenerated <> '' or pg_get_expr(d.adbin, d.adrelid) like 'nextval(%' then 1 else 0 end as filled
      from pg_class c join pg_attribute a on a.attrelid = c.oid
        left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
        left join pg_index i on i.indrelid = c.oid and i.indisprimary
      where c.relkind in ('r', 'p') and c.relnamespace = current_schema()::regnamespace and a.attnum > 0 and not a.attisdropped
      order by c.relname, a.attnum`,
  parents: `select distinct c.relname as child, f.relname as parent
      from pg_constraint k join pg_class c on c.oid = k.conrelid join pg_class f on f.oid = k.confrelid
      where k.contype = 'f' and c.relnamespace = current_schema()::regnamespace`,
};

/** Lists every table except those of the database itself, ordered by name. */
export async function tableShapes(db: Executor): Promise<TableShape[]> {
  const sql = db.dialect === 'pg' ? PG : SQLITE;
  const rows = await db.all<ColumnRow>(sql.columns);
  const links = await db.all<{ child: string; parent: string }>(sql.parents);
  return [...Map.groupBy(rows, (row) => row.table)].map(([name, own]) => ({
    name,
    columns: own.map((row) => ({
      name: row.name,
      type: row.type,
      kind: detectKind(row.type),
      isFilled: row.filled !== 0,
    })),
    key: own
      .filter(({ key }) => key > 0)
      .sort((a, b) => a.key - b.key)
      .map((row) => row.name),
    parents: links.filter(({ child, parent }) => child === name && parent !== name).map(({ parent }) => parent),
  }));
}

/** A table as it is copied from one database to another. */
export interface CopiedTable {
  name: string;
  columns: { name: string; kind: Exclude<ColumnKind, 'unknown'> }[];
  key: string[];
}

/** The two schemas do not match, so that rows cannot all be copied: a bug, or a database that somebody changed. */
export class UnknownTable extends Error {
  override readonly name = 'UnknownTable';
}

/**
 * Plans what to copy, parents first: every table of both schemas. A table that is in only one of them, or that the
 * database fills in part, must be listed in `apart`; otherwise nothing is copied at all.
 */
export function planCopy(
  source: readonly TableShape[],
  target: readonly TableShape[],
  apart: Readonly<Record<string, string>>,
): CopiedTable[] {
  const into = new Map(target.map((table) => [table.name, table]));
  const from = new Map(source.map((table) => [table.name, table]));
  const names = [...new Set([...from.keys(), ...into.keys()])].filter((name) => !(name in apart));
  const faults = names.flatMap((name) => findShapeFaults(name, from.get(name), into.get(name)));
  if (faults.length > 0) throw new UnknownTable(`these tables cannot be copied: ${faults.join('; ')}`);
  const tables = names.map((name) => copied(from.get(name), into.get(name)));
  return parentsFirst(tables, new Map([...from].map(([name, { parents }]) => [name, parents])));
}

function findShapeFaults(name: string, from: TableShape | undefined, into: TableShape | undefined): string[] {
  if (!from || !into) return [`${name} is in the ${from ? 'source' : 'target'} alone`];
  const faults: string[] = [];
  if (from.key.length === 0 || from.key.join() !== into.key.join())
    faults.push(
      `${name} has the key (${from.key.join(', ')}) in the source and (${into.key.join(', ')}) in the target`,
    );
  for (const column of new Set([...from.columns, ...into.columns].map((one) => one.name))) {
    const pair = [from, into].map(({ columns }) => columns.find((one) => one.name === column));
    const [a, b] = pair;
    if (!a || !b) faults.push(`${name}.${column} is in the ${a ? 'source' : 'target'} alone`);
    else if (a.isFilled || b.isFilled) faults.push(`${name}.${column} is filled by the database itself`);
    else if (pairedKind(a.kind, b.kind) === undefined) faults.push(`${name}.${column} is ${a.type} and ${b.type}`);
  }
  return faults;
}

/** Returns the common kind of two columns; JSON is text in a database without a type for it. */
function pairedKind(a: ColumnKind, b: ColumnKind): Exclude<ColumnKind, 'unknown'> | undefined {
  if (a === b) return a === 'unknown' ? undefined : a;
  return [a, b].sort().join() === 'json,text' ? 'json' : undefined;
}

function copied(from: TableShape | undefined, into: TableShape | undefined): CopiedTable {
  if (!from || !into) throw new UnknownTable('a table of both schemas is in each of them');
  const columns = from.columns.map(({ name, kind }) => {
    const other = into.columns.find((one) => one.name === name)?.kind ?? 'unknown';
    return { name, kind: pairedKind(kind, other) ?? 'text' };
  });
  return { name: from.name, columns, key: from.key };
}

function parentsFirst(tables: readonly CopiedTable[], parents: ReadonlyMap<string, string[]>): CopiedTable[] {
  const ordered = new Map<string, CopiedTable>();
  const place = (table: CopiedTable, above: readonly string[]): void => {
    if (ordered.has(table.name)) return;
    if (above.includes(table.name))
      throw new UnknownTable(`${table.name} refers to itself by way of ${above.join(', ')}`);
    for (const parent of parents.get(table.name) ?? []) {
      const found = tables.find(({ name }) => name === parent);
      if (found) place(found, [...above, table.name]);
    }
    ordered.set(table.name, table);
  };
  for (const table of tables) place(table, []);
  return [...ordered.values()];
}
