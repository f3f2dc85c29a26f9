import { copyFile, link, mkdir, open, readFile, readdir, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { eachLimit } from '../limits/index.ts';
import { MARK_FILE, readMark, writeMark } from '../installation-mark/index.ts';
import {
  NoSuchBlob,
  createDigester,
  digestOfBytes,
  type BlobDigest,
  type BlobLink,
  type Blobs,
  type BlobSpool,
  type ByteRange,
  type NewBlob,
} from './blobs.ts';
import { PART, isOwner, partsOfKey, toShard, openScratchFile, readRange } from './blob-files.ts';

/** A disk syncs several files in almost the time of one; more would only wait for each other. */
const AT_ONCE_MAX = 16;

/**
 * Stores blobs as files, complete and synced when `put` resolves. A crash leaves at most a temporary file that no
 * reader asks for.
 */
export function openFileBlobs(root: string): Blobs {
  const locateFolder = (owner: string): string => path.join(root, toShard(owner), owner);

  function locateFile(key: string): { folder: string; file: string } {
    const { owner, name } = partsOfKey(key);
    const folder = locateFolder(owner);
    return { folder, file: path.join(folder, name) };
  }
  let puts = 0;
  /** Callers that arrive together share one check, because each costs a sync. */
  let probing: Promise<void> | undefined;

  async function putAll(blobs: readonly NewBlob[]): Promise<BlobDigest[]> {
    const files = blobs.map(({ key, content }, at) => ({ ...locateFile(key), content, at }));
    const folders = new Set(files.map(({ folder }) => folder));
    const digests: BlobDigest[] = [];
    await eachLimit(folders, AT_ONCE_MAX, (folder) => makeFolder(root, folder));
    await eachLimit(files, AT_ONCE_MAX, async ({ file, content, at }) => {
      await write(file, content);
      digests[at] = await digestOfBytes(content);
    });
    await eachLimit(folders, AT_ONCE_MAX, syncFolder);
    return digests;
  }

  async function putStream(key: string, content: AsyncIterable<Uint8Array>): Promise<BlobDigest> {
    const { folder, file } = locateFile(key);
    const digester = createDigester();
    await makeFolder(root, folder);
    await write(file, digester.watch(content));
    await syncFolder(folder);
    return digester.end();
  }

  async function write(file: string, content: Uint8Array | AsyncIterable<Uint8Array>): Promise<void> {
    const temporary = `${file}.${process.pid}-${++puts}${PART}`;
    try {
      await writeSynced(temporary, content);
      await rename(temporary, file);
    } catch (error) {
      // On a full disk, a partly written file must not be in the way of the next attempt.
      await rm(temporary, { force: true }).catch(() => undefined);
      throw error;
    }
  }

  return {
    place: root,
    put: async (key, content) => void (await putAll([{ key, content }])),
    putStream,
    putAll,
    linkAll: (links) => linkFiles(root, links, { locateFile, nextNumber: () => ++puts }),
    check: () => (probing ??= probe(root).finally(() => (probing = undefined))),
    get: async (key) => readFile(locateFile(key).file).catch(namingBlob(key)),
    size: async (key) => (await stat(locateFile(key).file)).size,
    digest: async (key) => digestFile(locateFile(key).file),
    locate: (key) => locateFile(key).file,
    dropCopy: async () => undefined,
    async spool(owner) {
      const folder = locateFolder(owner);
      await makeFolder(root, folder);
      return openSpool({
        root,
        folder,
        temporary: path.join(folder, `spool.${process.pid}-${++puts}${PART}`),
        locateFile,
      });
    },
    scratch: () => openScratchFile(root),
    open: async (key, range) => openFile(locateFile(key).file, range),
    async isEmpty() {
      for await (const _ of ownersIn(root, Infinity)) return false;
      return true;
    },
    remove: async (owner) => rm(locateFolder(owner), { recursive: true, force: true }),
    removeKeys: async (keys) => eachLimit(keys, AT_ONCE_MAX, (key) => rm(locateFile(key).file, { force: true })),
    owners: (beforeMs) => ownersIn(root, beforeMs),
    keys: () => keysIn(root),
    readMark: async () => readMark(root),
    writeMark: async (id) => writeMark(root, id),
    removeMark: async () => rm(path.join(root, MARK_FILE), { force: true }),
    close: async () => undefined,
  };
}

const namingBlob =
  (key: string) =>
  (error: NodeJS.ErrnoException): never => {
    throw error.code === 'ENOENT' ? new NoSuchBlob(key, { cause: error }) : error;
  };

/** Errors of a file system without hard links, or of a file that has the maximum number of links. */
const NO_LINKS: ReadonlySet<string | undefined> = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'EMLINK', 'ENOSYS']);

