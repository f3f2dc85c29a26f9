import { createHash } from 'node:crypto';
import { Refusal, refuse, notFound } from '../../../platform/refusal.ts';
import { newToken } from '../../../platform/secrets/index.ts';
import type { Executor, Page } from '../../../platform/db/index.ts';
import { readImageHead, type ImageHead, type ImageType } from '../../../protocol/image-head.ts';
import { lockTeam, type Ctx } from '../../../tenancy/access/index.ts';
import {
  contentsPlacer,
  insertContents,
  putFiles,
  openContent,
  removeContents,
  type ContentRow,
  type FileRow,
} from '../../../mail/contents/index.ts';
import {
  findImageByHash,
  sumImageBytes,
  insertImage,
  findImage,
  findServedImage,
  imagesByTokens,
  insertUses,
  listImageRows,
  deleteImageRow,
  lockImage,
  listUses,
  type ImageRow,
} from './images.store.ts';
import type { Readable } from 'node:stream';
import type { Store } from '../../../platform/store.ts';
import { isTrackingHostOfOthers } from '../../../mail/domains/index.ts';
import { isoTime } from '../../../platform/clock.ts';

const ENDINGS: Record<ImageType, string> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/gif': 'gif',
  'image/webp': 'webp',
};

/** Returns the path of an image, which stays the same as long as the image exists, on every host of ours. */
const imagePath = ({ token, content_type: type }: Pick<ImageRow, 'token' | 'content_type'>): string =>
  `/i/${token}.${ENDINGS[type]}`;

/** 192 random bits, as made by `newToken`. */
const PATH = /\/i\/([A-Za-z0-9_-]{32})\.(?:png|jpg|gif|webp)(?![A-Za-z0-9_-])/;
const PATHS = new RegExp(PATH, 'g');

/** Returns the token in the path of an image address; undefined if it is none. */
export const tokenInPath = (path: string): string | undefined =>
  new RegExp(`^${PATH.source}(?:\\?.*)?$`).exec(path)?.[1];

/** Returns the distinct tokens in a text; only the database knows whether they are ours. */
const tokensIn = (text: string): Set<string> => new Set([...text.matchAll(PATHS)].map(([, token]) => token ?? ''));

/** Returns the distinct image addresses under an origin in a text. */
const addressesIn = (text: string, origin: string): string[] => {
  const found = [...text.matchAll(PATHS)].filter(({ index }) => text.startsWith(origin, index - origin.length));
  return [...new Set(found.map(([path]) => `${origin}${path}`))];
};

/** Limits of dimensions: an image with few bytes may be huge when drawn, and mail programs would run out of memory. */
const SIDE_MAX = 10_000;
const PIXELS_MAX = 50_000_000;

/** Stores an image; returns the existing one if the team has it already. */
export async function createImage(ctx: Ctx, content: Buffer) {
  const { store, teamId } = ctx;
  const head = mustBePicture(content);
  const hash = createHash('sha256').update(content).digest('hex');
  const known = await findImageByHash(store.db, teamId, hash);
  if (known) return presentImage(store, known);
  const id = store.ids.uuid();
  const row: ImageRow = {
    id,
    team_id: teamId,
    token: newToken(''),
    content_hash: hash,
    content_type: head.type,
    bytes: content.length,
    width: head.width,
    height: head.height,
    created_at: store.clock.now(),
  };
  const { rows, files } = contentsPlacer(store)([{ key: contentKey(id), content }]);
  try {
    // Runs before the row that names the content is written.
    const contents = [...rows, ...(await putFiles(store, files))];
    const stored = await store.db.tx((tx) => write(ctx, tx, row, contents));
    if (stored.id !== id) await store.blobs.remove(id);
    return presentImage(store, stored);
  } catch (error) {
    // It is unknown after any other failure whether the row was written.
    if (error instanceof Refusal) await store.blobs.remove(id);
    throw error;
  }
}

/** Writes an image; returns it as stored, since another upload of the same bytes may have come first. */
async function write(
  { store }: Ctx,
  tx: Executor,
  row: ImageRow,
  contents: readonly (ContentRow | FileRow)[],
): Promise<ImageRow> {
  await lockTeam(tx, row.team_id);
  const known = await findImageByHash(tx, row.team_id, row.content_hash);
  if (known) return known;
  const { max_bytes_per_team: bytesMax } = store.config.images;
  const taken = await sumImageBytes(tx, row.team_id);
  if (taken + row.bytes > bytesMax) {
    throw refuse('validation_error', {
      status: 422,
      say: `The images of this team may have at most ${bytesMax} bytes in total (images.max_bytes_per_team of this server); ${taken} are used, and this image has ${row.bytes}. Delete some images first.`,
    });
  }
  await insertImage(tx, row);
  await insertContents(tx, contents);
  return row;
}

function mustBePicture(content: Buffer): ImageHead {
  const head = readImageHead(content);
  if ('fault' in head) {
    throw unfit(
      head.fault === 'unknown'
        ? 'The body is not a PNG, JPEG, GIF or WebP image; send the bytes of the file as the body, not as a form or JSON.'
        : `The body begins as ${head.type}, but its dimensions cannot be read; the file is truncated or damaged.`,
    );
  }
  const { width, height } = head;
  if (width > SIDE_MAX || height > SIDE_MAX || width * height > PIXELS_MAX) {
    throw unfit(
      `The image has ${width} × ${height} pixels; at most ${SIDE_MAX} on each side and ${PIXELS_MAX} in total are allowed.`,
    );
  }
  return head;
}

