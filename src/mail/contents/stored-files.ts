import { Readable } from 'node:stream';
import { createDigester, digestOfBytes, type BlobDigest, type ByteRange } from '../../platform/blobs/index.ts';
import type { Store } from '../../platform/store.ts';
import {
  clearDamage,
  damagedFiles,
  findFile,
  insertContents,
  markDamaged,
  type DamagedFile,
  type KnownFile,
} from './contents.store.ts';

/**
 * Thrown for a content that differs from what was stored. Every read compares it: its length before the first byte is
 * returned, and its SHA-256 before the last one. A damaged content is recorded until it is read without a fault again.
 */
export class DamagedContent extends Error {
  readonly key: string;

  constructor(key: string, damage: string, options?: { cause: unknown }) {
    super(`the content ${key} ${damage}`, options);
    this.key = key;
  }
}

interface Expected extends KnownFile {
  /** True if a row describes the content; otherwise only the row that names it knows its size. */
  hasRow: boolean;
}

const toKey = ({ owner_id: owner, name }: Pick<KnownFile, 'owner_id' | 'name'>): string => `${owner}/${name}`;

async function findExpected({ db }: Store, key: string, size: number | undefined): Promise<Expected | undefined> {
  const [owner = '', name = ''] = key.split('/');
  const row = await findFile(db, owner, name);
  if (row) return { ...row, hasRow: true };
  return size === undefined ? undefined : { owner_id: owner, name, size, sha256: null, damage: null, hasRow: false };
}

/** Reads a file into memory. Rejects if it is missing or damaged. */
export async function readWhole(store: Store, key: string): Promise<Buffer> {
  const expected = await findExpected(store, key, undefined);
  const content = await store.blobs.get(key).catch(async (error: NodeJS.ErrnoException) => {
    if (expected && error.code === 'ENOENT') noteDamage(store, expected, MISSING);
    if (expected && error.code === 'EIO') throw await damaged(store, expected, UNREADABLE, error);
    throw error;
  });
  if (!expected) return content;
  const fault = findFault(expected, content.length === expected.size ? await digestOfBytes(content) : content.length);
  if (fault !== undefined) throw await damaged(store, expected, fault);
  noteWhole(store, expected);
  return content;
}

/** Opens a whole file; undefined if there is none. `size` comes from the row that names it. */
export async function openWhole(
  store: Store,
  key: string,
  size?: number,
): Promise<{ size: number; content: Readable } | undefined> {
  const expected = await findExpected(store, key, size);
  const opened = await openOfSize(store, key, expected);
  if (!opened || !expected) return opened;
  async function* verified(content: Readable, file: Expected): AsyncGenerator<Buffer> {
    const digester = createDigester();
    let last: Buffer | undefined;
    for await (const piece of readPieces(store, file, content)) {
      if (last) yield last;
      digester.update(piece);
      last = piece;
    }
    const fault = findFault(file, digester.end());
    if (fault !== undefined) throw await damaged(store, file, fault);
    noteWhole(store, file);
    if (last) yield last;
  }
  return { size: opened.size, content: toStream(verified(opened.content, expected), opened.content) };
}

/** Opens a range of a file, of which only the lengths are compared; undefined if there is none. */
export async function openRange(
  store: Store,
  key: string,
  { range, size }: { range: ByteRange; size?: number | undefined },
): Promise<{ size: number; content: Readable } | undefined> {
  const expected = await findExpected(store, key, size);
  const opened = await openOfSize(store, key, expected, range);
  if (!opened || !expected) return opened;
  async function* counted(content: Readable, file: Expected): AsyncGenerator<Buffer> {
    let left = range.end - range.start;
    for await (const piece of readPieces(store, file, content)) {
      left -= piece.length;
      yield piece;
    }
    if (left !== 0) throw await damaged(store, file, `ends before byte ${range.end} of ${file.size}`);
  }
  return { size: opened.size, content: toStream(counted(opened.content, expected), opened.content) };
}

export async function sizeOfFile(store: Store, key: string): Promise<number> {
  return (await findExpected(store, key, undefined))?.size ?? store.blobs.size(key);
}

