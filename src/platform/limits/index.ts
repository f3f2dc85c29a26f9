/**
 * Limiters. `Semaphore` lets at most so many work at a time, round robin by tenant, with a timeout or a signal that ends a wait.
 * `FairQueue` is the order in which it serves, for callers that take the items themselves. `FairShare` divides a quantity so that a
 * holder that comes later always finds some free; `SlotPool` does so for holders that have one slot each to themselves, and
 * serves the one with the fewest. `BoundedMap` forgets the oldest of many entries. `eachLimit` works on a list.
 * `createMessageRate` counts calls within a window of time.
 */
export { BoundedMap } from './bounded-map.ts';
export { eachLimit } from './each-limit.ts';
export { createFairQueue, type FairQueue, type Place } from './fair-queue.ts';
export { createFairShare, createSlotPool, type FairShare, type SlotPool } from './fair-share.ts';
export { createMessageRate } from './message-rate.ts';
export { createSemaphore, type Release, type Semaphore, SemaphoreTimeout } from './semaphore.ts';
