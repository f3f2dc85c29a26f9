import { existsSync, readdirSync } from 'node:fs';
import { open, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { isoTime, nextTurn, stopwatch } from '../clock.ts';
import Sqlite from 'better-sqlite3';
import { offerFolder } from '../../program-files/index.ts';
import { isLocked } from './faults.ts';
import type { Db, Row } from './db.ts';

/** What is written would be gone with the process. */
export class DatabaseFileLost extends Error {
  override readonly name = 'DatabaseFileLost';
  readonly code = 'DATABASE_FILE_LOST';
}

/** The files of an SQLite database that are open. When somebody deletes, renames or replaces one, the connections go on with the old one. */
interface HeldFiles {
  /** Says which file is not in its place any more; undefined while all are, and in the first call, which learns which they are. */
  lost(): Promise<string | undefined>;
  /** Throws once `abandonInto` was called. */
  mustNotBeAbandoned(): void;
  /** Refuses every write from now on; `copy` is to write what is committed into a new file, which is synced. */
  abandonInto(file: string, copy: (part: string) => unknown): Promise<void>;
  /** Behind the close of all connections: a log that stays would be taken for that of the file that comes into its place. */
  closed(): Promise<void>;
}

export function holdFiles(file: string): HeldFiles {
  const log = `${file}-wal`;
  /** By name, as each was first seen: the log begins with the first read. */
  const held = new Map<string, string>();
  let refusal: DatabaseFileLost | undefined;
  let isCopied = false;

  return {
    async lost() {
      for (const name of [file, log]) {
        const was = held.get(name);
        const is = await idOf(name);
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
      // It has its name once it is whole.
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
      if (!isCopied || !held.has(log) || held.get(log) !== (await idOf(log))) return;
      await rm(log);
      await rm(`${file}-shm`, { force: true });
    },
  };
}

async function idOf(name: string): Promise<string | undefined> {
  try {
    const { dev, ino } = await stat(name);
    return `${dev} ${ino}`;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw error;
  }
}

/** Where what a lost file held is written to. */
export const rescueName = (file: string, at: number): string =>
  `${file}.rescued-${isoTime(at).replaceAll(/[-:]|\.\d+/g, '')}`;

/** The newest copy of a file that was lost. */
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

/** A log that is left there would be taken for that of the copy. */
export const putBack = (file: string, copy: string): string => `rm -f ${file}-wal ${file}-shm; mv ${copy} ${file}`;

/** Together with its entry in the folder. */
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
 * Holds the data folder for this process. The lock is SQLite's own file lock, held by an open transaction, so the
 * system gives it back when the process dies, however it dies. Answers the function that gives it back.
 */
export function lockDataFolder(dataDir: string): () => void {
  offerFolder(path.join(dataDir, 'run'));
  const letGo = holdFile(path.join(dataDir, 'run', 'lock.db'));
  if (letGo) return letGo;
  throw new DataFolderInUse(
    `another rasket process is using ${dataDir}; stop it first, or name another folder with --data`,
  );
}

/** Referenced until they are let go: a lock that is collected as garbage is closed, and another process could take the file. */
const held = new Set<Sqlite.Database>();

/** The same for any file of ours, which is created where it does not exist; undefined where another process holds it. */
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

/** As long as an operator's command or a backup takes with the file, and no longer than a caller should wait. */
const WAIT_MS_MAX = 5000;
const FIRST_PAUSE_MS = 2;
const PAUSE_MS_MAX = 100;

/**
 * Tries until another process has let go of the file, without holding up this one between the tries. The time counts from
 * when the lock was first met: when it has run out, the next caller in line tries once and is refused too, until the file
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
        // Those in line would otherwise follow one another without a turn for anybody else.
        if (lockedForMs() >= WAIT_MS_MAX) {
          await nextTurn();
          throw error;
        }
        await pause(pauseMs);
      }
    }
  };
}

/** Keeps the process up, for a command of the operator waits for nothing else. */
const pause = (ms: number): Promise<void> => new Promise((resume) => void setTimeout(resume, ms));

/**
 * Said before anything is written to a new file, it makes it possible to give space back later; on an older file it waits
 * for a VACUUM. To say it to a file that has pages is a write, and opening a file must not be one.
 */
export const NEW_FILE_PRAGMA = 'auto_vacuum = INCREMENTAL';

/**
 * FULL syncs the log at every commit: an answer may not promise what a power cut would take back. The log is kept short
 * enough that a checkpoint stays a few milliseconds.
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

/** Of all pages, those that stay free: what is written next would only have to ask for them again. */
const KEPT_SHARE = 0.05;

/** `pragma` runs one to its end and answers the number in its first row. */
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
 * Writes the whole SQLite file anew, without unused pages and so that it can be cut from then on. Needs as much free room
 * as the file has, and no other process may be using it.
 */
export async function rewriteFile(db: Db): Promise<void> {
  await db.withKnex(async (knex) => {
    await knex.raw(`pragma ${NEW_FILE_PRAGMA}`);
    await knex.raw('vacuum');
  });
}
