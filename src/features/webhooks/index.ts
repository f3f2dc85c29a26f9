/**
 * Webhooks: the endpoints of a team, the events that each receives, and the results of their delivery. A signing secret
 * is shown once and kept sealed. `features/webhooks/delivery` makes all connections and requests.
 */
export {
  deletedWebhooks,
  halfParkedWebhooks,
  removeEmptyWebhook,
  removePayloads,
  removeWebhookEvents,
  teamsWithOldWebhookEvents,
  listWebhookIds,
} from './endpoints/old-webhook-events.store.ts';
export { bringBackEvents, erasePayloads, listToldEvents, recordAttempts } from './endpoints/webhook-events.store.ts';
export { listWebhookEvents, replayWebhookEvent } from './endpoints/webhook-events.ts';
export { countWebhooks, endpointLeases, leaseEndpoints } from './endpoints/webhooks.store.ts';
export {
  SEALED_WEBHOOK_SECRETS,
  addWebhook,
  changeWebhook,
  disableWebhook,
  listWebhooks,
  parkWhatIsDue,
} from './endpoints/webhooks.ts';
