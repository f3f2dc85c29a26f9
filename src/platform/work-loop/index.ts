/**
 * Background work: wake, look, claim, carry, renew, stop within a grace period, idle for tests. A caller says
 * what it claims and how one item is carried; when that happens is decided here and nowhere else. It promises one look at a
 * time, a look after every wake, and that nothing begins once it is being stopped. It knows no table and no lease: what is
 * woken by a table's commits and claims its rows is `createLeasedLoop`, or `createUnleasedLoop` where twice does no harm.
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
export { leasesOf, type Leases } from './leases.store.ts';
