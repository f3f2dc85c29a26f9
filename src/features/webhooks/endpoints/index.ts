/**
 * Webhooks: a team's endpoints, what each of them is told, and what became of telling it. It promises that a signing
 * secret is shown once and kept sealed. It connects to nothing and posts nothing: that is flow's.
 */
export { addWebhook, mustAllowWebhook, type NewWebhook } from './add-webhook.ts';
export { recordAttempts, recordHealth, type Attempt } from './attempts.store.ts';
export { changeWebhook, type WebhookUpdate } from './change-webhook.ts';
export { deleteWebhook } from './delete-webhook.ts';
export { disableWebhook, parkWhatIsDue } from './disable-webhook.ts';
export {
  getWebhookEvent,
  listParkedWebhookEvents,
  listWebhookAttempts,
  listWebhookEvents,
} from './read-webhook-events.ts';
export { bringBackEvents } from './webhook-events.store.ts';
export { payloadsOf, type PayloadOrder, type WritePayloads } from './payloads.ts';
export { endpointLeases, leaseEndpoints } from './leases.store.ts';
export { erasePayloads, insertPayloads, type PayloadRow } from './payloads.store.ts';
export {
  deletedWebhooks,
  halfParkedWebhooks,
  teamsWithOldWebhookEvents,
  webhooksOf,
} from './old-webhook-events.store.ts';
export { readEndpoint } from './read-endpoint.ts';
export { getWebhook, listWebhooks } from './read-webhooks.ts';
export { removeEmptyWebhook, removePayloads, removeWebhookEvents } from './remove-webhooks.store.ts';
export { replayWebhookEvent } from './replay-webhook-event.ts';
export { rotateWebhookSecret } from './rotate-webhook-secret.ts';
export { newSigningSecret, SEALED_WEBHOOK_SECRETS, signingSecretsOf } from './signing-secrets.ts';
export { triggerWebhook } from './trigger-webhook.ts';
export { countWebhooks, findWebhook, noteTold } from './webhooks.store.ts';
