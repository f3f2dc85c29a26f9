/**
 * Delivers recorded events. The sender posts the events in the outbox of each webhook, signed: at least once, with the
 * same id and bytes each time, without one endpoint waiting for another, and never to an internal address. Listeners
 * stream a team's events to clients without a public address: all that are recorded meanwhile, with few of them in
 * memory.
 */
export { WAITS_MS } from './delivery/endpoint-sender.ts';
export { readPosition } from './delivery/listener-frames.ts';
export { SEALED_LISTENER_SECRETS, createListeners, forgetListeners, type Listeners } from './delivery/listeners.ts';
export { createWebhookSender, type WebhookSender } from './delivery/webhook-sender.ts';
