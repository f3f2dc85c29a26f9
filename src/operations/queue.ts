import {
  createHold,
  dropWaiting,
  listHolds,
  listWaiting,
  readQueue,
  readQueuedEmail,
  releaseHold,
  retryWaiting,
} from '../mail/queue-admin/index.ts';
import { pageOf, type Operations } from './operation.ts';

/** Nodes besides this one look at the queue twice a second. */
export const queue = {
  getQueue: (ctx) => readQueue(ctx.store),
  listQueuedDeliveries: (ctx, { query = {} }) => listWaiting(ctx.store, query, pageOf(query)),
  getQueuedEmail: (ctx, { path }) => readQueuedEmail(ctx.store, path.queued_email_id),
  listQueueHolds: (ctx, { query }) => listHolds(ctx.store, pageOf(query)),
  createQueueHold: (ctx, { body }) => createHold(ctx, body),
  releaseQueueHold: (ctx, { path }) => releaseHold(ctx, path.hold_id).finally(ctx.services.wakeQueue),
  retryQueue: (ctx, { body }) => retryWaiting(ctx, body).finally(ctx.services.wakeQueue),
  dropQueue: (ctx, { body }) => dropWaiting(ctx, body),
} satisfies Partial<Operations>;
