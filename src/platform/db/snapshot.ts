import Sqlite from 'better-sqlite3';
import { syncFile } from './sqlite-file.ts';
import type { Db, Executor } from './db.ts';
import { withoutTimeouts } from './pg-session.ts';
import { PgServers, ServerClient } from './pg-servers.ts';
import { createPgInsert, createPgStatements } from './pg-statements.ts';

/** Writes what is committed now into a new SQLite file, synced, while others go on writing to this database. */
export async function writeSnapshot(db: Db, file: string): Promise<void> {
  await db.withKnex((knex) => knex.raw('vacuum into ?', [file]));
  await syncFile(file);
}

interface SealedText {
  id: string;
  sealed: string;
}

/**
 * A file that `writeSnapshot` created, opened without changing it: no log is created next to it, and nothing is
 * migrated.
 */
export interface Snapshot {
  /** Returns the faults that SQLite finds in pages and indexes; empty if there are none. */
  integrityFaults(): string[];
  rowCounts(): Record<string, number>;
  lastMigration(): string | undefined;
  /** Returns nothing if its schema does not have the column yet. */
  sealedTexts(place: { table: string; column: string }): Iterable<SealedText>;
  setting(name: string): string | undefined;
  /** Returns the rows of a table with these columns; nothing if its schema does not have all of them yet. */
  readRows(table: string, columns: readonly string[]): Iterable<Record<string, string | null>>;
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
    readRows: (table, columns) =>
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

/** The state committed now, for as long as it is open: `pg_dump --snapshot` copies the same state. */
export interface PgSnapshot extends Executor {
  id: string;
  /** For example `17.2 (Debian 17.2-1)`, and its first number. */
  version: string;
  major: number;
  /** The schema that contains our tables. */
  namespace: string;
  /** The URL of the server that has the snapshot. */
  url: string;
  close(): Promise<void>;
}

/** Another process holds the exclusive lock. */
export class SnapshotInUse extends Error {
  override readonly name = 'SnapshotInUse';
}

/** Key of our advisory lock on a database; any number that no other program uses. */
const LOCK = 7_264_015_551;
/** Imported on demand, so that a start on SQLite does not load it. */
const library = () => import('./pg-db.ts');

const CONNECT_MS_MAX = 10_000;

/**
 * Opens a snapshot on a separate connection, because counting large tables takes longer than a statement of the server
 * may. With `isAlone` only one process at a time has one; the lock of a process that dies is released.
 */
export async function openPgSnapshot(url: string, { isAlone }: { isAlone: boolean }): Promise<PgSnapshot> {
  const { executorOn } = await library();
  const client = new ServerClient({
    servers: new PgServers(url),
    application_name: 'rasket backup',
    connectionTimeoutMillis: CONNECT_MS_MAX,
  });
  // A connection that is lost fails the statements on it.
  client.on('error', ignore);
  await client.connect();
  try {
    // The transaction waits for a dump and for copying files, so it has no time limits. In one message, because the
    // time limit of a transaction starts at its beginning.
    await client.query(`begin isolation level repeatable read read only; ${withoutTimeouts({ inTransaction: true })}`);
    const executor = executorOn(client, { statements: createPgStatements(), insert: createPgInsert() }, ignore);
    if (isAlone) await mustBeAlone(executor);
    const facts = await executor.get<{ id: string; version: string; number: string; namespace: string }>(
      `select pg_export_snapshot() as id, current_setting('server_version') as version,
          current_setting('server_version_num') as number, current_schema() as namespace from (select 1) as one`,
    );
    if (!facts) throw new Error('no row was returned for the snapshot facts');
    const { id, version, namespace } = facts;
    const major = Math.floor(Number(facts.number) / 10_000);
    return { ...executor, id, version, major, namespace, url: client.url, close: () => client.end() };
  } catch (error) {
    await client.end().catch(ignore);
    throw error;
  }
}

async function mustBeAlone(executor: Executor): Promise<void> {
  const row = await executor.get<{ taken: number }>(
    'select pg_try_advisory_xact_lock(?)::int as taken from (select 1) as one',
    [LOCK],
  );
  if (row?.taken !== 1) throw new SnapshotInUse('another node makes one at this moment');
}

type PartOfUrl = 'host' | 'port' | 'user' | 'database' | 'password';

/** Returns the parts of a database URL in the form that PostgreSQL's own programs need, except for TLS. */
export async function partsOfPgUrl(url: string): Promise<Record<PartOfUrl, string>> {
  const { pgClient } = await library();
  const servers = new PgServers(url);
  const {
    host,
    port,
    user = '',
    database = '',
    password,
  } = pgClient({
    connectionString: servers.buildUrl(await servers.find()),
  });
  return { host, port: String(port), user, database, password: password ?? '' };
}

function ignore(): void {}
