import type { BlobDigest, Blobs } from './blobs.ts';
import { eachAtOnce } from './each-at-once.ts';

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
    await eachAtOnce(batch, AT_ONCE_MAX, copy);
    batch = [];
  }
  await eachAtOnce(batch, AT_ONCE_MAX, copy);
  for await (const keys of named)
    await eachAtOnce(keys, AT_ONCE_MAX, async (key) => {
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
