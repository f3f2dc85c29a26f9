import { isFenced } from './write-fence.ts';
import { writesRows } from './memo.ts';
import type { DatabaseFault, Db } from './db.ts';

/** Reports a violated unique constraint, which each database names in its own way. */
export function isUniqueViolation(error: unknown): boolean {
  const code = readCode(error);
  if (code === '23505' || code === 'SQLITE_CONSTRAINT_UNIQUE' || code === 'SQLITE_CONSTRAINT_PRIMARYKEY') return true;
  return error instanceof Error && error.message.includes('UNIQUE constraint failed');
}

/**
 * Reports faults of the environment that are worth another attempt later: a full disk, a lost connection, a blob store
 * that refuses, a lock held too long.
 */
export function isDatabaseSetback(error: unknown): boolean {
  return isDatabaseGone(error) || isDatabaseDamage(error) || hasCode(error, SETBACK_CODES) || isPlanOfOldSchema(error);
}

/**
 * Reports whether stored data cannot be read: a page or an index differs from what was written, the disk does not
 * return it, or a table is missing.
 */
export const isDatabaseDamage = (error: unknown): boolean =>
  hasCode(error, DAMAGE_CODES) || BARE_DAMAGE_CODES.includes(readCode(error)) || isUndefinedTable(error);

/**
 * Reports whether commits of all callers fail now. Conflicts and damaged pages concern single transactions; a fence and
 * a lost file are detected separately.
 */
export const isCommitFault = (error: unknown): boolean =>
  isDatabaseSetback(error) &&
  !isFenced(error) &&
  !isPlanOfOldSchema(error) &&
  !isUndefinedTable(error) &&
  !hasCode(error, NO_COMMIT_FAULT_CODES);

/**
 * PostgreSQL's error for a prepared `select *` whose columns a migration has changed since: the next attempt prepares
 * it again.
 */
export const isPlanOfOldSchema = (error: unknown): boolean =>
  error instanceof Error && error.message === 'cached plan must not change result type';

/**
 * Reports whether a statement names a table that the database lacks. Migrations have created all of them before a node
 * starts.
 */
export const isUndefinedTable = (error: unknown): boolean =>
  readCode(error) === '42P01' || (readCode(error).startsWith('SQLITE_ERROR') && NO_SUCH_TABLE.test(readMessage(error)));

/** Returns the name of the table that the database lacks; undefined if the message does not quote it. */
export function missingTableIn(error: unknown): string | undefined {
  if (!isUndefinedTable(error)) return undefined;
  const message = readMessage(error);
  return (NO_SUCH_TABLE.exec(message) ?? [...message.matchAll(QUOTED_NAMES)].at(-1))?.[1];
}

