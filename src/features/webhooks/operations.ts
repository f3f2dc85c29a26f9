import { createWebhook, updateWebhook } from './delivery/write-webhook.ts';
import { deleteWebhook, getWebhook, listWebhooks, rotateWebhookSecret } from './endpoints/webhooks.ts';
import {
  getWebhookEvent,
  listParkedWebhookEvents,
  listWebhookAttempts,
  listWebhookEvents,
  replayWebhookEvent,
} from './endpoints/webhook-events.ts';
import { triggerWebhook } from './endpoints/sample-event.ts';
import { readPage, type OperationTable } from '../../tenancy/access/index.ts';
import type { World } from '../../platform/world.ts';

export const webhooks = {
  createWebhook: (ctx, { body }) => createWebhook(ctx, body),
  listWebhooks: (ctx, { query }) => listWebhooks(ctx, readPage(query), query),
  getWebhook: (ctx, { path }) => getWebhook(ctx, path.webhook_id),
  updateWebhook: (ctx, { path, body }) => updateWebhook(ctx, path.webhook_id, body),
  deleteWebhook: (ctx, { path }) => deleteWebhook(ctx, path.webhook_id),
  rotateWebhookSecret: (ctx, { path }) => rotateWebhookSecret(ctx, path.webhook_id),
  rotateWebhookSigningSecret: (ctx, { path }) => rotateWebhookSecret(ctx, path.webhook_id),
  listWebhookEvents: (ctx, { path, query = {} }) => listWebhookEvents(ctx, path.webhook_id, query, readPage(query)),
  getWebhookEvent: (ctx, { path }) => getWebhookEvent(ctx, path.webhook_id, path.event_id),
  listWebhookAttempts: (ctx, { path, query }) =>
    listWebhookAttempts(ctx, path.webhook_id, path.event_id, readPage(query)),
  replayWebhookEvent: (ctx, { path }) => replayWebhookEvent(ctx, path.webhook_id, path.event_id),
  triggerWebhook: (ctx, { body }) => triggerWebhook(ctx, body),
  listParkedWebhookEvents: (ctx, { path, query = {} }) =>
    listParkedWebhookEvents(ctx, path.webhook_id, query, readPage(query)),
} satisfies OperationTable<World>;
