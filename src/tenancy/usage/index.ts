/**
 * Usage: how much of its plan a team has used, by day and by month in UTC. Counted in the transaction that accepts the
 * mail, so that the counters always match it.
 */
export {
  contactCount,
  addToContactCount,
  countUsage,
  dailyEmails,
  loadUsage,
  type UsageKind,
  addStorage,
  lockStorage,
  loadStorageBytes,
} from './usage.store.ts';
export { isAboveQuota, mayShowContent, mustBeWithinQuota, getUsage, loadPlan } from './usage.ts';
