/**
 * What receivers allow us at the moment: limits that their replies or an operator brought about, this process's part of them,
 * and figures of how much mail each provider takes. It decides nothing about single messages.
 */
export { createThrottles, THROTTLES_CHANGED } from './throttles.ts';
export { createLimitParts, type LimitParts } from './limit-parts.ts';
export { createTrafficRecords, PERIOD_MS, type TrafficRecords } from './traffic-records.ts';
export {
  listThrottles,
  providerCountsSince,
  putThrottle,
  recipientDomainsAmong,
  removeThrottles,
  type ProviderCount,
  type RecipientDomain,
  type ThrottleRow,
} from './throttles.store.ts';
