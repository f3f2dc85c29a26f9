/**
 * Tells the outside what was recorded. The sender posts what lies in the outbox of each webhook, signed: at least once, with
 * the same id and bytes each time, no endpoint waiting for another one, and never to an address inside. Listeners stream
 * a team's events to whoever has no public address: all that are recorded meanwhile, with few of them in memory.
 */
export { createWebhook } from './create-webhook.ts';
export { createListeners, type Listeners } from './listeners.ts';
export { createWebhookSender, type WebhookSender } from './webhook-sender.ts';
export { readPosition, type StreamPosition } from './listener-frames.ts';
export { forgetListeners } from './forget-listeners.ts';
export { SEALED_LISTENER_SECRETS } from './open-listener.ts';
export { updateWebhook } from './update-webhook.ts';
