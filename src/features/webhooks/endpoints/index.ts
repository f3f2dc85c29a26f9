/**
 * Webhooks: a team's endpoints, what each of them is told, and what became of telling it. It promises that a signing
 * secret is shown once and kept sealed. It connects to nothing and posts nothing: `features/webhooks/delivery` does.
 */
export {
  addWebhook,
  mustAllowWebhook,
  type NewWebhook,
  changeWebhook,
  type WebhookUpdate,
  deleteWebhook,
  disableWebhook,
  parkWhatIsDue,
  readEndpoint,
  getWebhook,
  listWebhooks,
  rotateWebhookSecret,
  newSigningSecret,
  SEALED_WEBHOOK_SECRETS,
  signingSecretsOf,
} from './webhooks.ts';
export {
  recordAttempts,
  recordHealth,
  type Attempt,
  bringBackEvents,
  erasePayloads,
  insertPayloads,
  type PayloadRow,
} from './webhook-events.store.ts';
export {
  getWebhookEvent,
  listParkedWebhookEvents,
  listWebhookAttempts,
  listWebhookEvents,
  replayWebhookEvent,
} from './webhook-events.ts';
export { payloadsOf, type PayloadOrder, type WritePayloads } from './payload.ts';
export { endpointLeases, leaseEndpoints, countWebhooks, findWebhook, noteTold } from './webhooks.store.ts';
export {
  deletedWebhooks,
  halfParkedWebhooks,
  teamsWithOldWebhookEvents,
  webhooksOf,
  removeEmptyWebhook,
  removePayloads,
  removeWebhookEvents,
} from './old-webhook-events.store.ts';
export { triggerWebhook } from './sample-event.ts';
