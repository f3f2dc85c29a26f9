import { existsSync, readdirSync } from 'node:fs';
import { open, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { isoTime, nextTurn, stopwatch } from '../clock.ts';
import { findLocker } from '../listeners.ts';
import Sqlite from 'better-sqlite3';
import { offerFolder } from '../../program-files/index.ts';
import { isLocked } from './faults.ts';
import type { Db, Row } from './db.ts';

/** Anything written now would be lost when the process ends. */
export class DatabaseFileLost extends Error {
  override readonly name = 'DatabaseFileLost';
  readonly code = 'DATABASE_FILE_LOST';
}

/**
 * The open files of an SQLite database. If somebody deletes, renames or replaces one, the connections continue to use
 * the old one.
 */
interface HeldFiles {
  /**
   * Returns a file that is not in its place any more; undefined while all are. The first call records which files they
   * are.
   */
  lost(): Promise<string | undefined>;
  /** Throws once `abandonInto` was called. */
  mustNotBeAbandoned(): void;
  /** Refuses every write from now on; `copy` must write what is committed into a new file, which is synced. */
  abandonInto(file: string, copy: (part: string) => unknown): Promise<void>;
  /**
   * Call after all connections are closed: a remaining log would be taken for that of the file that replaces this one.
   */
  closed(): Promise<void>;
}

export function holdFiles(file: string): HeldFiles {
  const log = `${file}-wal`;
  /** Identity by name, as first seen: the log is created by the first read. */
  const held = new Map<string, string>();
  let refusal: DatabaseFileLost | undefined;
  let isCopied = false;

  return {
    async lost() {
      for (const name of [file, log]) {
        const was = held.get(name);
        const is = await readFileId(name);
        if (was === undefined && is !== undefined) held.set(name, is);
        else if (was !== is)
          return `${name} was ${is === undefined ? 'deleted or renamed' : 'replaced by another file'}`;
      }
      return undefined;
    },
    mustNotBeAbandoned() {
      if (refusal) throw refusal;
    },
    async abandonInto(into, copy) {
      refusal ??= new DatabaseFileLost(`${file} was deleted, renamed or replaced beside this server`);
      // The file gets its final name when it is complete.
      const part = `${into}.part`;
      try {
        await rm(part, { force: true });
        await copy(part);
        await syncFile(part);
        await rename(part, into);
        await syncFile(into);
      } catch (error) {
        await rm(part, { force: true }).catch(() => undefined);
        throw error;
      }
      isCopied = true;
    },
    async closed() {
      if (!isCopied || !held.has(log) || held.get(log) !== (await readFileId(log))) return;
      await rm(log);
      await rm(`${file}-shm`, { force: true });
    },
  };
}

async function readFileId(name: string): Promise<string | undefined> {
  try {
    const { dev, ino } = await stat(name);
    return `${dev} ${ino}`;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw error;
  }
}

/** Returns the name of the file into which the content of a lost file is rescued. */
export const rescueName = (file: string, at: number): string =>
  `${file}.rescued-${isoTime(at).replaceAll(/[-:]|\.\d+/g, '')}`;

/** Returns the newest rescued copy of a lost file. */
export function rescuedCopy(file: string): string | undefined {
  const folder = path.dirname(file);
  if (!existsSync(folder)) return undefined;
  const begin = `${path.basename(file)}.rescued-`;
  const names = readdirSync(folder).filter(
    (name) => name.startsWith(begin) && /^[\dTZ]+$/.test(name.slice(begin.length)),
  );
  const newest = names.toSorted().at(-1);
  return newest === undefined ? undefined : path.join(folder, newest);
}

/**
 * Returns the command that restores the copy. It also removes the old log, which would be taken for that of the copy.
 */
export const putBack = (file: string, copy: string): string => `rm -f ${file}-wal ${file}-shm; mv ${copy} ${file}`;

/** Syncs a file and its entry in the folder. */
export async function syncFile(file: string): Promise<void> {
  for (const name of [file, path.dirname(file)]) {
    const handle = await open(name, 'r');
    await handle.sync().finally(() => handle.close());
  }
}

export class DataFolderInUse extends Error {
  override readonly name = 'DataFolderInUse';
}

/**
 * Locks the data folder for this process. The lock is SQLite's own file lock, held by an open transaction, so the
 * system releases it when the process dies, however it dies. Returns the function that releases it.
 */
export function lockDataFolder(dataDir: string): () => void {
  offerFolder(path.join(dataDir, 'run'));
  const file = path.join(dataDir, 'run', 'lock.db');
  const release = holdFile(file);
  if (release) return release;
  const pid = findLocker(file);
  throw new DataFolderInUse(
    `another rasket process${pid === undefined ? '' : ` (${pid})`} is using ${dataDir}; stop it first, or name another folder with --data`,
  );
}

/**
 * Referenced until they are released: garbage collection would close a lock, and another process could take the file.
 */
const held = new Set<Sqlite.Database>();

/** Locks any file of ours, which is created if it does not exist. Returns undefined if another process holds it. */
export function holdFile(file: string): (() => void) | undefined {
  const lock = new Sqlite(file, { timeout: 0 });
  try {
    lock.exec('begin exclusive');
  } catch (error) {
    lock.close();
    if (!isLocked(error)) throw error;
    return undefined;
  }
  held.add(lock);
  return () => {
    held.delete(lock);
    lock.close();
  };
}

/** Enough for an operator's command or a backup to finish with the file, and no longer than a caller should wait. */
const WAIT_MS_MAX = 5000;
const FIRST_PAUSE_MS = 2;
const PAUSE_MS_MAX = 100;

/**
 * Retries until another process has unlocked the file, without blocking this one between the attempts. The time counts
 * from when the lock was first met: once it is over, each further caller tries only once and fails too, until the file
 * is free again.
 */
export function createLockWait(): <T>(attempt: () => T | Promise<T>) => Promise<T> {
  let lockedForMs: (() => number) | undefined;
  return async (attempt) => {
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, PAUSE_MS_MAX)) {
      try {
        const value = await attempt();
        lockedForMs = undefined;
        return value;
      } catch (error) {
        if (!isLocked(error)) throw error;
        lockedForMs ??= stopwatch();
        // The waiting callers would otherwise follow one another without a turn of the event loop for anything else.
        if (lockedForMs() >= WAIT_MS_MAX) {
          await nextTurn();
          throw error;
        }
        await pause(pauseMs);
      }
    }
  };
}

