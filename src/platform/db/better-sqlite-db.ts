import Sqlite from 'better-sqlite3';
import type { Knex } from 'knex';
import type { DriverDb } from './faults.ts';
import type { Executor, Row, Value } from './db.ts';
import { BoundedMap, createSemaphore } from '../limits/index.ts';
import {
  createCommitListeners,
  WITHOUT_OTHERS,
  createTableVersions,
  memoOver,
  tableWrittenBy,
  writesRows,
} from './memo.ts';
import {
  holdFiles,
  createLockWait,
  NEW_FILE_PRAGMA,
  SQLITE_PRAGMAS,
  cutUnusedPages,
  firstNumber,
} from './sqlite-file.ts';

/**
 * Opens SQLite with the default embedded driver. Statements run in this thread on cached prepared statements: a knex
 * round trip costs more than the statement itself. Reads use the connection that writes, because any other one drops
 * its page cache whenever this one commits; only while a transaction is open do they use the second connection, which
 * sees what is committed. `onFault` gets errors that occur after the callers have their results.
 */
export function openBetterSqlite(file: string, onFault: (error: unknown) => void): DriverDb {
  const writer = connect(file);
  const reader = connect(file);
  // A wait inside SQLite blocks the whole process, so it is short: `untilUnlocked` continues to wait without blocking.
  for (const connection of [writer, reader]) connection.pragma(`busy_timeout = ${BUSY_MS_MAX}`);
  const files = holdFiles(file);
  const untilUnlocked = createLockWait();
  const versions = createTableVersions();
  const listeners = createCommitListeners();
  const touched = new Set<string>();
  const writing = executorOn(writer, ignore, (table) => void touched.add(table));
  const reads = createReadSpan(writer, { onOutsideChange: versions.changedOutside, onFault });
  const readingHere = executorOn(writer, reads.extend);
  const readingAside = executorOn(reader);
  const reading = (): Executor => (writer.inTransaction && !reads.isOpen() ? readingAside : readingHere);
  const begin = writer.prepare('begin immediate');
  const commit = writer.prepare('commit');
  const rollback = writer.prepare('rollback');

  /** The writer is one connection: transactions and single writes take turns on it. */
  const turns = createSemaphore(1);
  const write = <T>(work: (tx: Executor) => Promise<T>): Promise<T> => turns.run(() => transact(work));

  return {
    dialect: 'sqlite',
    memo: (tables, load) =>
      memoOver(() => {
        reads.extend();
        return versions.of(tables);
      }, load),
    onCommit: listeners.add,
    ...WITHOUT_OTHERS,
    cutUnusedPages: (pagesMax) => turns.run(() => untilUnlocked(() => cutPages(writer, reads, pagesMax))),
    lostFile: files.lost,
    abandonInto: (into) => files.abandonInto(into, (part) => turns.run(() => copyInto(writer, reads, part))),
    serverInUse: () => undefined,
    rivalServers: () => undefined,
    unsafeSettings: async () => [],
    withKnex: (work) => withKnexOn(file, work).finally(reads.end),
    all: (sql, values) => (writesRows(sql) ? write((tx) => tx.all(sql, values)) : reading().all(sql, values)),
    get: (sql, values) => (writesRows(sql) ? write((tx) => tx.get(sql, values)) : reading().get(sql, values)),
    run: (sql, values) => write((tx) => tx.run(sql, values)),
    runEach: (...statement) => write((tx) => tx.runEach(...statement)),
    insertMany: (...insert) => write((tx) => tx.insertMany(...insert)),
    tx: write,
    txUnsynced: (work) => turns.run(() => transactUnsynced(work)),
    async close() {
      await turns.run(() => undefined);
      reads.end();
      reader.close();
      writer.close();
      await files.closed();
    },
  };

  async function transact<T>(work: (tx: Executor) => Promise<T>): Promise<T> {
    files.mustNotBeAbandoned();
    touched.clear();
    await untilUnlocked(() => {
      // Reads go on while this waits, and end before each attempt.
      reads.end();
      begin.run();
    });
    try {
      const value = await work(writing);
      files.mustNotBeAbandoned();
      commit.run();
      versions.committed(touched);
      listeners.notify(touched);
      return value;
    } catch (error) {
      // SQLite rolls back by itself on a full disk. A second rollback would hide the first error, and so would a
      // rollback that fails.
      try {
        if (writer.inTransaction) rollback.run();
      } catch (second) {
        onFault(second);
      }
      throw error;
    }
  }

  /** With a write-ahead log, NORMAL only omits the sync; the next synced commit covers this one too. */
  async function transactUnsynced<T>(work: (tx: Executor) => Promise<T>): Promise<T> {
    reads.end();
    writer.pragma('synchronous = NORMAL');
    try {
      return await transact(work);
    } finally {
      // A read may have begun since the commit, and this setting cannot be changed within a transaction.
      reads.end();
      writer.pragma('synchronous = FULL');
    }
  }
}

function cutPages(writer: Sqlite.Database, reads: ReadSpan, pagesMax: number): Promise<number> {
  reads.end();
  // Fetch all rows: incremental_vacuum frees one page for each step, and fetching a single row is a single step.
  return cutUnusedPages((text) => firstNumber(writer.pragma(text) as Row[]), pagesMax);
}

