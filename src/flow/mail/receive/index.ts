/**
 * Receive: what came in at the MX door. It is stored first, the source byte for byte and what was read of it, one row for
 * each team, and only then answered: when `receive` resolves, everything is synced.
 */
export type { Deferral, Verdict } from './verdict.ts';
export { authenticate, type Checks } from './authenticate.ts';
export { createReceive, type Receive } from './create-receive.ts';
export { createStoreMessage } from './store-message.ts';
export { forgetGreylisted } from './greylist.ts';
export type { Arrival } from './inbound-message.ts';
export type { Route } from './route-recipient.ts';
