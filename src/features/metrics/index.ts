/**
 * Metrics: statistics of a team's mail. They are sums of counts that are written with the events, so reading a year
 * costs no more than its days; only single emails are counted from their events. Writes nothing.
 */
export { getEmailMetrics } from './get-email-metrics.ts';
