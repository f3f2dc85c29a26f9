import { Readable } from 'node:stream';
import type { ByteRange, NewBlob } from '../../platform/blobs/index.ts';
import type { Store } from '../../platform/store/index.ts';
import { contentsOf, findContent, findContentPart, findContentSize, type ContentRow } from './contents.store.ts';

/** Where the contents of one email go. */
export interface Placed {
  /** Written in the commit that writes the email. */
  rows: ContentRow[];
  /** Written, and synced, before it. */
  files: NewBlob[];
}

/** Rows of one request are one commit, during which the one thread does nothing else. */
const ROWS_BYTES_MAX = 1024 * 1024;

export type PlaceContents = (contents: NewBlob[]) => Placed;

/**
 * A file costs three syncs and some fifteen calls of the system, whatever its size; a row shares the sync of its commit
 * and costs the one thread a copy. All contents of an email go to one place, so that its removal knows which. Of the
 * emails of one request those go to rows that come first.
 */
export function contentsPlacer({ config }: Pick<Store, 'config'>): PlaceContents {
  let left = ROWS_BYTES_MAX;
  return (contents) => {
    const bytes = contents.reduce((sum, { content }) => sum + content.length, 0);
    if (bytes > Math.min(config.storage.row_bytes, left)) return { rows: [], files: contents };
    left -= bytes;
    return { rows: contents.map(rowOf), files: [] };
  };
}

/** For what is made within a transaction, where no file can be waited for. */
export const placeInRows: PlaceContents = (contents) => ({ rows: contents.map(rowOf), files: [] });

/** For what has a file already. */
export const placeInFiles: PlaceContents = (contents) => ({ rows: [], files: contents });

function rowOf({ key, content }: NewBlob): ContentRow {
  const { owner, name } = partsOf(key);
  return { owner_id: owner, name, content: Buffer.from(content.buffer, content.byteOffset, content.length) };
}

/** Rejects where there is none. */
export async function readContent({ db, blobs }: Store, key: string): Promise<Buffer> {
  const { owner, name } = partsOf(key);
  return (await findContent(db, owner, name))?.content ?? blobs.get(key);
}

/** A content for another owner: its bytes where they stand in a row, else the key under which the blob store has it. */
export async function referToContent({ db }: Store, key: string): Promise<{ content: Buffer } | { blob: string }> {
  const { owner, name } = partsOf(key);
  const row = await findContent(db, owner, name);
  return row ? { content: row.content } : { blob: key };
}

/** Several of one owner; rejects where one of them is missing. */
export async function readContents({ db, blobs }: Store, owner: string, names: readonly string[]): Promise<Buffer[]> {
  if (names.length === 0) return [];
  const rows = new Map((await contentsOf(db, owner)).map(({ name, content }) => [name, content]));
  return Promise.all(names.map(async (name) => rows.get(name) ?? blobs.get(`${owner}/${name}`)));
}

/** A content from which many parts are asked for: a row is read once, and only then; of a file each part when it is due. */
export function contentParts({ db, blobs }: Store, key: string): (range: ByteRange) => Promise<Readable | undefined> {
  const { owner, name } = partsOf(key);
  let row: ReturnType<typeof findContent> | undefined;
  return async (range) => {
    const stored = await (row ??= findContent(db, owner, name));
    if (stored) return readable(stored.content.subarray(range.start, range.end));
    return (await blobs.open(key, range))?.content;
  };
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

/** What contents weigh in a commit, in rows: 256 rows' worth of them, 4 MB, keep the one thread for some 20 ms. */
export const rowsWorth = (rows: readonly ContentRow[]): number =>
  rows.reduce((sum, { content }) => sum + Math.ceil(content.length / BYTES_A_ROW), 0);

const BYTES_A_ROW = 16 * 1024;

function partsOf(key: string): { owner: string; name: string } {
  const [owner = '', name = ''] = key.split('/');
  return { owner, name };
}
