/**
 * Metrics: what became of a team's mail, in numbers. They are sums of the counts that are written with the events, so a
 * year costs no more to read than its days; only single emails are counted from their events. Nothing is written here.
 */
export { getEmailMetrics } from './get-email-metrics.ts';
