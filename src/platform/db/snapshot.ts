import Sqlite from 'better-sqlite3';
import { syncFile } from './held-files.ts';
import type { Db } from './types.ts';

/** Writes what is committed now into a new SQLite file, synced, while others go on writing to this one. */
export async function writeSnapshot(db: Db, file: string): Promise<void> {
  await db.withKnex((knex) => knex.raw('vacuum into ?', [file]));
  await syncFile(file);
}

export interface SealedText {
  id: string;
  sealed: string;
}

/** A file that `writeSnapshot` made, read without a change to it: no log is begun beside it, and nothing is migrated. */
export interface Snapshot {
  /** What SQLite says is wrong with the pages and indexes; nothing where all is well. */
  integrityFaults(): string[];
  rowCounts(): Record<string, number>;
  lastMigration(): string | undefined;
  /** Nothing where its schema has no such column yet. */
  sealedTexts(place: { table: string; column: string }): Iterable<SealedText>;
  setting(name: string): string | undefined;
  /** Returns the rows of a table with these columns; nothing if its schema does not have all of them yet. */
  rowsOf(table: string, columns: readonly string[]): Iterable<Record<string, string | null>>;
  close(): void;
}

const FAULTS_MAX = 10;

export function openSnapshot(file: string): Snapshot {
  const db = new Sqlite(file, { readonly: true, fileMustExist: true });
  const tables = (): string[] =>
    db
      .prepare<[], string>(
        "select name from sqlite_master where type = 'table' and name not like 'sqlite_%' order by name",
      )
      .pluck()
      .all();
  const hasColumn = (table: string, column: string): boolean =>
    db.prepare('select 1 from pragma_table_info(?) where name = ?').get(table, column) !== undefined;
  return {
    integrityFaults() {
      const lines = db.pragma(`integrity_check(${FAULTS_MAX})`) as { integrity_check: string }[];
      return lines.map((line) => line.integrity_check).filter((says) => says !== 'ok');
    },
    rowCounts: () =>
      Object.fromEntries(
        tables().map((table) => [table, db.prepare<[], number>(`select count(*) from "${table}"`).pluck().get() ?? 0]),
      ),
    lastMigration: () =>
      hasColumn('schema_migrations', 'name')
        ? db.prepare<[], string>('select max(name) from schema_migrations').pluck().get()
        : undefined,
    sealedTexts: ({ table, column }) =>
      hasColumn(table, column)
        ? db
            .prepare<[], SealedText>(`select id, "${column}" as sealed from "${table}" where "${column}" is not null`)
            .iterate()
        : [],
    setting: (name) =>
      hasColumn('instance_settings', 'value')
        ? db.prepare<[string], string>('select value from instance_settings where name = ?').pluck().get(name)
        : undefined,
    rowsOf: (table, columns) =>
      columns.every((column) => hasColumn(table, column))
        ? db
            .prepare<[], Record<string, string | null>>(
              `select ${columns.map((column) => `"${column}"`).join(', ')} from "${table}"`,
            )
            .iterate()
        : [],
    close: () => void db.close(),
  };
}