async function linkFiles(
  root: string,
  links: readonly BlobLink[],
  {
    locateFile,
    nextNumber,
  }: { locateFile: (key: string) => { folder: string; file: string }; nextNumber: () => number },
): Promise<void> {
  const folders = new Set(links.map(({ to }) => locateFile(to).folder));
  await eachLimit(folders, AT_ONCE_MAX, (folder) => makeFolder(root, folder));
  await eachLimit(links, AT_ONCE_MAX, ({ from, to }) => {
    const { file } = locateFile(to);
    const linked = linkFile(locateFile(from).file, `${file}.${process.pid}-${nextNumber()}${PART}`, file);
    return linked.catch(namingBlob(from));
  });
  await eachLimit(folders, AT_ONCE_MAX, syncFolder);
}

/** Link to a temporary name first, because link never replaces an existing file. */
async function linkFile(from: string, temporary: string, file: string): Promise<void> {
  try {
    await link(from, temporary).catch(async (error: NodeJS.ErrnoException) => {
      if (!NO_LINKS.has(error.code)) throw error;
      await copySynced(from, temporary);
    });
    await rename(temporary, file);
  } finally {
    // Renaming onto another name of the same file leaves both names.
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

/** A page of most file systems. */
const PROBE_BYTES = 4096;

/** Throws if nothing can be written, or if what was written cannot be synced. */
async function probe(root: string): Promise<void> {
  await mkdir(root, { recursive: true, mode: 0o700 });
  const file = path.join(root, `.check-${process.pid}`);
  try {
    // An empty file fits on a full disk, and a disk that is gone accepts writes that are never synced.
    await writeSynced(file, Buffer.alloc(PROBE_BYTES));
  } finally {
    await rm(file, { force: true });
  }
}

async function openFile(file: string, range?: ByteRange): ReturnType<Blobs['open']> {
  const handle = await open(file, 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (!handle) return undefined;
  try {
    const { size } = await handle.stat();
    // Node's `end` is inclusive.
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
      if (!isOwner(owner)) continue;
      const folder = await stat(path.join(root, shard, owner)).catch(() => undefined);
      if (folder && folder.mtimeMs < beforeMs) yield owner;
    }
  }
}

async function* keysIn(root: string): AsyncIterable<string> {
  for await (const owner of ownersIn(root, Infinity)) {
    const names = await namesIn(path.join(root, toShard(owner), owner));
    for (const name of names) if (!name.endsWith(PART)) yield `${owner}/${name}`;
  }
}

async function digestFile(file: string): ReturnType<Blobs['digest']> {
  const opened = await openFile(file);
  if (!opened) return undefined;
  const digester = createDigester();
  for await (const piece of opened.content as AsyncIterable<Buffer>) digester.update(piece);
  return digester.end();
}

const namesIn = (folder: string): Promise<string[]> => readdir(folder).catch(() => []);

async function openSpool(at: {
  root: string;
  folder: string;
  temporary: string;
  locateFile: (key: string) => { folder: string; file: string };
}): Promise<BlobSpool> {
  const { root, folder, temporary } = at;
  const handle = await open(temporary, 'wx+', 0o600);
  const digester = createDigester();
  return {
    async write(piece) {
      digester.update(piece);
      await handle.writeFile(piece);
    },
    read: ({ start, end }) => readRange(handle, start, end),
    async keep(key) {
      const to = at.locateFile(key);
      await handle.datasync();
      await makeFolder(root, to.folder);
      await rename(temporary, to.file);
      await syncFolder(to.folder);
      return digester.end();
    },
    async close() {
      await handle.close();
      await rm(folder, { recursive: true, force: true });
    },
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

/** A new folder is durable only once its parent folder is synced. */
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
