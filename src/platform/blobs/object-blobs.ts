import { createHash, randomUUID, type Hash } from 'node:crypto';
import { createReadStream, existsSync, readFileSync } from 'node:fs';
import {
  open,
  rm,
  writeFile,
  link,
  mkdir,
  readdir,
  rename,
  rmdir,
  stat,
  utimes,
  type FileHandle,
} from 'node:fs/promises';
import { stopwatch, systemClock } from '../clock.ts';
import { eachLimit } from '../limits/index.ts';
import { MARK_FILE } from '../installation-mark/index.ts';
import { openObjectStore, type ObjectBody, type ObjectStore, type ObjectStoreOptions } from '../object-store/index.ts';
import { NoSuchBlob, type BlobDigest, type Blobs, type BlobSpool, type NewBlob } from './blobs.ts';
import { isOwner, partsOfKey, toShard, openScratchFile, readRange, PART } from './blob-files.ts';
import path from 'node:path';

/**
 * Copies of recently stored or read content, so that an email to many destinations is read from the store once. They
 * are not synced and nothing depends on them: the cache is only valid for one boot of the machine, because a file may
 * have lost its content in a crash.
 */
interface BlobCache {
  readonly folder: string;
  /** Returns a name for a file that is written before its key is known. */
  temporary(): Promise<string>;
  /** Returns undefined if the content is not cached. The caller closes the handle. */
  open(key: string): Promise<FileHandle | undefined>;
  /** Moves a temporary file into the cache as the content of this key; removes the file if that fails. */
  adopt(temporary: string, key: string): Promise<void>;
  link(from: string, to: string): Promise<void>;
  remove(owner: string): Promise<void>;
  removeKey(key: string): Promise<void>;
  /** Removes old copies, and the least recently read ones while the cache is too large. */
  trim(): Promise<void>;
}

const BOOT_ID = '/proc/sys/kernel/random/boot_id';
/** Bounds how long content that another node removed stays here. */
const AGE_MS_MAX = 24 * 3_600_000;
/** Content just read or written is likely to be read again. */
const AGE_MS_MIN = 30_000;
const GROWN_SHARE = 16;

interface CacheOptions {
  bytesMax: number;
  /** Files have the times of the machine's clock. */
  now: () => number;
}

function openBlobCache(root: string, { bytesMax, now }: CacheOptions): BlobCache {
  const boot = existsSync(BOOT_ID) ? readFileSync(BOOT_ID, 'utf8').trim() : `process-${process.pid}`;
  const folder = path.join(root, boot);
  const locateFolder = (owner: string): string => path.join(folder, toShard(owner), owner);
  const locateFile = (key: string): string => {
    const { owner, name } = partsOfKey(key);
    return path.join(locateFolder(owner), name);
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
      // Random, because in containers all processes on one data folder may have the same process id.
      return path.join(folder, `${randomUUID()}${PART}`);
    },
    async open(key) {
      const file = locateFile(key);
      const handle = await open(file, 'r').catch(unlessGone);
      if (!handle) return undefined;
      // Keep the modification time, because it decides when the copy expires.
      const written = (await handle.stat()).mtime;
      await utimes(file, new Date(now()), written).catch(unlessGone);
      return handle;
    },
    async adopt(temporary, key) {
      const file = locateFile(key);
      try {
        grown += (await stat(temporary)).size;
        await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
        await rename(temporary, file);
      } catch {
        // For example on a full disk; the store has the content.
        await rm(temporary, { force: true }).catch(() => undefined);
      }
      if (grown > bytesMax / GROWN_SHARE) void trim();
    },
    async link(from, to) {
      const file = locateFile(to);
      await mkdir(path.dirname(file), { recursive: true, mode: 0o700 }).catch(() => undefined);
      await link(locateFile(from), file).catch(() => undefined);
    },
    remove: async (owner) => rm(locateFolder(owner), { recursive: true, force: true }),
    removeKey: async (key) => rm(locateFile(key), { force: true }),
  };
}

interface Trimmed {
  root: string;
  folder: string;
  boot: string;
  bytesMax: number;
  now: number;
}

