import type { Knex } from 'knex';

const behind = new WeakMap<Executor, Executor>();

/** Records that a wrapper of a database, such as one that audits a call, stands for that database. */
export function noteWrapper<Wrapper extends Executor>(wrapper: Wrapper, db: Executor): Wrapper {
  behind.set(wrapper, databaseBehind(db));
  return wrapper;
}

/**
 * Returns the key for what a process keeps once per database: limits, executors, caches. A wrapper as the key would
 * start with none.
 */
export const databaseBehind = (db: Executor): Executor => behind.get(db) ?? db;

/** `held` with some of its methods replaced by `own`; the other methods run on `held` itself. */
export const overlaid = <Held extends object>(held: Held, own: Partial<Held>): Held =>
  new Proxy(held, {
    get(target, name) {
      const value: unknown = Reflect.get(name in own ? own : target, name);
      return typeof value === 'function' && !(name in own) ? value.bind(target) : value;
    },
  });

/** Resolves when the database answers. */
export async function ping(db: Executor): Promise<void> {
  await db.get('select 1 as one');
}

export type Dialect = 'sqlite' | 'pg';
export type Value = string | number | null | Buffer;
export type Row = Record<string, Value>;

/** Runs statements, on its own or inside a transaction. Placeholders are `?`; booleans are stored as 0 and 1. */
export interface Executor {
  readonly dialect: Dialect;
  all<T = Row>(sql: string, values?: readonly Value[]): Promise<T[]>;
  get<T = Row>(sql: string, values?: readonly Value[]): Promise<T | undefined>;
  /** Answers how many rows changed. */
  run(sql: string, values?: readonly Value[]): Promise<number>;
  /** Runs one statement for each list of values, one after the other; answers how many rows each changed. */
  runEach(sql: string, valueLists: readonly (readonly Value[])[]): Promise<number[]>;
  /** Inserts many rows of one shape; `conflict` is the text of an ON CONFLICT clause. Answers how many were written. */
  insertMany(
    table: string,
    columns: readonly string[],
    rows: readonly (readonly Value[])[],
    conflict?: string,
  ): Promise<number>;
}

export interface OpenDbOptions {
  driver: 'better-sqlite3' | 'sqlite3' | 'pg';
  /** The SQLite file; unused with PostgreSQL. */
  file: string;
  /** The PostgreSQL address; unused with SQLite. */
  url: string;
  poolMax: number;
}

interface HearingOptions {
  /** Reaches PostgreSQL itself, where `url` leads to a pooler. */
  url: string;
  /** Each time that it is lost, once. */
  onFault(error: unknown): void;
  /** A number from 0 up to 1. */
  random(): number;
}

export interface DatabaseFault {
  /**
   * `damage`: stored data cannot be read. `commit`: nothing of a write was stored, and other writes would fail as well.
   */
  kind: 'damage' | 'commit';
  error: unknown;
}

export interface Hearing {
  /** Since when nothing of other processes is heard, in time of the system; undefined while it is. */
  deafSince(): number | undefined;
  close(): Promise<void>;
}

export interface Db extends Executor {
  /** One transaction; what `work` awaits must be this transaction's own statements and nothing else. */
  tx<T>(work: (tx: Executor) => Promise<T>): Promise<T>;
  /** The same, but waiting for no disk: a power cut may take it back. A crash of the process alone does not. */
  txUnsynced<T>(work: (tx: Executor) => Promise<T>): Promise<T>;
  /**
   * `load`, remembered per key until anybody writes to one of `tables`: what any process has committed before the call is seen.
   * On PostgreSQL that takes a statement, which callers share (`createPgMemo` of pg-memo.ts); tables without the triggers of
   * migrations/0001_schema.ts are read each time.
   */
  memo<T>(tables: readonly string[], load: (key: string) => Promise<T>): (key: string) => Promise<T>;
  /**
   * Calls `fire` after every commit of this process that wrote to `table`, and while `hear` hears them soon after those of
   * other processes that hear, too; the returned function ends that. The table is
   * read from the text of each statement (`tableWrittenBy`), which therefore begins with `insert into`, `update` or
   * `delete from` and its name; a check of test/tidy/sql.ts holds that. A statement in `withoutCommitNotice` is not
   * noticed. A loop that must not miss what other processes write also polls.
   */
  onCommit(table: string, fire: () => void): () => void;
  /** Fires what other processes have given to `onAnnounced` under this name, which is that of no table. */
  announce(name: string): void;
  onAnnounced(name: string, fire: () => void): () => void;
  /** Calls `fire` whenever a write is refused because the database is being moved or was moved away (write-fence.ts); the returned function ends that. */
  onFenced(fire: () => void): () => void;
  /**
   * Calls `fire` with each fault of the database that a statement or a commit of this process meets. The returned
   * function ends that.
   */
  onFault(fire: (fault: DatabaseFault) => void): () => void;
  /** Begins to hear what other processes commit and announce, and to tell them. On SQLite there are none. */
  hear(options: HearingOptions): Hearing;
  /**
   * Cuts pages that nothing is stored in off the end of the file, `pagesMax` at the most, and answers how many; a share of
   * them stays for what is written next. PostgreSQL looks after its own files: nothing is cut there.
   */
  cutUnusedPages(pagesMax: number): Promise<number>;
  /** Says which file of an SQLite database was deleted, renamed or replaced beside us, so that what is written is gone with this process. */
  lostFile(): Promise<string | undefined>;
  /** Refuses every write from the call on, and writes what is committed into a new SQLite file. It may be tried again where that fails. */
  abandonInto(file: string): Promise<void>;
  /** Settings of a PostgreSQL server that let a power cut take back what it said was on disk. */
  unsafeSettings(): Promise<string[]>;
  /** For migrations alone: loading knex costs memory that a server with an up-to-date schema does not need. */
  withKnex<T>(work: (knex: Knex) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}
