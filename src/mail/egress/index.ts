/**
 * Chooses the source that each message leaves by, from the pools of the settings, and limits what a source in its warm-up
 * sends to each provider. It opens no connections.
 */
export { createEgress, explainRests, type Egress } from './egress.ts';
export { hasDomainPools, isRegionCoveredByPools, readPools, type EgressPool } from './read-pools.ts';
export {
  bringBackWarmUps,
  createWarmUps,
  explainWarmUps,
  findSchedule,
  loadDayResults,
  WARM_UPS_CHANGED,
  type WarmUps,
} from './warm-ups.ts';
export { beginDay, computeAllowance, dailyLimit, hourlyLimit, toDay, toHour, type WarmUpDay } from './schedule.ts';
export {
  endWarmUp,
  listWarmUpDays,
  listWarmUps,
  putWarmUp,
  removeWarmUp,
  type WarmUpDayRow,
  type WarmUpRow,
} from './warm-ups.store.ts';
