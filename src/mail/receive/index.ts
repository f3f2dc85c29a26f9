/**
 * Receive: mail that arrives on port 25. A message is stored before the reply is sent: its source byte for byte and the
 * parsed content, one row for each team. When `receive` resolves, everything is synced.
 */
export type { Deferral, ReceiveResult, Arrival, Route } from './inbound-message.ts';
export { authenticate, loadAuthentication, type Checks } from './authenticate.ts';
export { applyUnsubscribeMail, createReceive, type Receive } from './receive-message.ts';
export { createMessageParser } from './parse-message.ts';
export { createStoreMessage } from './store-message.ts';
export { forgetGreylisted } from './greylist.ts';
export { gatherContent, heldContent, type ContentGatherer, type MessageContent } from './message-content.ts';
export { putIntoInboxes, type StoredForInboxes } from './inbox-content.ts';
