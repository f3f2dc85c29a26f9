/**
 * Limiters that divide something among parties, so that a party that comes later always finds some free. `FairShare` has the
 * rule, each may hold as much as is free, and never waits. `FairBudget` waits, for requests of different sizes, each party in
 * the order of its requests. `SlotPool` waits for one slot at a time, and serves the holder of the fewest first. `FairQueue`,
 * `FairExecutor`, `FairBacklog` (many items at a time, by weight), `FairTurns` (tasks of different sizes) and `LoopTurns` (turns of
 * the event loop) go round robin by party.
 */
export { createFairBudget, type FairBudget, type GiveBack } from './fair-budget.ts';
export { createSlotPool, type SlotPool } from './slot-pool.ts';
export { createFairShare, type FairShare } from './fair-share.ts';
export { createFairQueue, type FairQueue } from './fair-queue.ts';
export { createFairExecutor, type FairExecutor } from './fair-executor.ts';
export { createFairBacklog, type FairBacklog, type Place } from './fair-backlog.ts';
export { createFairTurns, type FairTurns } from './fair-turns.ts';
export { createLoopTurns, type LoopTurns } from './loop-turns.ts';