const NO_SUCH_TABLE = /\bno such table: (?:main\.)?(\w+)$/;
/** PostgreSQL translates its messages; each language has quotation marks of its own. The last quoted name is the table. */
const QUOTED_NAMES = /["'«»„“‚‘「『]\s*(?:\w+\.)?(\w+)\s*["'«»“”‘’」』]/g;

const readMessage = (error: unknown): string => (error instanceof Error ? error.message : '');

/** Another connection of this SQLite file is writing. */
export const isLocked = (error: unknown): boolean => hasCode(error, ['SQLITE_BUSY']);

/**
 * Reports whether another PostgreSQL transaction held a lock for longer than the statement waits, or each waits for the
 * other.
 */
export const isLockTimeout = (error: unknown): boolean => hasCode(error, ['55P03', '40P01']);

/**
 * Reports whether any further attempt would fail the same way now: the server does not respond, another process holds
 * the file, or the database was moved away.
 */
export function isDatabaseGone(error: unknown): boolean {
  if (hasCode(error, GONE_CODES) || isFenced(error)) return true;
  // ENOENT of a connect means that the server is not running; other missing files are our own fault.
  if (hasCode(error, ['ENOENT', 'EACCES']) && (error as { syscall?: unknown }).syscall === 'connect') return true;
  // knex and pg identify these by their text only.
  const { name, message } = error instanceof Error ? error : { name: '', message: '' };
  return name === 'KnexTimeoutError' || GONE_MESSAGES.some((start) => message.startsWith(start));
}

/**
 * Reports whether a PostgreSQL server does not respond, ends, or accepts no writes any more: another one may have taken
 * over. A transaction that was idle for too long is ended by a server that goes on.
 */
export const isServerLost = (error: unknown): boolean =>
  hasCode(error, ['25006']) || (isDatabaseGone(error) && !hasCode(error, ['25P03']));

const GONE_MESSAGES = [
  'Connection terminated',
  'timeout expired',
  'Query read timeout',
  'timeout exceeded when trying to connect',
  'Client has encountered a connection error',
  'Client was closed',
];

const DAMAGE_CODES = [
  'SQLITE_CORRUPT',
  'SQLITE_NOTADB',
  'SQLITE_IOERR_READ',
  'SQLITE_IOERR_SHORT_READ',
  'SQLITE_IOERR_CORRUPTFS',
  'SQLITE_IOERR_DATA',
  // PostgreSQL: data_corrupted, index_corrupted, io_error, and a missing file of a table.
  'XX001',
  'XX002',
  '58030',
  '58P01',
];

/** The `sqlite3` driver does not say which operation failed. */
const BARE_DAMAGE_CODES = ['SQLITE_IOERR'];

/**
 * The first two are codes of PostgreSQL: serialization failure and deadlock, and a transaction that was idle for too
 * long.
 */
const NO_COMMIT_FAULT_CODES = ['40', '25P03', 'DATABASE_FILE_LOST', ...DAMAGE_CODES];

const SETBACK_CODES = [
  'SQLITE_FULL',
  'SQLITE_IOERR',
  'SQLITE_READONLY',
  'SQLITE_CANTOPEN',
  'ENOSPC',
  'EDQUOT',
  'EROFS',
  // A disk that no longer reads or writes, a lost file system, too many open files, or a file too large for the file
  // system.
  'EIO',
  'ESTALE',
  'ENOTCONN',
  'EMFILE',
  'ENFILE',
  'EFBIG',
  // The blob store does not respond, or refuses.
  'OBJECT_STORE',
  // PostgreSQL: out of resources, read-only after a fail-over, serialization and deadlock.
  '53',
  '25006',
  '40',
];

const GONE_CODES = [
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'ENETDOWN',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EPIPE',
  'ETIMEDOUT',
  'DATABASE_FILE_LOST',
  'DATABASE_NO_PRIMARY',
  // Another program holds the file for longer than we wait.
  'SQLITE_BUSY',
  // PostgreSQL: connection lost, shutting down, an idle transaction that timed out.
  '08',
  '57P',
  '25P03',
];

function hasCode(error: unknown, codes: readonly string[]): boolean {
  const code = readCode(error);
  return codes.some((start) => code.startsWith(start));
}

const readCode = (error: unknown): string => String((error as { code?: unknown } | null)?.code ?? '');

/** The methods that a driver provides; `around` adds the notices of faults. */
export type DriverDb = Omit<Db, 'onFenced' | 'onFault'>;

/** Notifies the listeners of every statement and commit that fails because of the database, for all callers. */
interface FaultNotices {
  /** Reports a fault for which no caller waits. */
  note(error: unknown): void;
  around(db: DriverDb): Db;
}

export function createFaultNotices(): FaultNotices {
  const ofFence = new Set<() => void>();
  const ofFaults = new Set<(fault: DatabaseFault) => void>();

  function note(error: unknown, isWrite = false): void {
    if (isFenced(error)) for (const fire of ofFence) fire();
    if (isDatabaseDamage(error)) for (const fire of ofFaults) fire({ kind: 'damage', error });
    if (isWrite && isCommitFault(error)) for (const fire of ofFaults) fire({ kind: 'commit', error });
  }

  async function noticing<T>(work: Promise<T>, isWrite = true): Promise<T> {
    try {
      return await work;
    } catch (error) {
      note(error, isWrite);
      throw error;
    }
  }

  return {
    note,
    around: (db) => ({
      ...db,
      // These statements may write too, and return the written rows.
      all: <T>(...statement: Parameters<Db['all']>) => noticing(db.all<T>(...statement), writesRows(statement[0])),
      get: <T>(...statement: Parameters<Db['get']>) => noticing(db.get<T>(...statement), writesRows(statement[0])),
      run: (...statement) => noticing(db.run(...statement)),
      runEach: (...statement) => noticing(db.runEach(...statement)),
      insertMany: (...insert) => noticing(db.insertMany(...insert)),
      tx: (work) => noticing(db.tx(work)),
      txUnsynced: (work) => noticing(db.txUnsynced(work)),
      onFenced(fire) {
        ofFence.add(fire);
        return () => void ofFence.delete(fire);
      },
      onFault(fire) {
        ofFaults.add(fire);
        return () => void ofFaults.delete(fire);
      },
    }),
  };
}
