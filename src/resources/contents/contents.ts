import { Readable } from 'node:stream';
import type { ByteRange, NewBlob } from '../../platform/blobs/index.ts';
import type { Store } from '../../platform/store/index.ts';
import { findContent, findContentPart, findContentSize, type ContentRow } from './contents.store.ts';

/** Where the contents of one email go. */
export interface Placed {
  /** Written in the commit that writes the email. */
  rows: ContentRow[];
  /** Written, and synced, before it. */
  files: NewBlob[];
}

/**
 * A file costs three syncs and some fifteen calls of the system, whatever its size; a row shares the sync of its commit
 * and costs the one thread a copy. All contents of an email go to one place, so that who removes it knows which.
 */
export function placeContents({ config }: Pick<Store, 'config'>, contents: NewBlob[]): Placed {
  const bytes = contents.reduce((sum, { content }) => sum + content.length, 0);
  if (bytes > config.storage.row_bytes) return { rows: [], files: contents };
  const rows = contents.map(({ key, content }) => {
    const { owner, name } = partsOf(key);
    return { owner_id: owner, name, content: Buffer.from(content.buffer, content.byteOffset, content.length) };
  });
  return { rows, files: [] };
}

/** Rejects where there is none. */
export async function readContent({ db, blobs }: Store, key: string): Promise<Buffer> {
  const { owner, name } = partsOf(key);
  return (await findContent(db, owner, name))?.content ?? blobs.get(key);
}

export async function sizeOfContent({ db, blobs }: Store, key: string): Promise<number> {
  const { owner, name } = partsOf(key);
  return (await findContentSize(db, owner, name)) ?? blobs.size(key);
}

/** To be read piece by piece, and destroyed where it is not; undefined where there is no such content. */
export async function openContent(
  { db, blobs }: Store,
  key: string,
  range?: ByteRange,
): Promise<{ size: number; content: Readable } | undefined> {
  const { owner, name } = partsOf(key);
  if (range) {
    const part = await findContentPart(db, owner, name, { start: range.start, count: range.end - range.start });
    return part ? { size: part.size, content: readable(part.content) } : blobs.open(key, range);
  }
  const row = await findContent(db, owner, name);
  return row ? { size: row.content.length, content: readable(row.content) } : blobs.open(key);
}

const readable = (content: Buffer): Readable => Readable.from([content], { objectMode: false });

/** What a content weighs in a commit, in rows: a row of an email is some hundreds of bytes, and as much is copied. */
export const rowsWorth = (rows: readonly ContentRow[]): number =>
  rows.reduce((sum, { content }) => sum + Math.ceil(content.length / BYTES_A_ROW), 0);

const BYTES_A_ROW = 16 * 1024;

function partsOf(key: string): { owner: string; name: string } {
  const [owner = '', name = ''] = key.split('/');
  return { owner, name };
}
