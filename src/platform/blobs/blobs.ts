import type { Readable } from 'node:stream';
import type { ScratchFile } from './blob-files.ts';
import { createHash } from 'node:crypto';
import { nextTurn } from '../clock.ts';
import { eachLimit } from '../limits/index.ts';

export interface NewBlob {
  key: string;
  content: Uint8Array;
}

export interface BlobLink {
  from: string;
  to: string;
}

/** Content that comes piece by piece before it is known whose it is. */
export interface BlobSpool {
  write(piece: Uint8Array): Promise<void>;
  read(range: ByteRange): Promise<Buffer>;
  /** Stands under the key, whole and durable, when it resolves; nothing more is written. It can still be read here. */
  keep(key: string): Promise<BlobDigest>;
  /** Lets go of it; what was kept stays. */
  close(): Promise<void>;
}

/** From `start` up to `end`, which is not included. */
export interface ByteRange {
  start: number;
  end: number;
}

export interface BlobDigest {
  size: number;
  /** In hexadecimal. */
  sha256: string;
}

export interface Blobs {
  /** Where they are, as an operator is told: a folder, or a bucket. */
  readonly place: string;
  /** Keys are `<owner id>/<name>`; writing the same key again replaces it. */
  put(key: string, content: Uint8Array): Promise<void>;
  /** Stores a stream; if `content` fails, nothing is stored under the key. Returns the digest of what was written. */
  putStream(key: string, content: AsyncIterable<Uint8Array>): Promise<BlobDigest>;
  /**
   * Stores several contents, each complete and durable when the promise resolves; after a failure any of them may be
   * stored. Returns their digests in order.
   */
  putAll(blobs: readonly NewBlob[]): Promise<BlobDigest[]>;
  get(key: string): Promise<Buffer>;
  size(key: string): Promise<number>;
  /** Returns the name of the file or object under a key, as an operator finds it. */
  locate(key: string): string;
  /** Drops this machine's copy of a content, so that the next read asks the store; does nothing where there are no copies. */
  dropCopy(key: string): Promise<void>;
  /** What stands under a key, by reading all of it or by what the store knows; undefined where nothing does. */
  digest(key: string): Promise<BlobDigest | undefined>;
  /** `owner` is an id that no row has: what a crash leaves is found under it by the sweep. */
  spool(owner: string): Promise<BlobSpool>;
  /** For what is too large for memory and may never be kept. */
  scratch(): Promise<ScratchFile>;
  /**
   * Has other keys name the content of these as well, without it coming by here: it goes with the last key that names it. As
   * durable as what is put; rejects where a content is missing.
   */
  linkAll(links: readonly BlobLink[]): Promise<void>;
  /** To be read piece by piece, and destroyed where it is not; undefined where there is no such blob. */
  open(key: string, range?: ByteRange): Promise<{ size: number; content: Readable } | undefined>;
  /** Removes everything an owner has; removing what is not there is no fault. */
  remove(owner: string): Promise<void>;
  /** Removes these alone; their owners keep what else they have. */
  removeKeys(keys: readonly string[]): Promise<void>;
  /** The owners whose blobs were last changed before `beforeMs`, for the sweep of what a crash left behind. */
  owners(beforeMs: number): AsyncIterable<string>;
  /** Every key there is, for who copies all. */
  keys(): AsyncIterable<string>;
  isEmpty(): Promise<boolean>;
  /** The id of the installation that they are marked with. */
  readMark(): Promise<string | undefined>;
  /** Marks them where they have no mark, and answers the mark they have then. */
  writeMark(id: string): Promise<string | undefined>;
  removeMark(): Promise<void>;
  /** Rejects when nothing can be written. */
  check(): Promise<void>;
  close(): Promise<void>;
}

/** Thrown for a blob that is not there, or no longer: a removal may have overtaken the caller that names it. */
export class NoSuchBlob extends Error {
  readonly code = 'ENOENT';

  constructor(key: string, options?: { cause: unknown }) {
    super(`there is no blob ${key}`, options);
  }
}

/** Hashes content that arrives in pieces. */
interface Digester {
  update(piece: Uint8Array): void;
  /** Passes `content` on unchanged, and hashes it. */
  watch(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array>;
  /** Returns the digest of what has arrived so far. */
  end(): BlobDigest;
}

export function createDigester(): Digester {
  const hash = createHash('sha256');
  let size = 0;
  const update = (piece: Uint8Array): void => {
    hash.update(piece);
    size += piece.length;
  };
  return {
    update,
    async *watch(content) {
      for await (const piece of content) {
        update(piece);
        yield piece;
      }
    },
    end: () => ({ size, sha256: hash.copy().digest('hex') }),
  };
}

/** Size of a piece that takes about a millisecond to hash. */
const SLICE_BYTES = 256 * 1024;

/** Hashes content in memory, and yields to the event loop in between. */
export async function digestOfBytes(content: Uint8Array): Promise<BlobDigest> {
  const digester = createDigester();
  for (let at = 0; at < content.length; at += SLICE_BYTES) {
    if (at > 0) await nextTurn();
    digester.update(content.subarray(at, at + SLICE_BYTES));
  }
  return digester.end();
}

export interface CopiedAll {
  copied: number;
  /** There already, by an earlier call. */
  found: number;
  bytes: number;
  /** Named, and in neither place. */
  missing: number;
}

const BATCH = 256;
const AT_ONCE_MAX = 8;

/**
 * Copies what is not there yet, and compares each content with its original afterwards. Needs all servers stopped: no process writes to
 * either meanwhile. `named`: the keys that rows name, for a store's list may lag behind what it holds.
 */
export async function copyAllBlobs(
  from: Blobs,
  to: Blobs,
  named: AsyncIterable<readonly string[]>,
): Promise<CopiedAll> {
  const sum: CopiedAll = { copied: 0, found: 0, bytes: 0, missing: 0 };
  const copy = async (key: string): Promise<boolean> => {
    const wanted = await from.digest(key);
    if (!wanted) return false;
    const isThere = isSame(await to.digest(key), wanted);
    if (!isThere) await copyOne(from, to, key, wanted);
    sum[isThere ? 'found' : 'copied']++;
    sum.bytes += wanted.size;
    return true;
  };
  let batch: string[] = [];
  for await (const key of from.keys()) {
    if (batch.push(key) < BATCH) continue;
    await eachLimit(batch, AT_ONCE_MAX, copy);
    batch = [];
  }
  await eachLimit(batch, AT_ONCE_MAX, copy);
  for await (const keys of named)
    await eachLimit(keys, AT_ONCE_MAX, async (key) => {
      if (!(await isIn(to, key)) && !(await copy(key))) sum.missing++;
    });
  return sum;
}

const isIn = (blobs: Blobs, key: string): Promise<boolean> =>
  blobs.size(key).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false;
      throw error;
    },
  );

async function copyOne(from: Blobs, to: Blobs, key: string, wanted: BlobDigest): Promise<void> {
  const opened = await from.open(key);
  if (!opened) throw new Error(`${key} went from ${from.place} while it was copied`);
  await to.putStream(key, opened.content as AsyncIterable<Buffer>);
  if (!isSame(await to.digest(key), wanted))
    throw new Error(`${key} in ${to.place} is not what it is in ${from.place}`);
}

const isSame = (one: BlobDigest | undefined, other: BlobDigest): boolean =>
  one?.size === other.size && one.sha256 === other.sha256;
