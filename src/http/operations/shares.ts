import { notFound } from '../../platform/refusal/index.ts';
import {
  createShare,
  readInlineImages,
  readSharedEmail,
  revokeShares,
  type NewShare,
} from '../../resources/shares/index.ts';
import type { Call, KeyHandler, OpenHandler } from '../operation.ts';
import {
  INLINE_IMAGE_BYTES_MAX,
  renderedOnce,
  renderNoSharePage,
  renderShareEnd,
  renderSharePage,
  sharePageHeaders,
} from '../share-page/index.ts';

export const shares: Record<string, KeyHandler> = {
  createShare: (ctx, { path, body }) => createShare(ctx, path.email_id ?? '', body as NewShare),
  revokeShares: (ctx, { path }) => revokeShares(ctx, path.email_id ?? ''),
};

export const sharePages: Record<string, OpenHandler> = { getSharePage };

async function getSharePage({ services: { world }, path, query, header, reply }: Call): Promise<string | Buffer> {
  const withRemoteImages = query['images'] === '1';
  reply.headers(sharePageHeaders(withRemoteImages));
  const email = await readSharedEmail(world, path.token ?? '');
  if (!email) {
    // People follow links, so that they get a page; a program gets the error it gets everywhere.
    if (!/\btext\/html\b/i.test(String(header.accept ?? ''))) throw notFound('Share link');
    reply.code(404).type('text/html; charset=utf-8');
    return renderNoSharePage();
  }
  reply.type('text/html; charset=utf-8');
  // An email never changes, but for how far it came. When the link ends is the link's own.
  const key = [email.id, email.lastEvent, email.scheduledAt, withRemoteImages].join(' ');
  const page = await renderedOnce(world, key, async () => {
    const images = await readInlineImages(world, email, INLINE_IMAGE_BYTES_MAX);
    return renderSharePage({ email, images, withRemoteImages });
  });
  return Buffer.concat([page, Buffer.from(renderShareEnd(email.expiresAt))]);
}
