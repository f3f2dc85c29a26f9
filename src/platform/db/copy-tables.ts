import { createHash } from 'node:crypto';
import { differing, fitRow, keyText, rowBytes, rowText } from './copied-values.ts';
import type { CopiedTable } from './table-shapes.ts';
import type { Db, Executor, Row, Value } from './types.ts';

/** A row that the target does not take, or does not have as the source has it. */
export class RowFault extends Error {
  override readonly name = 'RowFault';
}

export interface CopyWatch {
  /** Called with how many rows more were done, and what they took. */
  done(table: string, rows: number, bytes: number): void;
  /** A row of which a character was replaced that the target cannot store. */
  replaced(table: string, key: string): void;
}

/** So much is in memory at a time, about: the last page says how many rows the next may have. */
const PAGE_BYTES = 2 * 1024 * 1024;
const ROWS_FIRST = 20;
const ROWS_MAX = 250;

const quoted = (name: string): string => `"${name}"`;

/** `jsonb` comes as it was written: an object would be made of it otherwise. */
const selected = ({ columns }: CopiedTable, { dialect }: Executor): string =>
  columns
    .map(({ name, kind }) => (kind === 'json' && dialect === 'pg' ? `"${name}"::text as "${name}"` : quoted(name)))
    .join(', ');

/** The rows of a table in the order of its key. */
async function* pagesOf(from: Executor, table: CopiedTable): AsyncGenerator<Row[]> {
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

/** All rows of a table into one that has none. A page is one transaction, for which no disk is waited. */
export async function copyTable(from: Executor, into: Db, table: CopiedTable, watch: CopyWatch): Promise<void> {
  for await (const page of pagesOf(from, table)) {
    const rows = page.map((row) => {
      const fitted = fitOrSay(row, table, into);
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

function fitOrSay(row: Row, table: CopiedTable, into: Executor): ReturnType<typeof fitRow> {
  try {
    return fitRow(row, table, into.dialect);
  } catch (error) {
    throw faultOf(row, table, error);
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
    // One of them is at fault: it is named.
    for (const row of rows) await write([row]).catch((cause: unknown) => Promise.reject(faultOf(row, table, cause)));
    throw error;
  }
}

/** A value or a constraint: classes 22 and 23 of PostgreSQL, constraints and types of SQLite. Anything else is no row's fault. */
const isOfTheWorld = (error: unknown): boolean =>
  !/^(22|23|SQLITE_CONSTRAINT|SQLITE_MISMATCH)/.test(String((error as { code?: unknown }).code ?? ''));

function faultOf(row: Row, table: CopiedTable, cause: unknown): Error {
  const because = cause instanceof Error ? cause.message : String(cause);
  return new RowFault(`the row of ${table.name} with ${keyText(row, table)} cannot be copied: ${because}`, { cause });
}

export interface TableCheck {
  rows: number;
  /** Of the texts of its rows in the order of the source's key, the same on both sides where every row is. */
  hash: string;
}

/** Every row of the source, beside the one of the target that has its key; and that the target has no more. */
export async function verifyTable(
  from: Executor,
  into: Executor,
  table: CopiedTable,
  watch: Pick<CopyWatch, 'done'>,
): Promise<TableCheck> {
  const hashes = [createHash('sha256'), createHash('sha256')] as const;
  let rows = 0;
  for await (const page of pagesOf(from, table)) {
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

/** Takes every row out of these tables, in whatever order they refer to each other. */
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
