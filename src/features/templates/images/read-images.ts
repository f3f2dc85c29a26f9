import type { Readable } from 'node:stream';
import type { Executor, Page } from '../../../platform/db/index.ts';
import { notFound } from '../../../platform/refusal/index.ts';
import type { Store } from '../../../platform/store/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { openContent } from '../../../mail/contents/index.ts';
import { isTrackingHostOfOthers } from '../../../mail/domains/index.ts';
import { contentKey } from './content-key.ts';
import { addressesIn, tokenInPath, tokensIn } from './image-address.ts';
import {
  findImage,
  findServedImage,
  imagesByTokens,
  insertUses,
  listImageRows,
  type ImageRow,
} from './images.store.ts';
import { presentImage, presentImageItem } from './present.ts';

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
 * The picture behind a token, for anybody who has it. On the tracking host of another team's domain it is not there: it would
 * be shown under a name that is not its team's.
 */
export async function imageOfToken(store: Store, token: string, host: string): Promise<ImageRow | undefined> {
  const row = await findServedImage(store.db, token);
  if (!row) return undefined;
  const isElsewhere = await isTrackingHostOfOthers(store.db, { host, teamId: row.team_id, now: store.clock.now() });
  return isElsewhere ? undefined : row;
}

/** Its bytes, to be read piece by piece, and destroyed where they are not; undefined where it was deleted meanwhile. */
export async function openImage(store: Store, { id, bytes }: ImageRow): Promise<Readable | undefined> {
  return (await openContent(store, contentKey(id), { size: Number(bytes) }))?.content;
}

/** The images of the team in a body, and the addresses under our own host that do not exist; plain data. */
export interface ImagesShown {
  origin: string;
  /** Those that there are, in one order. */
  known: readonly (readonly [token: string, bytes: number])[];
  /** Addresses under our own host that stand anywhere in the body, in a style or a list of sources too, and lead nowhere. */
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
  bytesOf(address: string): number;
  isGone(address: string): boolean;
} {
  const bytes = new Map(known);
  return {
    bytesOf: (address) => bytes.get(findToken(address) ?? '') ?? 0,
    isGone(address) {
      if (!address.startsWith(`${origin}/`)) return false;
      const token = tokenInPath(address.slice(origin.length));
      return token !== undefined && !bytes.has(token);
    },
  };
}

/** Notes which of its team's pictures the bodies of a broadcast show, in the transaction that fixes them. */
export async function noteImagesOf(
  tx: Executor,
  { id, team_id: teamId }: { id: string; team_id: string },
  bodies: { html: string | null; text: string | null },
): Promise<void> {
  const tokens = [...tokensIn(`${bodies.html ?? ''}\n${bodies.text ?? ''}`)];
  if (tokens.length > 0) await insertUses(tx, { teamId, broadcastId: id, tokens });
}
