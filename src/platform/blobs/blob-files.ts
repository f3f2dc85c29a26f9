import { randomUUID } from 'node:crypto';
import { mkdir, open, rm, copyFile, readdir, type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { constants } from 'node:fs';

/** Suffix of a file that is being written. */
export const PART = '.part';

/**
 * Copies a folder of blobs, each of them synced, while others are written and removed; returns how many were copied.
 */
export async function copyBlobs(from: string, to: string): Promise<number> {
  await mkdir(to, { recursive: true, mode: 0o700 });
  let copied = 0;
  const entries = await readdir(from, { withFileTypes: true }).catch(unlessGone([]));
  for (const entry of entries) {
    const source = path.join(from, entry.name);
    const target = path.join(to, entry.name);
    if (entry.isDirectory()) copied += await copyBlobs(source, target);
    else if (entry.isFile() && !entry.name.endsWith(PART)) copied += await copySynced(source, target);
  }
  await sync(to);
  return copied;
}

async function copySynced(source: string, target: string): Promise<number> {
  const isThere = await copyFile(source, target, constants.COPYFILE_FICLONE).then(() => true, unlessGone(false));
  if (!isThere) return 0;
  await sync(target);
  return 1;
}

async function sync(file: string): Promise<void> {
  const handle = await open(file, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** A file that disappears meanwhile has no row any more that anybody reads. */
const unlessGone =
  <T>(value: T) =>
  (error: NodeJS.ErrnoException): T => {
    if (error.code === 'ENOENT') return value;
    throw error;
  };

/** An owner has no dot and a name does not begin with one, so neither can leave its folder. */
const OWNER_FORM = /^[a-z0-9_-]{2,}$/i;
const NAME_FORM = /^[a-z0-9_-][a-z0-9_.-]*$/i;

export const isOwner = (text: string): boolean => OWNER_FORM.test(text);

/**
 * Throws if the owner is invalid. The last characters of a UUIDv7 are random; its first ones would put a whole day into
 * one folder.
 */
export function toShard(owner: string): string {
  if (!isOwner(owner)) throw new Error(`the blob owner ${JSON.stringify(owner)} is not an id`);
  return owner.slice(-2);
}

/** Throws if the key is invalid. */
export function partsOfKey(key: string): { owner: string; name: string } {
  const [owner = '', name = '', ...rest] = key.split('/');
  const isKey = NAME_FORM.test(name) && !name.endsWith(PART) && rest.length === 0;
  if (!isKey) throw new Error(`the blob key ${JSON.stringify(key)} is not of the form <owner id>/<name>`);
  return { owner, name };
}

/** An unnamed file, which the system removes with the process, however that ends. */
export interface ScratchFile {
  /** Valid in every thread of the process until `close`. */
  readonly fd: number;
  /** Appends; each write is awaited before the next. */
  write(piece: Uint8Array): Promise<void>;
  /** Returns the first bytes of those written. */
  read(bytes: number): Promise<Buffer>;
  close(): Promise<void>;
}

export async function openScratchFile(root: string): Promise<ScratchFile> {
  await mkdir(root, { recursive: true, mode: 0o700 });
  const file = path.join(root, `.scratch-${randomUUID()}${PART}`);
  const handle = await open(file, 'wx+', 0o600);
  await rm(file, { force: true });
  let size = 0;
  return {
    fd: handle.fd,
    async write(piece) {
      for (let at = 0; at < piece.length;) {
        const { bytesWritten } = await handle.write(piece, at, piece.length - at, size);
        at += bytesWritten;
        size += bytesWritten;
      }
    },
    read: (bytes) => readRange(handle, 0, bytes),
    close: () => handle.close(),
  };
}

/** Throws if the file is shorter. */
export async function readRange(handle: FileHandle, start: number, end: number): Promise<Buffer> {
  const range = Buffer.allocUnsafeSlow(Math.max(0, end - start));
  for (let at = 0; at < range.length;) {
    const { bytesRead } = await handle.read(range, at, range.length - at, start + at);
    if (bytesRead === 0) throw new Error(`a scratch file ends after ${start + at} of ${end} requested bytes`);
    at += bytesRead;
  }
  return range;
}
