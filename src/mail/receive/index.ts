/**
 * Receive: mail that comes in on port 25. A message is stored before it is answered, its source byte for byte and what was
 * parsed of it, one row for each team: when `receive` resolves, everything is synced.
 */
export type { Deferral, ReceiveResult, Arrival, Route } from './inbound-message.ts';
export { authenticate, loadAuthentication, type Checks } from './authenticate.ts';
export { createReceive, type Receive } from './receive-message.ts';
export { createMessageParser } from './parse-message.ts';
export { createStoreMessage } from './store-message.ts';
export { forgetGreylisted } from './greylist.ts';
export { gatherContent, heldContent, type ContentGatherer, type MessageContent } from './message-content.ts';
export { putIntoInboxes, type StoredForInboxes } from './for-inboxes.ts';
