import { createHash } from 'node:crypto';
import { Refusal, refuse } from '../../../platform/refusal/index.ts';
import { newToken } from '../../../platform/secrets/index.ts';
import type { Executor } from '../../../platform/db/index.ts';
import { readImageHead, type ImageHead } from '../../../protocol/image-head/index.ts';
import { lockTeam, type Ctx } from '../../../tenancy/access/index.ts';
import {
  contentsPlacer,
  insertContents,
  putFiles,
  type ContentRow,
  type FileRow,
} from '../../../mail/contents/index.ts';
import { contentKey } from './content-key.ts';
import { findImageByHash, imageBytesOf, insertImage, type ImageRow } from './images.store.ts';
import { presentImage } from './present.ts';

/** A picture is small in bytes and may be huge when it is drawn: mail programs would run out of memory over it. */
const SIDE_MAX = 10_000;
const PIXELS_MAX = 50_000_000;

/** Stores a picture; one that the team has already is answered as it is. */
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
    // Before the row that names it.
    const contents = [...rows, ...(await putFiles(store, files))];
    const stored = await store.db.tx((tx) => write(ctx, tx, row, contents));
    if (stored.id !== id) await store.blobs.remove(id);
    return presentImage(store, stored);
  } catch (error) {
    // After any other failure it is unknown whether the row was written.
    if (error instanceof Refusal) await store.blobs.remove(id);
    throw error;
  }
}

/** Answers the picture as it is stored: another upload of the same bytes may have come first. */
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
  const taken = await imageBytesOf(tx, row.team_id);
  if (taken + row.bytes > bytesMax) {
    throw refuse('validation_error', {
      status: 422,
      say: `The images of this team may weigh ${bytesMax} bytes together (images.max_bytes_per_team of this server); ${taken} are taken, and this one has ${row.bytes}. Delete some.`,
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
        ? 'The body is no PNG, JPEG, GIF or WebP picture by its first bytes; send the bytes of the file as they are, neither as a form nor as JSON.'
        : `The body begins as ${head.type} and its size cannot be read; it was cut short or is damaged.`,
    );
  }
  const { width, height } = head;
  if (width > SIDE_MAX || height > SIDE_MAX || width * height > PIXELS_MAX) {
    throw unfit(
      `The picture is ${width} × ${height} pixels; at most ${SIDE_MAX} a side and ${PIXELS_MAX} in all are taken.`,
    );
  }
  return head;
}

const unfit = (say: string): Refusal => refuse('validation_error', { status: 422, say });
