/**
 * Usage: what a team has used of its plan, by day and by month in UTC. Counted in the transaction that accepts the mail,
 * so the counters are never behind and never ahead of it.
 */
export {
  contactCount,
  addToContactCount,
  countUsage,
  dailyEmails,
  usageOf,
  type UsageKind,
  addStorage,
  lockStorage,
  storageOf,
} from './usage.store.ts';
export { isAboveQuota, mayShowContent, mustBeWithinQuota, getUsage, planOf } from './usage.ts';