/** Keeps the process up, because an operator's command has nothing else to wait for. */
const pause = (ms: number): Promise<void> => new Promise((resume) => void setTimeout(resume, ms));

/**
 * Set before anything is written to a new file, this allows returning space later; on an older file it takes effect
 * with a VACUUM. Setting it on a file that has pages is a write, and opening a file must not write.
 */
export const NEW_FILE_PRAGMA = 'auto_vacuum = INCREMENTAL';

/**
 * FULL syncs the log at every commit: a response must not promise what a power failure would undo. The log is kept
 * short enough for a checkpoint to take a few milliseconds.
 */
export const SQLITE_PRAGMAS = [
  'journal_mode = WAL',
  'synchronous = FULL',
  'busy_timeout = 5000',
  'foreign_keys = ON',
  'cache_size = -12000',
  'temp_store = MEMORY',
  'wal_autocheckpoint = 1000',
  'journal_size_limit = 67108864',
] as const;

/** Share of all pages that stay free, because the next writes would have to allocate them again. */
const KEPT_SHARE = 0.05;

/** Truncates unused pages. `pragma` runs a statement to its end and returns the number in its first row. */
export async function cutUnusedPages(
  pragma: (text: string) => Promise<number> | number,
  pagesMax: number,
): Promise<number> {
  const free = await pragma('freelist_count');
  const kept = Math.ceil((await pragma('page_count')) * KEPT_SHARE);
  const count = Math.min(pagesMax, free - kept);
  if (count <= 0) return 0;
  await pragma(`incremental_vacuum(${count})`);
  return free - (await pragma('freelist_count'));
}

export const firstNumber = (rows: readonly Row[]): number => Number(Object.values(rows[0] ?? {})[0] ?? 0);

/**
 * Rewrites the whole SQLite file without unused pages, and so that it can be truncated from then on. Needs as much free
 * space as the file has, and no other process may be using it.
 */
export async function rewriteFile(db: Db): Promise<void> {
  await db.withKnex(async (knex) => {
    await knex.raw(`pragma ${NEW_FILE_PRAGMA}`);
    await knex.raw('vacuum');
  });
}
