/**
 * Rates of bounces and complaints of a team's streams of mail over 24 hours. Recipients are counted in the transaction that
 * settles their deliveries, by the hour; nothing of the mail itself is read for a rate.
 */
export {
  addStreamCounts,
  bringBackStreamCounts,
  forgetStreamCounts,
  readRateLimits,
  streamsBeyond,
  sumStream,
  type RateLimits,
  type Stream,
  type StreamCount,
  type StreamRate,
} from './stream-rates.store.ts';