/** Lists the files that are known to be damaged. */
export const listDamaged = ({ db }: Pick<Store, 'db'>, limit: number): Promise<DamagedFile[]> =>
  damagedFiles(db, limit);

const CHECKED_MAX = 1000;

/**
 * Reads the damaged files again, so that a file that was restored is no longer a finding. Returns how many are whole.
 */
export async function recheckDamaged(store: Store): Promise<number> {
  let whole = 0;
  for (const file of await damagedFiles(store.db, CHECKED_MAX)) if (await isWhole(store, toKey(file))) whole++;
  return whole;
}

/** Reads a file to its end, and records whether it is damaged. */
export async function isWhole(store: Store, key: string): Promise<boolean> {
  try {
    const opened = await openWhole(store, key);
    if (!opened) return false;
    for await (const _ of opened.content) continue;
    return true;
  } catch (error) {
    if (error instanceof DamagedContent) return false;
    throw error;
  }
}

const MISSING = 'is missing';
const UNREADABLE = 'cannot be read: the disk reports an error (EIO)';

async function openOfSize(store: Store, key: string, expected: Expected | undefined, range?: ByteRange) {
  const opened = await store.blobs.open(key, range);
  if (!expected) return opened;
  if (!opened) {
    noteDamage(store, expected, MISSING);
    return undefined;
  }
  if (opened.size === expected.size) return opened;
  opened.content.destroy();
  throw await damaged(store, expected, wrongSize(opened.size, expected.size));
}

async function* readPieces(store: Store, file: Expected, content: Readable): AsyncGenerator<Buffer> {
  try {
    yield* content as AsyncIterable<Buffer>;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EIO') throw error;
    throw await damaged(store, file, UNREADABLE, error);
  }
}

/** Destroys `source` together with the stream, even if nothing was read from it. */
function toStream(pieces: AsyncGenerator<Buffer>, source: Readable): Readable {
  const stream = Readable.from(pieces, { objectMode: false });
  stream.once('close', () => source.destroy());
  return stream;
}

const wrongSize = (found: number, expected: number): string => `has ${found} bytes, and ${expected} were stored`;

/** Compares a finished reading with what was stored; returns the fault. */
function findFault(expected: Expected, found: BlobDigest | number): string | undefined {
  const size = typeof found === 'number' ? found : found.size;
  if (size !== expected.size) return wrongSize(size, expected.size);
  const isSame = expected.sha256 === null || typeof found === 'number' || found.sha256 === expected.sha256;
  return isSame ? undefined : 'has another SHA-256 than what was stored';
}

async function damaged(store: Store, file: Expected, damage: string, cause?: unknown): Promise<DamagedContent> {
  noteDamage(store, file, damage);
  // The store may have an undamaged copy.
  await store.blobs.dropCopy(toKey(file));
  return new DamagedContent(toKey(file), damage, cause === undefined ? undefined : { cause });
}

/** Records damage without waiting, because the reader may be in a transaction. */
function noteDamage(store: Store, file: Expected, damage: string): void {
  // The damage is recorded already.
  if (file.damage === damage) return;
  const key = toKey(file);
  store.log.error({ blob: store.blobs.locate(key), damage }, 'stored content is damaged');
  const { owner_id, name, size, sha256 } = file;
  const noted = store.db.tx(async (tx) => {
    const count = await markDamaged(tx, file, { damage, at: store.clock.now() });
    // Content of an earlier version has no row yet. A missing file may have been removed with its owner.
    if (count > 0 || file.hasRow || damage === MISSING) return;
    await insertContents(tx, [{ owner_id, name, size, sha256 }]);
    await markDamaged(tx, file, { damage, at: store.clock.now() });
  });
  noted.catch((error: unknown) => store.log.error({ err: error, key }, 'could not record that content is damaged'));
}

function noteWhole(store: Store, file: Expected): void {
  if (file.damage === null) return;
  const key = toKey(file);
  store.log.info({ blob: store.blobs.locate(key) }, 'content that was damaged is intact again');
  const noted = store.db.tx((tx) => clearDamage(tx, file));
  noted.catch((error: unknown) =>
    store.log.error({ err: error, key }, 'could not record that content is intact again'),
  );
}
