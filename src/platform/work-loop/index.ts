/**
 * Background work: wake, look, claim, process, renew, stop within a grace period, idle for tests. A caller defines what
 * it claims and how one item is processed; this package alone decides when. It guarantees one look at a time, a look
 * after every wake, and that nothing begins once it is being stopped. It knows no table and no lease: use
 * `createLeasedLoop` for work that is woken by a table's commits and claims its rows, or `createUnleasedLoop` if
 * processing an item twice does no harm.
 */
export {
  createWorkLoop,
  type Claim,
  type Claimed,
  type LoopState,
  type WorkLoop,
  type WorkLoopOptions,
  createTurns,
  type Turns,
} from './work-loop.ts';
export {
  createLeasedLoop,
  createUnleasedLoop,
  type Lease,
  type LeasedLoop,
  type LeasedLoopOptions,
} from './leased-loop.ts';
export { createLeases, type Leases } from './leases.store.ts';
