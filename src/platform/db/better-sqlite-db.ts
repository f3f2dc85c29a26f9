import Sqlite from 'better-sqlite3';
import type { Knex } from 'knex';
import type { Db, Executor, Value } from './types.ts';
import { SQLITE_PRAGMAS } from './pragmas.ts';

/**
 * The embedded default. Statements run in this thread on prepared, cached statements: a knex round trip costs more
 * than the statement itself. One connection writes, another reads, so that a list never waits for a commit; both see
 * what is committed, because every write goes through `tx` or a statement of its own.
 */
export function openBetterSqlite(file: string): Db {
  const writer = connect(file);
  const reader = connect(file);
  const writing = executorOn(writer);
  const reads = createReadSpan(reader);
  const reading = executorOn(reader, reads.extend);
  const begin = writer.prepare('begin immediate');
  const commit = writer.prepare('commit');
  const rollback = writer.prepare('rollback');

  // The writer is one connection: transactions and single writes take turns on it.
  let turn: Promise<unknown> = Promise.resolve();
  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = turn.then(work);
    turn = result.then(ignore, ignore);
    return result;
  }

  return {
    dialect: 'sqlite',
    withKnex: (work) => withKnexOn(file, work),
    all: reading.all,
    get: reading.get,
    run: (sql, values) => inTurn(() => transact((tx) => tx.run(sql, values))),
    insertMany: (...insert) => inTurn(() => transact((tx) => tx.insertMany(...insert))),
    tx: (work) => inTurn(() => transact(work)),
    async close() {
      await turn;
      reads.end();
      reader.close();
      writer.close();
    },
  };

  async function transact<T>(work: (tx: Executor) => Promise<T>): Promise<T> {
    begin.run();
    try {
      const value = await work(writing);
      commit.run();
      // Whoever waited for this commit reads what it wrote.
      reads.end();
      return value;
    } catch (error) {
      // A full disk rolls back by itself; a second rollback would hide the first error.
      if (writer.inTransaction) rollback.run();
      throw error;
    }
  }
}

async function withKnexOn<T>(file: string, work: (knex: Knex) => Promise<T>): Promise<T> {
  const { default: knexModule } = await import('knex');
  const knex = knexModule({
    client: 'better-sqlite3',
    connection: { filename: file },
    useNullAsDefault: true,
    pool: { min: 0, max: 1, afterCreate: setPragmas },
  });
  try {
    return await work(knex);
  } finally {
    await knex.destroy();
  }
}

function ignore(): void {}

function connect(file: string): Sqlite.Database {
  const connection = new Sqlite(file);
  setPragmas(connection, ignore);
  return connection;
}

function setPragmas(connection: Sqlite.Database, done: () => void): void {
  for (const pragma of SQLITE_PRAGMAS) connection.pragma(pragma);
  done();
}

const STATEMENTS_CACHED_MAX = 500;

/**
 * One read transaction for everything that is read in one turn of the event loop: taking and releasing SQLite's locks
 * costs more than a look-up. It ends with the turn and with every commit, so that nobody reads what is outdated.
 */
function createReadSpan(reader: Sqlite.Database): { extend(): void; end(): void } {
  const begin = reader.prepare('begin');
  const commit = reader.prepare('commit');
  let isOpen = false;
  const end = (): void => {
    if (!isOpen) return;
    isOpen = false;
    if (reader.inTransaction) commit.run();
  };
  return {
    end,
    extend() {
      if (isOpen) return;
      begin.run();
      isOpen = true;
      setImmediate(end);
    },
  };
}

function executorOn(connection: Sqlite.Database, before: () => void = ignore): Executor {
  const statements = new Map<string, Sqlite.Statement>();
  function prepared(sql: string): Sqlite.Statement {
    before();
    let statement = statements.get(sql);
    if (!statement) {
      statement = connection.prepare(sql);
      if (statements.size >= STATEMENTS_CACHED_MAX) statements.clear();
      statements.set(sql, statement);
    }
    return statement;
  }
  return {
    dialect: 'sqlite',
    all: async <T>(sql: string, values: readonly Value[] = []) => prepared(sql).all(values) as T[],
    get: async <T>(sql: string, values: readonly Value[] = []) => prepared(sql).get(values) as T | undefined,
    run: async (sql, values = []) => prepared(sql).run(values).changes,
    async insertMany(table, columns, rows, conflict = '') {
      const marks = columns.map(() => '?').join(',');
      const statement = prepared(`insert into ${table} (${columns.join(',')}) values (${marks}) ${conflict}`);
      let changes = 0;
      for (const row of rows) changes += statement.run(row).changes;
      return changes;
    },
  };
}
