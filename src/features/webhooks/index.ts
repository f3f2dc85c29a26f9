/**
 * Webhooks: a team's endpoints, what each of them is told, and what became of telling it. It promises that a signing
 * secret is shown once and kept sealed. It connects to nothing and posts nothing: `features/webhooks/delivery` does.
 */
export {
  deletedWebhooks,
  halfParkedWebhooks,
  removeEmptyWebhook,
  removePayloads,
  removeWebhookEvents,
  teamsWithOldWebhookEvents,
  webhooksOf,
} from './endpoints/old-webhook-events.store.ts';
export { bringBackEvents, erasePayloads, recordAttempts } from './endpoints/webhook-events.store.ts';
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
