/**
 * Webhooks: a team's endpoints, what each of them is told, and what became of telling it. It promises that a signing
 * secret is shown once and kept sealed, and that an endpoint was reachable on a public address when it was added. It
 * posts nothing: that is the notify stage's.
 */
export { createWebhook, type NewWebhook } from './create-webhook.ts';
export { deleteWebhook } from './delete-webhook.ts';
export { disableWebhook, parkWhatIsDue } from './disable-webhook.ts';
export { eventIdOf, publicEventId } from './event-id.ts';
export {
  getWebhookEvent,
  listParkedWebhookEvents,
  listWebhookAttempts,
  listWebhookEvents,
  type ParkedEventsFilter,
  type WebhookEventsFilter,
} from './read-webhook-events.ts';
export { payloadsOf, type PayloadOrder, type StorePayloads } from './payloads.ts';
export { insertPayloads, type PayloadRow } from './payloads.store.ts';
export { getWebhook, listWebhooks } from './read-webhooks.ts';
export { replayWebhookEvent } from './replay-webhook-event.ts';
export { rotateWebhookSecret } from './rotate-webhook-secret.ts';
export { newSigningSecret, signingSecretsOf } from './signing-secrets.ts';
export { updateWebhook, type WebhookUpdate } from './update-webhook.ts';
