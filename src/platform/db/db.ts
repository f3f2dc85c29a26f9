import type { Knex } from 'knex';

const underlying = new WeakMap<Executor, Executor>();

/** Records that a wrapper of a database, such as one that audits a call, stands for that database. */
export function noteWrapper<Wrapper extends Executor>(wrapper: Wrapper, db: Executor): Wrapper {
  underlying.set(wrapper, underlyingDatabase(db));
  return wrapper;
}

/**
 * Returns the key for what a process keeps once per database: limits, executors, caches. A wrapper as the key would
 * start with none.
 */
export const underlyingDatabase = (db: Executor): Executor => underlying.get(db) ?? db;

/** Returns `held` with some of its methods replaced by `own`; the other methods run on `held` itself. */
export const overlaid = <Held extends object>(held: Held, own: Partial<Held>): Held =>
  new Proxy(held, {
    get(target, name) {
      const value: unknown = Reflect.get(name in own ? own : target, name);
      return typeof value === 'function' && !(name in own) ? value.bind(target) : value;
    },
  });

/** Resolves when the database responds. */
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
  /** Returns how many rows changed. */
  run(sql: string, values?: readonly Value[]): Promise<number>;
  /** Runs one statement for each list of values, one after the other; returns how many rows each changed. */
  runEach(sql: string, valueLists: readonly (readonly Value[])[]): Promise<number[]>;
  /** Inserts many rows of one shape; `conflict` is the text of an ON CONFLICT clause. Returns how many were written. */
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
  /** The file in which this node remembers the newest timeline of PostgreSQL; undefined to remember nothing. */
  timelineFile?: string;
  /** Called when another PostgreSQL server is used, or one is refused. */
  onServer?: (notice: ServerNotice) => void;
}

/** `refused`: the server accepts writes, but it is a former primary or not the only one. */
export type ServerNotice =
  | { kind: 'in use'; host: string; timeline: number | undefined }
  | { kind: 'refused'; host: string; reason: string };

interface HearingOptions {
  /** Must lead to PostgreSQL itself, even if `url` leads to a pooler. */
  url: string;
  /** Called once each time the connection is lost. */
  onFault(error: unknown): void;
  /** Returns a number from 0 up to 1. */
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
  /**
   * Returns the system time since when nothing is received from other processes; undefined while the connection works.
   */
  deafSince(): number | undefined;
  close(): Promise<void>;
}

export interface Db extends Executor {
  /**
   * Runs one transaction; `work` must await only this transaction's own statements, and `nextTurn` between the parts of a
   * long one.
   */
  tx<T>(work: (tx: Executor) => Promise<T>): Promise<T>;
  /** Same as tx, but does not wait for the disk: a power failure may undo it. A crash of the process alone does not. */
  txUnsynced<T>(work: (tx: Executor) => Promise<T>): Promise<T>;
  /**
   * Memoizes `load` per key until anybody writes to one of `tables`: it sees everything that any process committed
   * before the call. On PostgreSQL that takes a statement, which callers share (`createPgMemo` of pg-memo.ts); tables
   * without the triggers of migrations/0001_schema.ts are read each time.
   */
  memo<T>(tables: readonly string[], load: (key: string) => Promise<T>): (key: string) => Promise<T>;
  /**
   * Calls `fire` after every commit of this process that wrote to `table`, and, after `hear`, soon after commits of
   * other processes that also called it; the returned function ends that. The table is read from the text of each
   * statement (`tableWrittenBy`), which therefore begins with `insert into`, `update` or `delete from` and its name; a
   * check of test/tidy/sql.ts enforces that. A statement in `withoutCommitNotice` is not noticed. A loop that must not
   * miss what other processes write also polls.
   */
  onCommit(table: string, fire: () => void): () => void;
  /** Notifies other processes that listen with `onAnnounced` under this name, which must not be the name of a table. */
  announce(name: string): void;
  onAnnounced(name: string, fire: () => void): () => void;
  /**
   * Calls `fire` whenever a write is refused because the database is being moved or was moved away (write-fence.ts);
   * the returned function ends that.
   */
  onFenced(fire: () => void): () => void;
  /**
   * Calls `fire` with each fault of the database that a statement or a commit of this process meets. The returned
   * function ends that.
   */
  onFault(fire: (fault: DatabaseFault) => void): () => void;
  /**
   * Starts to receive and send notices of commits and announcements between processes. On SQLite there are no other
   * processes.
   */
  hear(options: HearingOptions): Hearing;
  /**
   * Truncates up to `pagesMax` unused pages at the end of the file, and returns how many; a share of them stays for the
   * next writes. Does nothing on PostgreSQL, which manages its own files.
   */
  cutUnusedPages(pagesMax: number): Promise<number>;
  /**
   * Returns which file of an SQLite database was deleted, renamed or replaced by somebody else, so that what is written
   * is lost with this process.
   */
  lostFile(): Promise<string | undefined>;
  /**
   * Refuses every write from the call on, and writes what is committed into a new SQLite file. May be called again if
   * that fails.
   */
  abandonInto(file: string): Promise<void>;
  /** Returns the host of the PostgreSQL server in use, such as `db1:5432`; undefined if none was used yet. */
  serverInUse(): string | undefined;
  /**
   * Returns the other PostgreSQL servers of the database URL that accept writes, and since when; undefined if there are
   * none.
   */
  rivalServers(): { hosts: readonly string[]; since: number } | undefined;
  /** Lists settings of a PostgreSQL server that let a power failure undo what it reported as committed. */
  unsafeSettings(): Promise<string[]>;
  /** For migrations only: loading knex costs memory that a server with an up-to-date schema does not need. */
  withKnex<T>(work: (knex: Knex) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}
