/**
 * The queue by hand. What waits and why, and an operator's word about it: hold, release, try again now, drop.
 * A word holds beside claims that are under way: each of them is either before it or after it, and what was begun is
 * never touched.
 */
export { createHold, listHolds, releaseEndedHolds, releaseHold } from './holds.ts';
export { freeBroadcastMail } from './broadcast-mail.ts';
export { dropWaiting, retryWaiting } from './change-waiting.ts';
export { listWaiting } from './list-waiting.ts';
export { readQueuedEmail } from './read-email.ts';
export { readQueue } from './read-queue.ts';
