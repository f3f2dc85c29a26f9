/**
 * The limits of the moment, which replies of receivers, circuit breakers or operators brought about; this process's part of them;
 * and figures of how much mail each provider takes. It decides nothing about single messages.
 */
export { createThrottles, readOrigin, THROTTLES_CHANGED, type ThrottledPlace } from './throttles.ts';
export { explainWaiting, type WaitingMail } from './explain-waiting.ts';
export { createLimitParts, JOINING_MS, type LimitParts } from './limit-parts.ts';
export { createTrafficRecords, OTHER, PERIOD_MS, type TrafficRecords } from './traffic-records.ts';
export {
  BY_BREAKER,
  connectionsSince,
  hasBreakerThrottles,
  isInForce,
  knowsReceiver,
  listThrottles,
  providerTraffic,
  putThrottle,
  recipientDomainsAmong,
  removeThrottles,
  replaceBreakerThrottles,
  restartThrottles,
  type ConnectionRow,
  type ProviderTraffic,
  type ThrottleRow,
} from './throttles.store.ts';
