import { Readable } from 'node:stream';
import type { BlobDigest, BlobLink, ByteRange, NewBlob } from '../../platform/blobs/index.ts';
import type { Store } from '../../platform/store.ts';
import {
  listContents,
  filesOfOwners,
  findContent,
  findContentPart,
  findContentSize,
  type ContentRow,
  type FileRow,
} from './contents.store.ts';
import { openWhole, openRange, readWhole, sizeOfFile } from './stored-files.ts';

/** The places where the contents of one email are stored. */
export interface Placed {
  /** Written in the commit that writes the email. */
  rows: ContentRow[];
  /** Written and synced before that commit. */
  files: NewBlob[];
}

/** Rows of one request are one commit, during which the one thread does nothing else. */
const ROWS_BYTES_MAX = 1024 * 1024;

export type PlaceContents = (contents: NewBlob[]) => Placed;

/**
 * Decides where the contents of emails are stored. A file costs three syncs and some fifteen system calls, whatever its
 * size; a row shares the sync of its commit and costs the one thread a copy. All contents of an email go to one place,
 * so that its removal knows which. Of the emails of one request, the first ones get rows.
 */
export function contentsPlacer({ config }: Pick<Store, 'config'>): PlaceContents {
  let left = ROWS_BYTES_MAX;
  return (contents) => {
    const bytes = contents.reduce((sum, { content }) => sum + content.length, 0);
    if (bytes > Math.min(config.storage.row_bytes, left)) return { rows: [], files: contents };
    left -= bytes;
    return { rows: contents.map(toRow), files: [] };
  };
}

/** Places contents that are made within a transaction, which cannot wait for files. */
export const placeInRows: PlaceContents = (contents) => ({ rows: contents.map(toRow), files: [] });

/** Places contents that have a file already. */
export const placeInFiles: PlaceContents = (contents) => ({ rows: [], files: contents });

function toRow({ key, content }: NewBlob): ContentRow {
  const { owner, name } = splitKey(key);
  return { owner_id: owner, name, content: Buffer.from(content.buffer, content.byteOffset, content.length) };
}

/**
 * Writes files, and returns the rows that describe them, for the commit that names the files. Every reading compares a
 * content with its row.
 */
export async function putFiles({ blobs }: Pick<Store, 'blobs'>, files: readonly NewBlob[]): Promise<FileRow[]> {
  if (files.length === 0) return [];
  const digests = await blobs.putAll(files);
  return files.flatMap(({ key }, at) => (digests[at] ? [fileRow(key, digests[at])] : []));
}

/** Links files of other owners, and returns the rows that describe them. A file without a row yet gets none. */
export async function linkFiles({ db, blobs }: Store, links: readonly BlobLink[]): Promise<FileRow[]> {
  if (links.length === 0) return [];
  const known = await filesOfOwners(db, [...new Set(links.map(({ from }) => splitKey(from).owner))]);
  await blobs.linkAll(links);
  const byKey = new Map(known.map((file) => [`${file.owner_id}/${file.name}`, file]));
  return links.flatMap(({ from, to }) => {
    const file = byKey.get(from);
    if (!file) return [];
    const { owner, name } = splitKey(to);
    return [{ owner_id: owner, name, size: file.size, sha256: file.sha256 }];
  });
}

export function fileRow(key: string, { size, sha256 }: BlobDigest): FileRow {
  const { owner, name } = splitKey(key);
  return { owner_id: owner, name, size, sha256 };
}

/** Reads a content. Rejects if there is none, and with `DamagedContent` if it differs from what was stored. */
export async function readContent(store: Store, key: string): Promise<Buffer> {
  const { owner, name } = splitKey(key);
  return (await findContent(store.db, owner, name))?.content ?? readWhole(store, key);
}

/** Returns a content for another owner: its bytes if they are in a row, else its key in the blob store. */
export async function referToContent({ db }: Store, key: string): Promise<{ content: Buffer } | { blob: string }> {
  const { owner, name } = splitKey(key);
  const row = await findContent(db, owner, name);
  return row ? { content: row.content } : { blob: key };
}

/** Reads several contents of one owner. Rejects if one of them is missing or damaged. */
export async function readContents(store: Store, owner: string, names: readonly string[]): Promise<Buffer[]> {
  if (names.length === 0) return [];
  const rows = new Map((await listContents(store.db, owner)).map(({ name, content }) => [name, content]));
  return Promise.all(names.map(async (name) => rows.get(name) ?? readWhole(store, `${owner}/${name}`)));
}

/**
 * Opens a content of `size` bytes for reading many ranges. A row is read once, on first use. A file is read completely
 * once, to verify it, before its first range is returned.
 */
export function contentParts(
  store: Store,
  key: string,
  size: number,
): (range: ByteRange) => Promise<Readable | undefined> {
  const { owner, name } = splitKey(key);
  let row: ReturnType<typeof findContent> | undefined;
  let verified: Promise<void> | undefined;
  return async (range) => {
    const stored = await (row ??= findContent(store.db, owner, name));
    if (stored) return readable(stored.content.subarray(range.start, range.end));
    if (range.start === 0 && range.end === size) return (await openWhole(store, key, size))?.content;
    await (verified ??= verifyFile(store, key, size));
    return (await openRange(store, key, { range, size }))?.content;
  };
}

/** Reads a file to its end. Rejects if it differs from what was stored. */
async function verifyFile(store: Store, key: string, size: number): Promise<void> {
  const opened = await openWhole(store, key, size);
  if (!opened) return;
  for await (const _ of opened.content) continue;
}

export async function sizeOfContent(store: Store, key: string): Promise<number> {
  const { owner, name } = splitKey(key);
  return (await findContentSize(store.db, owner, name)) ?? sizeOfFile(store, key);
}

interface OpenOptions {
  range?: ByteRange | undefined;
  /** The size of the content according to the row that names it. */
  size?: number | undefined;
}

/**
 * Opens a content as a stream, which the caller must destroy if it is not read; undefined if there is no such content.
 * Rejects with `DamagedContent` if its length is wrong; other damage fails the stream before its last piece.
 */
export async function openContent(
  store: Store,
  key: string,
  { range, size }: OpenOptions = {},
): Promise<{ size: number; content: Readable } | undefined> {
  const { owner, name } = splitKey(key);
  if (range) {
    const count = range.end - range.start;
    const part = await findContentPart(store.db, owner, name, { start: range.start, count });
    return part ? { size: part.size, content: readable(part.content) } : openRange(store, key, { range, size });
  }
  const row = await findContent(store.db, owner, name);
  return row ? { size: row.content.length, content: readable(row.content) } : openWhole(store, key, size);
}

const readable = (content: Buffer): Readable => Readable.from([content], { objectMode: false });

/**
 * Returns the weight of contents in a commit, in rows: contents worth 256 rows, 4 MB, keep the one thread busy for some
 * 20 ms.
 */
export const rowsWorth = (rows: readonly (ContentRow | FileRow)[]): number =>
  rows.reduce((sum, row) => sum + ('content' in row ? bytesWorth(row.content.length) : 1), 0);

const BYTES_A_ROW = 16 * 1024;

/** Returns the weight of a row of this many bytes in a commit, in rows. */
export const bytesWorth = (bytes: number): number => Math.ceil(bytes / BYTES_A_ROW);

function splitKey(key: string): { owner: string; name: string } {
  const [owner = '', name = ''] = key.split('/');
  return { owner, name };
}
