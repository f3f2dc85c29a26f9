/**
 * Playground: the development profile's catch-all mailbox. It takes the very bytes that would have gone over the wire,
 * so that what a developer looks at is what a recipient would have got. Nothing in it ever leaves the machine.
 */
export type { Checks } from '../receive/index.ts';
export { catchMessage } from './catch-message.ts';
export { judgeCaught } from './judge-caught.ts';
export { listCaught, readCaught, playgroundOwners, removeCaught, type CaughtRow } from './playground.store.ts';
