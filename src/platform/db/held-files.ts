import { existsSync, readdirSync } from 'node:fs';
import { open, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { isoTime } from '../clock/index.ts';

/** What is written would be gone with the process. */
export class DatabaseFileLost extends Error {
  override readonly name = 'DatabaseFileLost';
  readonly code = 'DATABASE_FILE_LOST';
}

/** The files of an SQLite database that are open. When somebody deletes, renames or replaces one, the connections go on with the old one. */
export interface HeldFiles {
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
        const [was, is] = [held.get(name), await idOf(name)];
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
