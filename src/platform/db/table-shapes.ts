import type { Executor } from './types.ts';

/** What the values of a column are, whichever database says it in its own words. */
export type ColumnKind = 'text' | 'integer' | 'real' | 'bytes' | 'json' | 'unknown';

export interface ColumnShape {
  name: string;
  kind: ColumnKind;
  /** In the words of its database. */
  type: string;
  /** The database itself gives it its value: counted up, or computed of other columns. */
  isFilled: boolean;
}

export interface TableShape {
  name: string;
  columns: ColumnShape[];
  /** The columns of the primary key, in its order. */
  key: string[];
  /** The tables that its foreign keys lead to. */
  parents: string[];
}

const KINDS: [RegExp, ColumnKind][] = [
  [/^(uuid|text|varchar|character varying)/, 'text'],
  [/^(bigint|integer|smallint)$/, 'integer'],
  [/^(double precision|real|float)$/, 'real'],
  [/^(bytea|blob)$/, 'bytes'],
  [/^jsonb$/, 'json'],
];

const kindOf = (type: string): ColumnKind => KINDS.find(([form]) => form.test(type))?.[1] ?? 'unknown';

interface ColumnRow {
  table: string;
  name: string;
  type: string;
  key: number;
  filled: number;
}

/** SQLite keeps a full-text index in tables beside it (`shadow`), which the index alone writes. */
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

/** Every table that somebody made, in the order of their names. */
export async function tableShapes(db: Executor): Promise<TableShape[]> {
  const sql = db.dialect === 'pg' ? PG : SQLITE;
  const rows = await db.all<ColumnRow>(sql.columns);
  const links = await db.all<{ child: string; parent: string }>(sql.parents);
  return [...Map.groupBy(rows, (row) => row.table)].map(([name, own]) => ({
    name,
    columns: own.map((row) => ({
      ...{ name: row.name, type: row.type, kind: kindOf(row.type), isFilled: row.filled !== 0 },
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

/** The two schemas are not ones between which every row can be copied; a defect of ours, or a database that somebody changed. */
export class UnknownTable extends Error {
  override readonly name = 'UnknownTable';
}

/**
 * What to copy, parents first: every table of both. One that is not in both, or that the database itself fills in part, has to be
 * `apart`, or nothing is copied at all.
 */
export function planCopy(
  source: readonly TableShape[],
  target: readonly TableShape[],
  apart: Readonly<Record<string, string>>,
): CopiedTable[] {
  const into = new Map(target.map((table) => [table.name, table]));
  const from = new Map(source.map((table) => [table.name, table]));
  const names = [...new Set([...from.keys(), ...into.keys()])].filter((name) => !(name in apart));
  const faults = names.flatMap((name) => faultsOf(name, from.get(name), into.get(name)));
  if (faults.length > 0) throw new UnknownTable(`these tables cannot be copied: ${faults.join('; ')}`);
  const tables = names.map((name) => copied(from.get(name), into.get(name)));
  return parentsFirst(tables, new Map([...from].map(([name, { parents }]) => [name, parents])));
}

function faultsOf(name: string, from: TableShape | undefined, into: TableShape | undefined): string[] {
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

/** What both call it; JSON is text where there is no type for it. */
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
