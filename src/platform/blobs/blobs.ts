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

/** Content that is received piece by piece before its owner is known. */
export interface BlobSpool {
  write(piece: Uint8Array): Promise<void>;
  read(range: ByteRange): Promise<Buffer>;
  /**
   * Stores the content under the key, complete and durable when the promise resolves; nothing can be written after
   * that. The content can still be read here.
   */
  keep(key: string): Promise<BlobDigest>;
  /** Releases the spool; content that was kept stays. */
  close(): Promise<void>;
}

/** From `start` up to but not including `end`. */
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
  /** The location, as shown to an operator: a folder or a bucket. */
  readonly place: string;
  /** Keys are `<owner id>/<name>`; writing the same key again replaces its content. */
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
  /**
   * Drops this machine's copy of a content, so that the next read asks the store; does nothing if there are no copies.
   */
  dropCopy(key: string): Promise<void>;
  /**
   * Returns the digest of the content under a key, by reading it or from what the store recorded; undefined if there is
   * none.
   */
  digest(key: string): Promise<BlobDigest | undefined>;
  /** `owner` is an id without a row, so that the sweep finds what a crash leaves under it. */
  spool(owner: string): Promise<BlobSpool>;
  /** For content that is too large for memory and may never be kept. */
  scratch(): Promise<ScratchFile>;
  /**
   * Lets other keys name the content of these as well, without copying it through this process: the content is removed
   * with the last key that names it. As durable as a put; rejects if a content is missing.
   */
  linkAll(links: readonly BlobLink[]): Promise<void>;
  /**
   * Opens a blob to read it piece by piece; destroy the stream if it is not read to the end. Undefined if there is no
   * such blob.
   */
  open(key: string, range?: ByteRange): Promise<{ size: number; content: Readable } | undefined>;
  /** Removes all blobs of an owner; it is not an error if there are none. */
  remove(owner: string): Promise<void>;
  /** Removes only these keys; their owners keep their other blobs. */
  removeKeys(keys: readonly string[]): Promise<void>;
  /** Lists the owners whose blobs were last changed before `beforeMs`, for the sweep of what remains after a crash. */
  owners(beforeMs: number): AsyncIterable<string>;
  /** Lists every key, for copying all blobs. */
  keys(): AsyncIterable<string>;
  isEmpty(): Promise<boolean>;
  /** Returns the id of the installation in the mark. */
  readMark(): Promise<string | undefined>;
  /** Writes the mark unless there is one, and returns the mark that is there afterwards. */
  writeMark(id: string): Promise<string | undefined>;
  removeMark(): Promise<void>;
  /** Rejects if nothing can be written. */
  check(): Promise<void>;
  close(): Promise<void>;
}

/** Thrown for a blob that does not exist (any more): a removal may have overtaken the caller that names it. */
export class NoSuchBlob extends Error {
  readonly code = 'ENOENT';

  constructor(key: string, options?: { cause: unknown }) {
    super(`there is no blob ${key}`, options);
  }
}

/** Hashes content that arrives in pieces. */
interface Digester {
  update(piece: Uint8Array): void;
  /** Passes `content` on unchanged while hashing it. */
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
  /** Copied already by an earlier call. */
  found: number;
  bytes: number;
  /** Named by a row, but in neither store. */
  missing: number;
}

const BATCH = 256;
const AT_ONCE_MAX = 8;

/**
 * Copies missing blobs, and compares each content with its original afterwards. All servers must be stopped, so that no
 * process writes to either store meanwhile. `named` has the keys that rows name, because a store's listing may not
 * include its newest objects yet.
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
  if (!opened) throw new Error(`${key} was removed from ${from.place} while it was copied`);
  await to.putStream(key, opened.content as AsyncIterable<Buffer>);
  if (!isSame(await to.digest(key), wanted)) throw new Error(`${key} in ${to.place} differs from ${from.place}`);
}

const isSame = (one: BlobDigest | undefined, other: BlobDigest): boolean =>
  one?.size === other.size && one.sha256 === other.sha256;
