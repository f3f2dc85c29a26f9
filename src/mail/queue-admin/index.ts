/**
 * Manual administration of the queue. Shows what waits and why, and lets an operator hold, release, try again now, or
 * drop. A command is safe next to claims that are under way: each of them is either before it or after it, and a
 * delivery that has begun is never touched.
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
export { countQueue, readQueue, type Counted } from './read-queue.ts';
