/**
 * The queue by hand. What waits and why, and an operator's word about it: hold, release, try again now, drop.
 * A word holds beside claims that are under way: each of them is either before it or after it, and what was begun is
 * never touched.
 */
export {
  createHold,
  listHolds,
  releaseEndedHolds,
  releaseHold,
  freeBroadcastMail,
  findBroadcastHold,
} from './holds.ts';
export { dropWaiting, retryWaiting, listWaiting, readQueuedEmail } from './waiting-mail.ts';
export { readQueue } from './read-queue.ts';
