import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { link, mkdir, open, readdir, rename, rm, rmdir, stat, utimes, type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { PART } from './copy-blobs.ts';
import { partsOfKey, shardOf } from './keys.ts';

/**
 * Copies of what was stored or read lately, so that an email to many destinations is read from the store once. Nothing in it is
 * synced, and nothing needs it: it is of one boot of the machine, behind which a file may be without its content.
 */
export interface BlobCache {
  readonly folder: string;
  /** For what is written before its name is known. */
  temporary(): Promise<string>;
  /** Undefined where it is not here. To be closed. */
  open(key: string): Promise<FileHandle | undefined>;
  /** Takes a temporary file as the content of this key; what it cannot take is removed. */
  adopt(temporary: string, key: string): Promise<void>;
  link(from: string, to: string): Promise<void>;
  remove(owner: string): Promise<void>;
  removeKey(key: string): Promise<void>;
  /** Removes what is old, and what was not read for longest while there is more than there may be. */
  trim(): Promise<void>;
}

const BOOT_ID = '/proc/sys/kernel/random/boot_id';
/** What is removed on another node goes from here by its age. */
const AGE_MS_MAX = 24 * 3_600_000;
/** What was just read or written is about to be read. */
const AGE_MS_MIN = 30_000;
const GROWN_SHARE = 16;

interface CacheOptions {
  bytesMax: number;
  /** Files have the times of the machine. */
  now: () => number;
}

export function openBlobCache(root: string, { bytesMax, now }: CacheOptions): BlobCache {
  const boot = existsSync(BOOT_ID) ? readFileSync(BOOT_ID, 'utf8').trim() : `process-${process.pid}`;
  const folder = path.join(root, boot);
  const folderOf = (owner: string): string => path.join(folder, shardOf(owner), owner);
  const fileOf = (key: string): string => {
    const { owner, name } = partsOfKey(key);
    return path.join(folderOf(owner), name);
  };
  let grown = 0;
  let trimming: Promise<void> | undefined;

  function trim(): Promise<void> {
    grown = 0;
    trimming ??= trimFolder({ root, folder, boot, bytesMax, now: now() }).finally(() => (trimming = undefined));
    return trimming;
  }

  return {
    folder,
    trim,
    async temporary() {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      // By chance: in containers the processes on one data folder may all have the same number.
      return path.join(folder, `${randomUUID()}${PART}`);
    },
    async open(key) {
      const file = fileOf(key);
      const handle = await open(file, 'r').catch(unlessGone);
      if (!handle) return undefined;
      // The time of its writing stays: by that it ends.
      const written = (await handle.stat()).mtime;
      await utimes(file, new Date(now()), written).catch(unlessGone);
      return handle;
    },
    async adopt(temporary, key) {
      const file = fileOf(key);
      try {
        grown += (await stat(temporary)).size;
        await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
        await rename(temporary, file);
      } catch {
        // As on a full disk: the store has it.
        await rm(temporary, { force: true }).catch(() => undefined);
      }
      if (grown > bytesMax / GROWN_SHARE) void trim();
    },
    async link(from, to) {
      const file = fileOf(to);
      await mkdir(path.dirname(file), { recursive: true, mode: 0o700 }).catch(() => undefined);
      await link(fileOf(from), file).catch(() => undefined);
    },
    remove: async (owner) => rm(folderOf(owner), { recursive: true, force: true }),
    removeKey: async (key) => rm(fileOf(key), { force: true }),
  };
}

interface Trimmed {
  root: string;
  folder: string;
  boot: string;
  bytesMax: number;
  now: number;
}

/** Never rejects: the content is in the store already. Other processes of this machine may trim the same. */
async function trimFolder({ root, folder, boot, bytesMax, now }: Trimmed): Promise<void> {
  for (const other of await readdir(root).catch(() => [])) {
    if (other !== boot) await rm(path.join(root, other), { recursive: true, force: true }).catch(() => undefined);
  }
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const files: { file: string; size: number; readAt: number }[] = [];
  for (const entry of entries) {
    const file = path.join(entry.parentPath, entry.name);
    const found = entry.isFile() ? await stat(file).catch(() => undefined) : undefined;
    if (!found) continue;
    const { size, mtimeMs, atimeMs } = found;
    if (mtimeMs < now - AGE_MS_MAX) await rm(file, { force: true }).catch(() => undefined);
    else if (!entry.name.endsWith(PART)) files.push({ file, size, readAt: Math.max(atimeMs, mtimeMs) });
  }
  let bytes = files.reduce((sum, { size }) => sum + size, 0);
  files.sort((a, b) => a.readAt - b.readAt);
  for (const { file, size, readAt } of files) {
    if (bytes <= bytesMax || readAt > now - AGE_MS_MIN) break;
    await rm(file, { force: true }).catch(() => undefined);
    bytes -= size;
  }
  await removeEmpty(folder);
}

async function removeEmpty(folder: string): Promise<void> {
  for (const shard of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
    if (!shard.isDirectory()) continue;
    for (const owner of await readdir(path.join(folder, shard.name)).catch(() => [])) {
      // One that has something in it is not removed.
      await rmdir(path.join(folder, shard.name, owner)).catch(() => undefined);
    }
  }
}

const unlessGone = (error: NodeJS.ErrnoException): undefined => {
  if (error.code !== 'ENOENT') throw error;
  return undefined;
};
