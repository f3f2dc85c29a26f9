import type { Counter, Counts } from '../../mail/events/index.ts';

/** Part and whole of each rate. */
const RATES = {
  delivery_rate: ['delivered', 'sent'],
  open_rate: ['unique_opened', 'delivered'],
  click_rate: ['unique_clicked', 'delivered'],
  bounce_rate: ['bounced', 'sent'],
  complaint_rate: ['complained', 'delivered'],
  unsubscribe_rate: ['unsubscribed', 'delivered'],
} as const satisfies Record<string, readonly [Counter, Counter]>;

export type Rate = keyof typeof RATES;
export type Metric = Counter | Rate;

/** In the contract's order, which is that of an answer with all of them. */
export const METRICS: readonly Metric[] = [
  'received',
  'delivered',
  'complained',
  'suppressed',
  'bounced',
  'bounced_transient',
  'bounced_permanent',
  'bounced_undetermined',
  'opened',
  'clicked',
  'unsubscribed',
  'delivery_delayed',
  'failed',
  'sent',
  'unique_opened',
  'unique_clicked',
  'delivery_rate',
  'open_rate',
  'click_rate',
  'bounce_rate',
  'complaint_rate',
  'unsubscribe_rate',
];

/** What machines did, beside what people did: only in answers to requests that name it. */
export const NAMED_METRICS: readonly Metric[] = ['machine_opened', 'machine_clicked'];

/** The metrics asked for; a rate is a percentage with two decimals, and of nothing it is 0. */
export function presentCounts(counts: Counts, metrics: readonly Metric[]): Partial<Record<Metric, number>> {
  return Object.fromEntries(
    metrics.map((metric) => [metric, isRate(metric) ? rateOf(counts, metric) : counts[metric]]),
  );
}

const isRate = (metric: Metric): metric is Rate => metric in RATES;

function rateOf(counts: Counts, rate: Rate): number {
  const [part, whole] = RATES[rate];
  return counts[whole] === 0 ? 0 : Math.round((counts[part] / counts[whole]) * 10_000) / 100;
}
