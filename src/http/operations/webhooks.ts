import type { CreateWebhookRequest, UpdateWebhookRequest } from '../../contract/index.ts';
import {
  createWebhook,
  deleteWebhook,
  getWebhook,
  getWebhookEvent,
  listParkedWebhookEvents,
  listWebhookAttempts,
  listWebhookEvents,
  listWebhooks,
  replayWebhookEvent,
  rotateWebhookSecret,
  updateWebhook,
  type ParkedEventsFilter,
  type WebhookEventsFilter,
} from '../../resources/webhooks/index.ts';
import { listenWebhooks } from '../event-stream.ts';
import { CREATED, type Call, type KeyHandler } from '../operation.ts';
import { pageOf } from '../page.ts';

const webhookOf = ({ path }: Call): string => path.webhook_id ?? '';
const eventOf = ({ path }: Call): string => path.event_id ?? '';

export const webhooks: Record<string, KeyHandler> = {
  createWebhook(ctx, { body, reply }) {
    reply.code(CREATED);
    return createWebhook(ctx, body as CreateWebhookRequest);
  },
  listWebhooks: (ctx, { query }) => listWebhooks(ctx, pageOf(query)),
  getWebhook: (ctx, call) => getWebhook(ctx, webhookOf(call)),
  updateWebhook: (ctx, call) => updateWebhook(ctx, webhookOf(call), call.body as UpdateWebhookRequest),
  deleteWebhook: (ctx, call) => deleteWebhook(ctx, webhookOf(call)),
  rotateWebhookSecret: (ctx, call) => rotateWebhookSecret(ctx, webhookOf(call)),
  rotateWebhookSigningSecret: (ctx, call) => rotateWebhookSecret(ctx, webhookOf(call)),
  listWebhookEvents: (ctx, call) =>
    listWebhookEvents(ctx, webhookOf(call), call.query as WebhookEventsFilter, pageOf(call.query)),
  getWebhookEvent: (ctx, call) => getWebhookEvent(ctx, webhookOf(call), eventOf(call)),
  listWebhookAttempts: (ctx, call) => listWebhookAttempts(ctx, webhookOf(call), eventOf(call), pageOf(call.query)),
  replayWebhookEvent: (ctx, call) => replayWebhookEvent(ctx, webhookOf(call), eventOf(call)),
  listenWebhooks,
  listParkedWebhookEvents: (ctx, call) =>
    listParkedWebhookEvents(ctx, webhookOf(call), call.query as ParkedEventsFilter, pageOf(call.query)),
};
