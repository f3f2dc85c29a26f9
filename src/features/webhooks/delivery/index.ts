/**
 * Tells the outside what was recorded. The sender posts the events in the outbox of each webhook, signed: at least
 * once, with the same id and bytes each time, without one endpoint waiting for another, and never to an internal
 * address. Listeners stream a team's events to clients without a public address: all that are recorded meanwhile, with
 * few of them in memory.
 */
export { createWebhook, updateWebhook } from './write-webhook.ts';
export { createListeners, type Listeners, forgetListeners, SEALED_LISTENER_SECRETS } from './listeners.ts';
export { createWebhookSender, type WebhookSender } from './webhook-sender.ts';
export { readPosition, type StreamPosition } from './listener-frames.ts';
export { WAITS_MS } from './endpoint-sender.ts';
