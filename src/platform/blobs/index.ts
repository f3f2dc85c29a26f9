/**
 * The blob store: what is too large for a row, as files. A blob is whole and synced when `put` resolves; a crash in
 * the middle leaves only a temporary name that nobody reads. Names are ours (ids), never a caller's.
 */
import { copyFile, link, mkdir, open, readFile, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { PART } from './copy-blobs.ts';
import { openScratchFile, type ScratchFile } from './scratch-file.ts';

export { copyBlobs } from './copy-blobs.ts';
export type { ScratchFile } from './scratch-file.ts';

export interface NewBlob {
  key: string;
  content: Uint8Array;
}

export interface BlobLink {
  from: string;
  to: string;
}

export interface BlobWriter {
  write(piece: Uint8Array): Promise<void>;
  /** Whole and synced when it resolves. */
  commit(): Promise<void>;
  discard(): Promise<void>;
}

/** From `start` up to `end`, which is not included. */
export interface ByteRange {
  start: number;
  end: number;
}

/** A disk syncs several files in nearly the time of one; more would only wait for each other. */
const AT_ONCE_MAX = 16;

export interface Blobs {
  /** Keys are `<owner id>/<name>`; writing the same key again replaces it. */
  put(key: string, content: Uint8Array): Promise<void>;
  /** The same as it comes; nothing stands under the key when `content` fails. */
  putStream(key: string, content: AsyncIterable<Uint8Array>): Promise<void>;
  /** Many of them, each whole and synced when it resolves; a failure leaves any of them or none. */
  putAll(blobs: readonly NewBlob[]): Promise<void>;
  get(key: string): Promise<Buffer>;
  size(key: string): Promise<number>;
  /** Content that comes piece by piece; nothing stands under its key before `commit`. */
  write(key: string): Promise<BlobWriter>;
  /** For what is too large for memory and may never be kept. */
  scratch(): Promise<ScratchFile>;
  /**
   * Has other keys name the content of these as well, without a copy of it: it goes with the last key that names it. As
   * durable as what is put; rejects where a content is missing.
   */
  linkAll(links: readonly BlobLink[]): Promise<void>;
  /** All that an owner has becomes another's, who has nothing yet. */
  move(owner: string, to: string): Promise<void>;
  /** To be read piece by piece, and destroyed where it is not; undefined where there is no such blob. */
  open(key: string, range?: ByteRange): Promise<{ size: number; content: Readable } | undefined>;
  /** Removes everything an owner has; removing what is not there is no fault. */
  remove(owner: string): Promise<void>;
  /** Removes these alone; their owners keep what else they have. */
  removeKeys(keys: readonly string[]): Promise<void>;
  /** The owners whose folder was last changed before `beforeMs`, for the sweep of what a crash left behind. */
  owners(beforeMs: number): AsyncIterable<string>;
  isEmpty(): Promise<boolean>;
  /** Rejects when nothing can be written. */
  check(): Promise<void>;
}

/** No dot in an owner and none at the start of a name: neither can step out of its folder. */
const OWNER_FORM = /^[a-z0-9_-]{2,}$/i;
const NAME_FORM = /^[a-z0-9_-][a-z0-9_.-]*$/i;

export const blobsFolder = (dataDir: string): string => path.join(dataDir, 'blobs');

export function openBlobs(root: string): Blobs {
  // The last characters of a UUIDv7 are random; its first ones would put a whole day into one folder.
  function folderOf(owner: string): string {
    if (!OWNER_FORM.test(owner)) throw new Error(`the owner of a blob is an id: ${JSON.stringify(owner)}`);
    return path.join(root, owner.slice(-2), owner);
  }

  function fileOf(key: string): { folder: string; file: string } {
    const [owner = '', name = '', ...rest] = key.split('/');
    const isKey = NAME_FORM.test(name) && !name.endsWith(PART) && rest.length === 0;
    if (!isKey) throw new Error(`a blob key is <owner id>/<name>: ${JSON.stringify(key)}`);
    const folder = folderOf(owner);
    return { folder, file: path.join(folder, name) };
  }
  let puts = 0;

  async function putAll(blobs: readonly NewBlob[]): Promise<void> {
    const files = blobs.map(({ key, content }) => ({ ...fileOf(key), content }));
    const folders = new Set(files.map(({ folder }) => folder));
    await eachAtOnce(folders, (folder) => makeFolder(root, folder));
    await eachAtOnce(files, ({ file, content }) => write(file, content));
    await eachAtOnce(folders, syncFolder);
  }

  async function putStream(key: string, content: AsyncIterable<Uint8Array>): Promise<void> {
    const { folder, file } = fileOf(key);
    await makeFolder(root, folder);
    await write(file, content);
    await syncFolder(folder);
  }

  async function write(file: string, content: Uint8Array | AsyncIterable<Uint8Array>): Promise<void> {
    const temporary = `${file}.${process.pid}-${++puts}${PART}`;
    try {
      await writeSynced(temporary, content);
      await rename(temporary, file);
    } catch (error) {
      // On a full disk the half that was written must not stay in the way of the next try.
      await rm(temporary, { force: true }).catch(() => undefined);
      throw error;
    }
  }

  return {
    put: (key, content) => putAll([{ key, content }]),
    putStream,
    putAll,
    linkAll: (links) => linkFiles(root, links, { fileOf, nextNumber: () => ++puts }),
    check: () => probe(root),
    get: async (key) => readFile(fileOf(key).file).catch(namingBlob(key)),
    size: async (key) => (await stat(fileOf(key).file)).size,
    async write(key) {
      const { folder, file } = fileOf(key);
      await makeFolder(root, folder);
      return openWriter(file, `${file}.${process.pid}-${++puts}${PART}`);
    },
    scratch: () => openScratchFile(root, `scratch-${process.pid}-${++puts}`),
    move: async (owner, to) => moveFolder(root, folderOf(owner), folderOf(to)),
    open: async (key, range) => openFile(fileOf(key).file, range),
    async isEmpty() {
      for await (const _ of ownersIn(root, Infinity)) return false;
      return true;
    },
    remove: async (owner) => rm(folderOf(owner), { recursive: true, force: true }),
    removeKeys: async (keys) => eachAtOnce(keys, (key) => rm(fileOf(key).file, { force: true })),
    owners: (beforeMs) => ownersIn(root, beforeMs),
  };
}

/** Thrown for a blob that is not there, or no longer: whoever named it may have been overtaken by whoever removed it. */
export class NoSuchBlob extends Error {
  readonly code = 'ENOENT';
}

const namingBlob =
  (key: string) =>
  (error: NodeJS.ErrnoException): never => {
    throw error.code === 'ENOENT' ? new NoSuchBlob(`there is no blob ${key}`, { cause: error }) : error;
  };

/** Where a file system knows no links, or this file has as many as it may have. */
const NO_LINKS: ReadonlySet<string | undefined> = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'EMLINK', 'ENOSYS']);