/**
 * Never rejects, because the content is in the store already. Other processes of this machine may trim the same folder.
 */
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
      // A folder that is not empty is not removed.
      await rmdir(path.join(folder, shard.name, owner)).catch(() => undefined);
    }
  }
}

const unlessGone = (error: NodeJS.ErrnoException): undefined => {
  if (error.code !== 'ENOENT') throw error;
  return undefined;
};

interface ObjectBlobsOptions extends ObjectStoreOptions {
  /** Prefix of all keys; empty, or ending in a slash. */
  prefix: string;
  cacheFolder: string;
  cacheBytes: number;
}

/** Per call. The object store itself bounds the requests of all calls. */
const AT_ONCE_MAX = 16;
const PROBE_MS = 3000;
/** A recent successful write proves that writing works. */
const SHOWN_MS = 20_000;

/**
 * Stores blobs as objects under `<prefix>blobs/<two characters>/<owner>/<name>`, with a cache on this machine's disk.
 * Only sweeps and removals list objects.
 */
export function openObjectBlobs(options: ObjectBlobsOptions): Blobs {
  const { prefix, cacheFolder, cacheBytes } = options;
  const store = openObjectStore(options);
  // Short time limits, because the caller of a check waits for the result.
  const probe = openObjectStore({ ...options, requestsMax: 2, timeoutMs: PROBE_MS, giveUpMs: PROBE_MS });
  const cache = openBlobCache(cacheFolder, { bytesMax: cacheBytes, now: systemClock.now });
  const names = namesUnder(prefix);
  const parts: Parts = { store, probe, cache, names, sinceStored: createSinceStored() };
  return {
    place: `${store.name}${prefix === '' ? '' : `, under ${prefix}`}`,
    ...createWriter(parts),
    ...createReader(store, cache, names),
    ...createRemover(parts),
    scratch: () => openScratchFile(cache.folder),
    locate: (key) => `${store.name}/${names.object(key)}`,
    dropCopy: (key) => cache.removeKey(key),
    owners: (beforeMs) => ownersIn(store, names, beforeMs),
    async *keys() {
      for await (const { key } of store.list(names.all)) {
        const found = names.read(key);
        if (found) yield `${found.owner}/${found.name}`;
      }
    },
    async isEmpty() {
      for await (const _ of probe.list(names.all, { pageMax: 1 })) return false;
      return true;
    },
    ...createMark(probe, `${prefix}${MARK_FILE}`),
    check: createCheck(parts, `${prefix}check`),
    close: async () => void (await Promise.all([store.close(), probe.close()])),
  };
}

interface Parts {
  store: ObjectStore;
  probe: ObjectStore;
  cache: BlobCache;
  names: Names;
  sinceStored: ReturnType<typeof createSinceStored>;
}

function createWriter(parts: Parts): Pick<Blobs, 'put' | 'putAll' | 'putStream' | 'spool' | 'linkAll'> {
  const { store, cache, names, sinceStored } = parts;

  async function upload(key: string, body: ObjectBody): Promise<void> {
    // After a failure the next check must probe, however recently something was stored.
    sinceStored.forget();
    await store.put(names.object(key), body);
    sinceStored.now();
  }

  async function put({ key, content }: NewBlob): Promise<BlobDigest> {
    const bytes = Buffer.from(content.buffer, content.byteOffset, content.length);
    const body = toBody(bytes);
    await upload(key, body);
    const temporary = await cache.temporary();
    // If caching fails, the content is read from the store.
    await writeFile(temporary, bytes, { mode: 0o600 }).then(
      () => cache.adopt(temporary, key),
      () => rm(temporary, { force: true }),
    );
    return { size: body.size, sha256: body.sha256 };
  }

  return {
    put: async (key, content) => void (await put({ key, content })),
    async putAll(blobs) {
      for (const { key } of blobs) partsOfKey(key);
      const digests: BlobDigest[] = [];
      await eachLimit([...blobs.entries()], AT_ONCE_MAX, async ([at, blob]) => {
        digests[at] = await put(blob);
      });
      return digests;
    },
    async putStream(key, content) {
      partsOfKey(key);
      const spool = await openSpool(cache, upload);
      try {
        for await (const piece of content) await spool.write(piece);
        return await spool.keep(key);
      } finally {
        await spool.close();
      }
    },
    spool: () => openSpool(cache, upload),
    linkAll: (links) =>
      eachLimit(links, AT_ONCE_MAX, async ({ from, to }) => {
        if (!(await store.copy(names.object(from), names.object(to)))) throw new NoSuchBlob(from);
        await cache.link(from, to);
      }),
  };
}