const unfit = (say: string): Refusal => refuse('validation_error', { status: 422, say });

const NAMED_MAX = 3;

/**
 * Deletes an image, which is no longer served from then on. One that is shown in sent or pending mail is deleted only
 * with `force`.
 */
export async function deleteImage({ store, teamId }: Ctx, id: string, { force = false }: { force?: boolean }) {
  await store.db.tx(async (tx) => {
    const row = await lockImage(tx, teamId, id);
    if (!row) throw notFound('Image');
    const shownIn = force ? [] : await listUses(tx, id, NAMED_MAX + 1);
    if (shownIn.length > 0) throw stillShown(shownIn);
    await deleteImageRow(tx, id);
    await removeContents(tx, [id]);
  });
  await store.blobs.remove(id);
  return { object: 'image' as const, id, deleted: true as const };
}

function stillShown(names: readonly string[]) {
  const named = names.slice(0, NAMED_MAX).map((name) => JSON.stringify(name));
  const more = names.length > NAMED_MAX ? ' and more' : '';
  return refuse('resource_locked', {
    say: `Broadcasts that were sent or are being sent show this image: ${named.join(', ')}${more}. Without it, their readers see a gap; to delete it anyway, use force=true.`,
  });
}

export async function getImage({ store, teamId }: Ctx, id: string) {
  const row = await findImage(store.db, teamId, id);
  if (!row) throw notFound('Image');
  return presentImage(store, row);
}

export async function listImages({ store, teamId }: Ctx, page: Page) {
  const { rows, hasMore } = await listImageRows(store.db, teamId, page);
  return { object: 'list' as const, has_more: hasMore, data: rows.map((row) => presentImageItem(store, row)) };
}

/**
 * Returns the image of a token, for anyone who has it; undefined on the tracking host of another team's domain, where
 * it would be shown under a name that is not its team's.
 */
export async function imageOfToken(store: Store, token: string, host: string): Promise<ImageRow | undefined> {
  const row = await findServedImage(store.db, token);
  if (!row) return undefined;
  const isElsewhere = await isTrackingHostOfOthers(store.db, { host, teamId: row.team_id, now: store.clock.now() });
  return isElsewhere ? undefined : row;
}

/** Opens the bytes of an image as a stream, which must be read or destroyed; undefined if it was deleted meanwhile. */
export async function openImage(store: Store, { id, bytes }: ImageRow): Promise<Readable | undefined> {
  return (await openContent(store, contentKey(id), { size: Number(bytes) }))?.content;
}

/** The images of the team in a body, and the addresses under our own host that do not exist; plain data. */
export interface ImagesShown {
  origin: string;
  /** Existing images, in a fixed order. */
  known: readonly (readonly [token: string, bytes: number])[];
  /** Addresses under our own host anywhere in the body, including styles and source lists, that lead nowhere. */
  gone: readonly string[];
}

export async function imagesShownIn(store: Store, db: Executor, teamId: string, html: string): Promise<ImagesShown> {
  const tokens = [...tokensIn(html)];
  const rows = tokens.length === 0 ? [] : await imagesByTokens(db, teamId, tokens);
  const bytes = new Map(rows.map((row) => [row.token, row.bytes]));
  const origin = store.origin();
  const gone = addressesIn(html, origin).filter((address) => !bytes.has(findToken(address) ?? ''));
  return { origin, gone, known: [...bytes].sort(([a], [b]) => (a < b ? -1 : 1)) };
}

const findToken = (address: string): string | undefined => [...tokensIn(address)][0];

/** Returns the size of each image of ours among the addresses of a body, and whether it was deleted. */
export function lookUpImages({ origin, known }: ImagesShown): {
  countBytes(address: string): number;
  isGone(address: string): boolean;
} {
  const bytes = new Map(known);
  return {
    countBytes: (address) => bytes.get(findToken(address) ?? '') ?? 0,
    isGone(address) {
      if (!address.startsWith(`${origin}/`)) return false;
      const token = tokenInPath(address.slice(origin.length));
      return token !== undefined && !bytes.has(token);
    },
  };
}

/** Records which of its team's images the bodies of a broadcast show, in the transaction that fixes them. */
export async function noteBroadcastImages(
  tx: Executor,
  { id, team_id: teamId }: { id: string; team_id: string },
  bodies: { html: string | null; text: string | null },
): Promise<void> {
  const tokens = [...tokensIn(`${bodies.html ?? ''}\n${bodies.text ?? ''}`)];
  if (tokens.length > 0) await insertUses(tx, { teamId, broadcastId: id, tokens });
}

const presentImageItem = (store: Store, row: ImageRow) => ({
  id: row.id,
  url: `${store.origin()}${imagePath(row)}`,
  content_type: row.content_type,
  bytes: row.bytes,
  width: row.width,
  height: row.height,
  created_at: isoTime(row.created_at),
});

const presentImage = (store: Store, row: ImageRow) => ({
  object: 'image' as const,
  ...presentImageItem(store, row),
});

/** Returns the key of an image's bytes among the contents. */
const contentKey = (id: string): string => `${id}/image`;