async function linkFiles(
  root: string,
  links: readonly BlobLink[],
  { fileOf, nextNumber }: { fileOf: (key: string) => { folder: string; file: string }; nextNumber: () => number },
): Promise<void> {
  const folders = new Set(links.map(({ to }) => fileOf(to).folder));
  await eachAtOnce(folders, (folder) => makeFolder(root, folder));
  await eachAtOnce(links, ({ from, to }) => {
    const { file } = fileOf(to);
    const linked = linkFile(fileOf(from).file, `${file}.${process.pid}-${nextNumber()}${PART}`, file);
    return linked.catch(namingBlob(from));
  });
  await eachAtOnce(folders, syncFolder);
}

/** By a name of its own first: a link never replaces what has the name. */
async function linkFile(from: string, temporary: string, file: string): Promise<void> {
  try {
    await link(from, temporary).catch(async (error: NodeJS.ErrnoException) => {
      if (!NO_LINKS.has(error.code)) throw error;
      await copySynced(from, temporary);
    });
    await rename(temporary, file);
  } finally {
    // Renaming onto another name of the same file leaves both.
    await rm(temporary, { force: true }).catch(() => undefined);
  }
}

async function copySynced(from: string, to: string): Promise<void> {
  await copyFile(from, to);
  const handle = await open(to, 'r+');
  try {
    await handle.datasync();
  } finally {
    await handle.close();
  }
}

async function moveFolder(root: string, from: string, to: string): Promise<void> {
  await mkdir(path.dirname(to), { recursive: true, mode: 0o700 });
  await rename(from, to);
  await syncFolder(path.dirname(to));
  await syncFolder(root);
}

/** Throws where nothing can be written. */
async function probe(root: string): Promise<void> {
  await mkdir(root, { recursive: true, mode: 0o700 });
  const file = path.join(root, `.check-${process.pid}`);
  await writeFile(file, '', { mode: 0o600 });
  await rm(file, { force: true });
}

async function openFile(file: string, range?: ByteRange): ReturnType<Blobs['open']> {
  const handle = await open(file, 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (!handle) return undefined;
  try {
    const { size } = await handle.stat();
    // Node counts the last byte in.
    const part = range && { start: range.start, end: range.end - 1 };
    return { size, content: handle.createReadStream(part) };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

async function* ownersIn(root: string, beforeMs: number): AsyncIterable<string> {
  for (const shard of await namesIn(root)) {
    for (const owner of await namesIn(path.join(root, shard))) {
      if (!OWNER_FORM.test(owner)) continue;
      const folder = await stat(path.join(root, shard, owner)).catch(() => undefined);
      if (folder && folder.mtimeMs < beforeMs) yield owner;
    }
  }
}

/** Begins nothing more once one has failed, and ends when the last that had begun has. */
async function eachAtOnce<T>(items: Iterable<T>, work: (item: T) => Promise<void>): Promise<void> {
  const left = items[Symbol.iterator]();
  let failure: { error: unknown } | undefined;
  const worker = async (): Promise<void> => {
    for (let next = left.next(); !next.done && !failure; next = left.next()) {
      await work(next.value).catch((error: unknown) => (failure ??= { error }));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE_MAX }, worker));
  if (failure) throw failure.error;
}

const namesIn = (folder: string): Promise<string[]> => readdir(folder).catch(() => []);

async function openWriter(file: string, temporary: string): Promise<BlobWriter> {
  const handle = await open(temporary, 'w', 0o600);
  const discard = async (): Promise<void> => {
    await handle.close().catch(() => undefined);
    await rm(temporary, { force: true });
  };
  return {
    write: async (piece) => void (await handle.writeFile(piece)),
    async commit() {
      try {
        await handle.datasync();
        await handle.close();
        await rename(temporary, file);
      } catch (error) {
        await discard();
        throw error;
      }
      await syncFolder(path.dirname(file));
    },
    discard,
  };
}

async function writeSynced(file: string, content: Uint8Array | AsyncIterable<Uint8Array>): Promise<void> {
  const handle = await open(file, 'w', 0o600);
  try {
    await handle.writeFile(content);
    await handle.datasync();
  } finally {
    await handle.close();
  }
}

/** A new folder is durable only when the folder that names it is synced. */
async function makeFolder(root: string, folder: string): Promise<void> {
  const made = await mkdir(folder, { recursive: true, mode: 0o700 });
  if (made === undefined) return;
  await syncFolder(path.dirname(folder));
  if (made !== folder) await syncFolder(root);
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