const createRemover = ({ store, cache, names }: Parts): Pick<Blobs, 'remove' | 'removeKeys'> => ({
  async remove(owner) {
    const found: string[] = [];
    for await (const { key } of store.list(names.owner(owner))) found.push(key);
    await eachLimit(found, AT_ONCE_MAX, (object) => store.remove(object));
    await cache.remove(owner);
  },
  removeKeys: (keys) =>
    eachLimit(keys, AT_ONCE_MAX, async (key) => {
      await store.remove(names.object(key));
      await cache.removeKey(key);
    }),
});

/** Concurrent callers share one probe. */
function createCheck({ probe, cache, sinceStored }: Parts, object: string): () => Promise<void> {
  let checking: Promise<void> | undefined;

  async function check(): Promise<void> {
    const file = await openScratchFile(cache.folder);
    await file.close();
    if (sinceStored.ms() < SHOWN_MS) return;
    await probe.put(object, toBody(Buffer.from('rasket asks whether it may write here\n')));
    void cache.trim();
  }
  return () => (checking ??= check().finally(() => (checking = undefined)));
}

function toBody(content: Buffer): ObjectBody {
  const hashes = createHashes();
  hashes.update(content);
  return { ...hashes.end(), open: () => content };
}

type Names = ReturnType<typeof namesUnder>;

function namesUnder(prefix: string) {
  const all = `${prefix}blobs/`;
  const owner = (id: string): string => `${all}${toShard(id)}/${id}/`;
  return {
    all,
    owner,
    object(key: string): string {
      const { owner: id, name } = partsOfKey(key);
      return `${owner(id)}${name}`;
    },
    /** Returns undefined for objects of other programs. */
    read(object: string): { owner: string; name: string } | undefined {
      const [, id = '', name, ...rest] = object.slice(all.length).split('/');
      return name !== undefined && rest.length === 0 && isOwner(id) ? { owner: id, name } : undefined;
    },
  };
}

function createOpener(store: ObjectStore, cache: BlobCache, names: Names): BlobCache['open'] {
  const fetching = new Map<string, Promise<boolean>>();

  async function fetchContent(key: string): Promise<boolean> {
    const temporary = await cache.temporary();
    try {
      const isThere = await store.get(names.object(key), (content) => writeFile(temporary, content, { mode: 0o600 }));
      if (isThere) await cache.adopt(temporary, key);
      return isThere;
    } finally {
      await rm(temporary, { force: true });
    }
  }

  /**
   * Used if the cache accepts nothing, for example on a full disk: reads into an unnamed file for this reader alone.
   */
  async function fetchAside(key: string): ReturnType<BlobCache['open']> {
    const temporary = await cache.temporary();
    try {
      const isThere = await store.get(names.object(key), (content) => writeFile(temporary, content, { mode: 0o600 }));
      return isThere ? await open(temporary, 'r') : undefined;
    } finally {
      await rm(temporary, { force: true });
    }
  }

  /** Concurrent readers of one content share one request. Returns undefined if there is no such blob. */
  return async (key) => {
    partsOfKey(key);
    const handle = await cache.open(key);
    if (handle) return handle;
    const under = fetching.get(key) ?? fetchContent(key).finally(() => fetching.delete(key));
    fetching.set(key, under);
    if (!(await under)) return undefined;
    return (await cache.open(key)) ?? fetchAside(key);
  };
}

