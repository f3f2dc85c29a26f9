/**
 * What mail leaves by: sources in pools, which one each message takes, and how much a source that is new to a provider may
 * send. It opens no connections.
 */
export { createEgress, type Egress } from './egress.ts';
export { hasDomainPools, poolsTakeAllOf, readPools, type EgressPool } from './read-pools.ts';
export { createWarmUps, explainWarmUps, findSchedule, WARM_UPS_CHANGED, type WarmUps } from './warm-ups.ts';
export { beginDay, computeAllowance, dailyLimit, hourlyLimit, toDay, toHour, type WarmUpDay } from './schedule.ts';
export {
  listWarmUpDays,
  listWarmUps,
  putWarmUp,
  removeWarmUp,
  type WarmUpDayRow,
  type WarmUpRow,
} from './warm-ups.store.ts';
