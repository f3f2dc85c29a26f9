/**
 * Limiters that divide something among parties, so that a party that comes later always finds some free. `FairShare` has the
 * rule, each may hold as much as is free, and never waits. `FairBudget` waits, for requests of different sizes, each party in
 * the order of its requests. `SlotPool` waits for one slot at a time, and serves the holder of the fewest first. `FairQueue`,
 * `FairExecutor`, `FairBacklog` (many items at a time, by weight), `FairTurns` (tasks of different sizes) and `LoopTurns` (turns of
 * the event loop) go round robin by party.
 */
export {
  createFairBudget,
  type FairBudget,
  type GiveBack,
  createSlotPool,
  type SlotPool,
  createFairShare,
  type FairShare,
} from './fair-share.ts';
export {
  createFairQueue,
  type FairQueue,
  createFairExecutor,
  type FairExecutor,
  createFairBacklog,
  type FairBacklog,
  type Place,
  createFairTurns,
  type FairTurns,
  createLoopTurns,
  type LoopTurns,
} from './fair-queue.ts';
