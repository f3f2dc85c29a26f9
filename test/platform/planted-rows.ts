import { randomUUID } from 'node:crypto';
import type { Db, Row, Value } from '../../src/platform/db/index.ts';

export interface Column {
  table: string;
  name: string;
  type: string;
  /** The table and column that its values have to stand in. */
  refers: string | undefined;
}

/** A row as it was written, in the schema of its time. */
export interface Planted {
  table: string;
  since: string;
  row: Row;
}

/** Made by SQLite for its search, or ours for counting migrations. */
const APART = /^(sqlite_|schema_migrations|\w+_grams)/;

const COLUMNS = {
  pg: `select c.relname as "table", a.attname as name, format_type(a.atttypid, null) as type
      from pg_class c join pg_attribute a on a.attrelid = c.oid
      where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace and a.attnum > 0 and not a.attisdropped
        and a.attgenerated = '' and a.attidentity = ''
      order by c.oid, a.attnum`,
  sqlite: `select m.name as "table", c.name as name, lower(c.type) as type
      from sqlite_master m join pragma_table_info(m.name) c where m.type = 'table' order by m.rowid, c.cid`,
};
const REFERENCES = {
  pg: `select c.relname || '.' || a.attname as column, f.relname || '.' || fa.attname as refers
      from pg_constraint k join pg_class c on c.oid = k.conrelid join pg_class f on f.oid = k.confrelid
        join pg_attribute a on a.attrelid = c.oid and a.attnum = k.conkey[1]
        join pg_attribute fa on fa.attrelid = f.oid and fa.attnum = k.confkey[1]
      where k.contype = 'f'`,
  sqlite: `select m.name || '.' || f."from" as column, f."table" || '.' || f."to" as refers
      from sqlite_master m join pragma_foreign_key_list(m.name) f where m.type = 'table'`,
};

export async function columnsIn(db: Db): Promise<Column[]> {
  const references = await db.all<{ column: string; refers: string }>(REFERENCES[db.dialect]);
  const refersTo = new Map(references.map(({ column, refers }) => [column, refers]));
  const columns = await db.all<Omit<Column, 'refers'>>(COLUMNS[db.dialect]);
  return columns
    .filter(({ table }) => !APART.test(table))
    .map((column) => ({ ...column, refers: refersTo.get(`${column.table}.${column.name}`) }));
}

/** Returns for each table one line that changes with its columns. */
export const listShapes = (columns: readonly Column[]): Map<string, string> =>
  new Map(
    [...Map.groupBy(columns, ({ table }) => table)].map(([table, own]) => [
      table,
      own.map(({ name, type }) => `${name} ${type}`).join(', '),
    ]),
  );

let planted = 0;

/** Writes one row with a value in every column, and answers it as it is read again. */
export async function plantRow(
  db: Db,
  {
    table,
    columns,
    since,
    before,
  }: { table: string; columns: readonly Column[]; since: string; before: readonly Planted[] },
): Promise<Planted> {
  planted++;
  const own = columns.filter((column) => column.table === table);
  const values = own.map((column) => valueFor(column, before));
  await db.insertMany(
    table,
    own.map(({ name }) => `"${name}"`),
    [values],
  );
  const row = await findRow(db, {
    table,
    row: Object.fromEntries(own.map(({ name }, n) => [name, values[n] ?? null])),
  });
  if (!row) throw new Error(`the row of ${table} was not found again`);
  return { table, since, row };
}

function valueFor({ table, name, type, refers }: Column, before: readonly Planted[]): Value {
  if (refers !== undefined) {
    const [other, column = ''] = refers.split('.');
    const parent = before.findLast((one) => one.table === other);
    if (!parent) throw new Error(`${table}.${name} refers to ${refers}, which has no row yet`);
    return parent.row[column] ?? null;
  }
  if (type.endsWith('[]')) return `{${1000 + planted}}`;
  if (type === 'jsonb') return JSON.stringify({ planted });
  if (type === 'uuid') return randomUUID();
  if (/bytea|blob/.test(type)) return Buffer.from(`${table} ${planted}`);
  if (/int|numeric|double|real|float/.test(type)) return 1000 + planted;
  if (/text|char/.test(type)) return isId(name) ? randomUUID() : JSON.stringify(`${table} ${name} ${planted}`);
  throw new Error(`${table}.${name} is of the type ${type}, for which there is no value here`);
}

/** Ids are texts on SQLite. */
const isId = (name: string): boolean => /(^|_)id$/.test(name);

/** Finds a row by all its texts and ids, but for columns that are gone or written anew since; by its numbers when it has none. */
export async function findRow(
  db: Db,
  { table, row }: Pick<Planted, 'table' | 'row'>,
  isKept: (column: string) => boolean = () => true,
): Promise<Row | undefined> {
  const kept = Object.entries(row).filter(([name]) => isKept(name));
  const texts = kept.filter(([, value]) => typeof value === 'string' && !/^\d+$/.test(value));
  const keys = texts.length > 0 ? texts : kept.filter(([, value]) => !Buffer.isBuffer(value));
  const where = keys.map(([name]) => `"${name}" = ?`).join(' and ');
  return db.get<Row>(
    // Columns are selected by name: a prepared statement must not answer other columns after the next migration.
    `select ${kept.map(([name]) => `"${name}"`).join(', ')} from "${table}" where ${where}`,
    keys.map(([, value]) => value),
  );
}
