/**
 * Background work: wake, look, claim, carry, renew, stop within a grace period, idle for tests. Whoever has such work says
 * what it claims and how one item is carried; when that happens is decided here and nowhere else. It promises one look at a
 * time, a look after every wake, and that nothing begins once it is being stopped. It knows no table and no lease.
 */
export {
  createWorkLoop,
  type Claim,
  type Claimed,
  type LoopState,
  type WorkLoop,
  type WorkLoopOptions,
} from './work-loop.ts';