async function copyInto(writer: Sqlite.Database, reads: ReadSpan, file: string): Promise<void> {
  reads.end();
  writer.prepare('vacuum into ?').run(file);
}

async function withKnexOn<T>(file: string, work: (knex: Knex) => Promise<T>): Promise<T> {
  const { default: knexModule } = await import('knex');
  const knex = knexModule({
    client: 'better-sqlite3',
    connection: { filename: file },
    useNullAsDefault: true,
    compileSqlOnError: false,
    // knex writes to standard output, which contains the results of commands; it also throws every error that it logs.
    log: { warn: ignore, error: ignore, deprecate: ignore, debug: ignore },
    pool: { min: 0, max: 1, afterCreate: setPragmas },
  });
  try {
    return await work(knex);
  } finally {
    await knex.destroy();
  }
}

function ignore(): void {}

/** Enough for another process to finish a small write. */
const BUSY_MS_MAX = 10;

function connect(file: string): Sqlite.Database {
  const connection = new Sqlite(file);
  setPragmas(connection, ignore);
  return connection;
}

function setPragmas(connection: Sqlite.Database, done: () => void): void {
  if (connection.pragma('page_count', { simple: true }) === 0) connection.pragma(NEW_FILE_PRAGMA);
  for (const pragma of SQLITE_PRAGMAS) connection.pragma(pragma);
  done();
}

const STATEMENTS_CACHED_MAX = 500;
/** One statement for this many rows costs two thirds of as many statements; more rows are not cheaper. */
const ROWS_AN_INSERT = 16;

interface ReadSpan {
  isOpen(): boolean;
  extend(): void;
  end(): void;
}

/**
 * Uses one read transaction for everything that is read in one turn of the event loop: acquiring and releasing SQLite's
 * locks costs more than a look-up. It ends with the turn, and before anything is written.
 */
function createReadSpan(
  connection: Sqlite.Database,
  { onOutsideChange, onFault }: { onOutsideChange: () => void; onFault: (error: unknown) => void },
): ReadSpan {
  const begin = connection.prepare('begin');
  const commit = connection.prepare('commit');
  const rollback = connection.prepare('rollback');
  // Changes when another connection commits, for example one of an operator's command.
  const dataVersion = connection.prepare('pragma data_version').pluck();
  let seenVersion = dataVersion.get();
  let isOpen = false;
  const end = (): void => {
    if (!isOpen) return;
    // An unreadable disk or a damaged page fails this as it failed a read of the span, whose caller has the error
    // already.
    for (const last of [commit, rollback]) {
      try {
        if (connection.inTransaction) last.run();
      } catch (error) {
        onFault(error);
      }
    }
    // A rollback that failed is tried again before the next write.
    isOpen = connection.inTransaction;
  };
  const look = (): void => {
    const version = dataVersion.get();
    if (version === seenVersion) return;
    seenVersion = version;
    onOutsideChange();
  };
  return {
    isOpen: () => isOpen,
    end,
    extend() {
      if (isOpen) return;
      // Memos are used while a write is in progress, too.
      if (connection.inTransaction) return look();
      begin.run();
      isOpen = true;
      setImmediate(end);
      look();
    },
  };
}

function executorOn(
  connection: Sqlite.Database,
  before: () => void = ignore,
  onWrite: (table: string) => void = ignore,
): Executor {
  const statements = new BoundedMap<string, { statement: Sqlite.Statement; writesTo: string | undefined }>(
    STATEMENTS_CACHED_MAX,
  );
  function prepared(sql: string): Sqlite.Statement {
    before();
    let known = statements.get(sql);
    if (!known) {
      known = { statement: connection.prepare(sql), writesTo: tableWrittenBy(sql) };
      statements.set(sql, known);
    }
    if (known.writesTo !== undefined) onWrite(known.writesTo);
    return known.statement;
  }
  return {
    dialect: 'sqlite',
    all: async <T>(sql: string, values: readonly Value[] = []) => prepared(sql).all(values) as T[],
    get: async <T>(sql: string, values: readonly Value[] = []) => prepared(sql).get(values) as T | undefined,
    run: async (sql, values = []) => prepared(sql).run(values).changes,
    async runEach(sql, valueLists) {
      const statement = prepared(sql);
      return valueLists.map((values) => statement.run(values).changes);
    },
    async insertMany(table, columns, rows, conflict = '') {
      const mark = `(${columns.map(() => '?').join(',')})`;
      const into = `insert into ${table} (${columns.join(',')}) values`;
      let changes = 0;
      let from = 0;
      if (rows.length >= ROWS_AN_INSERT) {
        const statement = prepared(`${into} ${Array(ROWS_AN_INSERT).fill(mark).join(',')} ${conflict}`);
        for (; from + ROWS_AN_INSERT <= rows.length; from += ROWS_AN_INSERT) {
          changes += statement.run(rows.slice(from, from + ROWS_AN_INSERT).flat()).changes;
        }
      }
      const statement = prepared(`${into} ${mark} ${conflict}`);
      for (; from < rows.length; from++) changes += statement.run(rows[from]).changes;
      return changes;
    },
  };
}