function createReader(
  store: ObjectStore,
  cache: BlobCache,
  names: Names,
): Pick<Blobs, 'get' | 'size' | 'digest' | 'open'> {
  const opened = createOpener(store, cache, names);
  return {
    async get(key) {
      const handle = await opened(key);
      if (!handle) throw new NoSuchBlob(key);
      try {
        return await handle.readFile();
      } finally {
        await handle.close();
      }
    },
    async open(key, range) {
      const handle = await opened(key);
      if (!handle) return undefined;
      const { size } = await handle.stat();
      // Node's `end` is inclusive.
      return { size, content: handle.createReadStream(range && { start: range.start, end: range.end - 1 }) };
    },
    async size(key) {
      const handle = await cache.open(key);
      const size = handle && (await handle.stat().finally(() => handle.close())).size;
      const found = size ?? (await store.head(names.object(key)))?.size;
      if (found === undefined) throw new NoSuchBlob(key);
      return found;
    },
    async digest(key) {
      const found = await store.head(names.object(key));
      if (!found) return undefined;
      if (found.sha256 !== undefined) return { size: found.size, sha256: found.sha256 };
      const hashes = createHashes();
      const isThere = await store.get(names.object(key), async (content) => {
        hashes.begin();
        for await (const piece of content) hashes.update(piece);
      });
      return isThere ? hashes.end() : undefined;
    },
  };
}

async function openSpool(
  cache: BlobCache,
  upload: (key: string, body: ObjectBody) => Promise<void>,
): Promise<BlobSpool> {
  const temporary = await cache.temporary();
  const handle = await open(temporary, 'wx+', 0o600);
  const hashes = createHashes();
  return {
    async write(piece) {
      hashes.update(piece);
      await handle.writeFile(piece);
    },
    read: ({ start, end }) => readRange(handle, start, end),
    async keep(key) {
      const { size, sha256, md5 } = hashes.end();
      await upload(key, { size, sha256, md5, open: () => createReadStream(temporary) });
      await cache.adopt(temporary, key);
      return { size, sha256 };
    },
    async close() {
      await handle.close();
      await rm(temporary, { force: true });
    },
  };
}

function createHashes() {
  let [sha256, md5, size]: [Hash, Hash, number] = [createHash('sha256'), createHash('md5'), 0];
  return {
    begin: () => void ([sha256, md5, size] = [createHash('sha256'), createHash('md5'), 0]),
    update(piece: Uint8Array): void {
      sha256.update(piece);
      md5.update(piece);
      size += piece.length;
    },
    end: () => ({ size, sha256: sha256.copy().digest('hex'), md5: md5.copy().digest('hex') }),
  };
}

/** Keys are listed in order, so those of one owner are adjacent; an owner is as young as its youngest blob. */
async function* ownersIn(store: ObjectStore, names: Names, beforeMs: number): AsyncIterable<string> {
  let last: { owner: string; changedAt: number } | undefined;
  for await (const { key, modifiedAt } of store.list(names.all)) {
    const owner = names.read(key)?.owner;
    if (owner === undefined) continue;
    if (last && last.owner !== owner && last.changedAt < beforeMs) yield last.owner;
    last = { owner, changedAt: last?.owner === owner ? Math.max(last.changedAt, modifiedAt) : modifiedAt };
  }
  if (last && last.changedAt < beforeMs) yield last.owner;
}

function createMark(store: ObjectStore, key: string): Pick<Blobs, 'readMark' | 'writeMark' | 'removeMark'> {
  async function readMark(): Promise<string | undefined> {
    let text = '';
    const isThere = await store.get(key, async (content) => {
      text = '';
      for await (const piece of content) text += piece.toString();
    });
    const id = text.trim();
    return isThere && id !== '' ? id : undefined;
  }
  return {
    readMark,
    async writeMark(id) {
      const found = await readMark();
      if (found !== undefined) return found;
      await store.put(key, toBody(Buffer.from(`${id}\n`)));
      return readMark();
    },
    removeMark: () => store.remove(key),
  };
}

function createSinceStored() {
  let elapsed: (() => number) | undefined;
  return {
    now: () => void (elapsed = stopwatch()),
    forget: () => void (elapsed = undefined),
    ms: () => elapsed?.() ?? Infinity,
  };
}
