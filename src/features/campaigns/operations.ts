import type { Accept } from '../../mail/accept/index.ts';
import {
  cancelBroadcast,
  createBroadcast,
  deleteBroadcast,
  duplicateBroadcast,
  pauseBroadcast,
  resumeBroadcast,
  updateBroadcast,
} from './broadcasts/change-broadcast.ts';
import {
  getBroadcast,
  getBroadcastChecklist,
  listBroadcastExclusions,
  listBroadcastLinks,
  listBroadcastRecipients,
  listBroadcasts,
} from './broadcasts/read-broadcasts.ts';
import { previewBroadcast } from './broadcasts/preview-broadcast.ts';
import { listBroadcastReviews } from './broadcasts/reviews.ts';
import { archiveBroadcast, unarchiveBroadcast } from './broadcasts/archive.ts';
import { sendBroadcast } from './broadcasts/send-broadcast.ts';
import { testBroadcast } from './sending/test-broadcast.ts';
import { readIdempotency } from '../../mail/accept/index.ts';
import { freeBroadcastMail } from '../../mail/queue-admin/index.ts';
import { readPage, type OperationTable } from '../../tenancy/access/index.ts';
import type { World } from '../../platform/world.ts';

export const broadcasts = {
  createBroadcast: (ctx, { body, header }) => {
    const idempotency = readIdempotency(ctx, header, { operation: 'createBroadcast', said: body });
    return ctx.services.accept.writeIdempotently(ctx, { idempotency, isGrowing: false }, (keep) =>
      createBroadcast(ctx, body, keep),
    );
  },
  listBroadcasts: (ctx, { query = {} }) => listBroadcasts(ctx, query, readPage(query)),
  getBroadcast: (ctx, { path }) => getBroadcast(ctx, path.broadcast_id),
  updateBroadcast: (ctx, { path, body }) => updateBroadcast(ctx, path.broadcast_id, body),
  deleteBroadcast: (ctx, { path }) => deleteBroadcast(ctx, path.broadcast_id),
  sendBroadcast: (ctx, { path, body }) => sendBroadcast(ctx, path.broadcast_id, body),
  cancelBroadcast: (ctx, { path }) => thenFreeMail(ctx, cancelBroadcast(ctx, path.broadcast_id)),
  pauseBroadcast: (ctx, { path }) => pauseBroadcast(ctx, path.broadcast_id),
  resumeBroadcast: (ctx, { path }) => thenFreeMail(ctx, resumeBroadcast(ctx, path.broadcast_id)),
  archiveBroadcast: (ctx, { path }) => archiveBroadcast(ctx, path.broadcast_id),
  unarchiveBroadcast: (ctx, { path }) => unarchiveBroadcast(ctx, path.broadcast_id),
  duplicateBroadcast: (ctx, { path, body }) => duplicateBroadcast(ctx, path.broadcast_id, body),
  listBroadcastRecipients: (ctx, { path, query }) =>
    listBroadcastRecipients(ctx, path.broadcast_id, query, readPage(query)),
  listBroadcastExclusions: (ctx, { path, query }) => listBroadcastExclusions(ctx, path.broadcast_id, readPage(query)),
  listBroadcastLinks: (ctx, { path, query }) => listBroadcastLinks(ctx, path.broadcast_id, readPage(query)),
  listBroadcastReviews: (ctx, { path, query }) => listBroadcastReviews(ctx, path.broadcast_id, readPage(query)),
  getBroadcastChecklist: (ctx, { path }) => getBroadcastChecklist(ctx, path.broadcast_id),
  previewBroadcast: (ctx, { path, body }) => previewBroadcast(ctx, path.broadcast_id, body),
  testBroadcast: (ctx, { path, body }) => testBroadcast(ctx, ctx.services.accept, path.broadcast_id, body),
  runBroadcastChecks: (ctx, { path }) => getBroadcastChecklist(ctx, path.broadcast_id),
} satisfies OperationTable<World, { services: { accept: Accept; wakeQueue: () => void } }>;

/** Waits for a change that ends a hold or a pause, and then releases the mail of the broadcast or removes it from the queue. */
async function thenFreeMail<Answer extends { id: string }>(
  { store, services }: { store: World; services: { wakeQueue: () => void } },
  change: Promise<Answer>,
): Promise<Answer> {
  const answer = await change;
  if ((await freeBroadcastMail(store, answer.id)) > 0) services.wakeQueue();
  return answer;
}
