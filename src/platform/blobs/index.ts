/**
 * The blob store: what is too large for a row, as files. A blob is whole and synced when `put` resolves; a crash in
 * the middle leaves only a temporary name that nobody reads. Names are ours (ids), never a caller's.
 */
import { mkdir, open, readFile, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';

export interface NewBlob {
  key: string;
  content: Uint8Array;
}

/** A disk syncs several files in nearly the time of one; more would only wait for each other. */
const AT_ONCE_MAX = 16;

export interface Blobs {
  /** Keys are `<owner id>/<name>`; writing the same key again replaces it. */
  put(key: string, content: Uint8Array): Promise<void>;
  /** Many of them, each whole and synced when it resolves; a failure leaves any of them or none. */
  putAll(blobs: readonly NewBlob[]): Promise<void>;
  get(key: string): Promise<Buffer>;
  /** To be read piece by piece, and destroyed where it is not; undefined where there is no such blob. */
  open(key: string): Promise<{ size: number; content: Readable } | undefined>;
  /** Removes everything an owner has; removing what is not there is no fault. */
  remove(owner: string): Promise<void>;
  /** The owners whose folder was last changed before `beforeMs`, for the sweep of what a crash left behind. */
  owners(beforeMs: number): AsyncIterable<string>;
  /** Rejects when nothing can be written. */
  check(): Promise<void>;
}

/** No dot in an owner and none at the start of a name: neither can step out of its folder. */
const OWNER_FORM = /^[a-z0-9_-]{2,}$/i;
const NAME_FORM = /^[a-z0-9_-][a-z0-9_.-]*$/i;

/** How the name of a file ends while it is written. */
const PART = '.part';

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

  async function write(file: string, content: Uint8Array): Promise<void> {
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
    putAll,
    async check() {
      await mkdir(root, { recursive: true, mode: 0o700 });
      const probe = path.join(root, `.check-${process.pid}`);
      await writeFile(probe, '', { mode: 0o600 });
      await rm(probe, { force: true });
    },
    get: async (key) => readFile(fileOf(key).file),
    async open(key) {
      const handle = await open(fileOf(key).file, 'r').catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return undefined;
        throw error;
      });
      if (!handle) return undefined;
      try {
        return { size: (await handle.stat()).size, content: handle.createReadStream() };
      } catch (error) {
        await handle.close();
        throw error;
      }
    },
    remove: async (owner) => rm(folderOf(owner), { recursive: true, force: true }),
    async *owners(beforeMs) {
      for (const shard of await namesIn(root)) {
        for (const owner of await namesIn(path.join(root, shard))) {
          if (!OWNER_FORM.test(owner)) continue;
          const folder = await stat(path.join(root, shard, owner)).catch(() => undefined);
          if (folder && folder.mtimeMs < beforeMs) yield owner;
        }
      }
    },
  };
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

async function writeSynced(file: string, content: Uint8Array): Promise<void> {
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
