/**
 * Tells the outside what was recorded. The sender posts the events in the outbox of each webhook, signed: at least
 * once, with the same id and bytes each time, without one endpoint waiting for another, and never to an internal
 * address. Listeners stream a team's events to clients without a public address: all that are recorded meanwhile, with
 * few of them in memory.
 */
export { createWebhook } from './create-webhook.ts';
export { createListeners, type Listeners } from './listeners.ts';
export { createWebhookSender, type WebhookSender } from './webhook-sender.ts';
export { readPosition, type StreamPosition } from './listener-frames.ts';
export { WAITS_MS } from './retry-schedule.ts';
export { forgetListeners } from './forget-listeners.ts';
export { SEALED_LISTENER_SECRETS } from './open-listener.ts';
export { updateWebhook } from './update-webhook.ts';
