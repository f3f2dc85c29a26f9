import { buildFields, type AnswerOf, type Field } from './family.ts';

type Metrics = AnswerOf<'getEmailMetrics'>;
export type Metric = Metrics['metrics'][number];
type Row = NonNullable<Metrics['data']>[number];

/** The metrics that fit into a line of a table; --metrics selects others. */
export const SHORT = 'sent,delivered,bounced,complained,unique_opened,unique_clicked,delivery_rate,bounce_rate';

/** The rate of a count is shown next to it. */
const RATE_OF: Partial<Record<Metric, Metric>> = {
  delivered: 'delivery_rate',
  unique_opened: 'open_rate',
  unique_clicked: 'click_rate',
  bounced: 'bounce_rate',
  complained: 'complaint_rate',
  unsubscribed: 'unsubscribe_rate',
};

/** Metrics in the order in which they happen to mail. */
const ORDER: readonly Metric[] = [
  'received',
  'sent',
  'delivered',
  'delivery_delayed',
  'bounced',
  'bounced_permanent',
  'bounced_transient',
  'bounced_undetermined',
  'suppressed',
  'failed',
  'complained',
  'opened',
  'unique_opened',
  'clicked',
  'unique_clicked',
  'unsubscribed',
  'machine_opened',
  'machine_clicked',
];

/** The count that a rate is a share of. */
const BASE_OF: Partial<Record<Metric, 'sent' | 'delivered'>> = {
  delivery_rate: 'sent',
  bounce_rate: 'sent',
  open_rate: 'delivered',
  click_rate: 'delivered',
  complaint_rate: 'delivered',
  unsubscribe_rate: 'delivered',
};

/** Returns "–" for a base of zero, of which there is no meaningful share. */
function percent(rate: Metric | undefined, numbers: Metrics['totals']): string {
  const base = rate && BASE_OF[rate];
  if (rate === undefined || base === undefined || numbers[rate] === undefined) return '';
  return numbers[base] === 0 ? '–' : `${numbers[rate]} %`;
}

interface Total {
  metric: Metric;
  emails: number | undefined;
  rate: string;
}

const isRate = (metric: Metric): boolean => metric.endsWith('_rate');

/** Returns a line for each count with its rate, then the rates whose counts were not requested. */
export function buildTotals({ totals, metrics }: Metrics): Total[] {
  const counts = ORDER.filter((metric) => metrics.includes(metric));
  const paired = new Set(counts.map((metric) => RATE_OF[metric]));
  const rates = metrics.filter((metric) => isRate(metric) && !paired.has(metric));
  return [
    ...counts.map((metric) => ({ metric, emails: totals[metric], rate: percent(RATE_OF[metric], totals) })),
    ...rates.map((metric) => ({ metric, emails: undefined, rate: percent(metric, totals) })),
  ];
}

export const totalColumns: readonly Field<Total>[] = buildFields<Total>({
  fields: { metric: { kind: 'whole' }, emails: { kind: 'number' }, rate: { kind: 'number' } },
  columns: ['metric', 'emails', 'rate'],
});

const DIMENSIONS = { period: 'period', domain: 'domain_id', email: 'email_id', broadcast: 'broadcast_id' } as const;

/** Returns the columns of a breakdown: its dimensions, and its numbers. */
export const buildColumns = ({ dimensions, metrics }: Metrics): readonly Field<Row>[] => [
  ...buildFields<Row>({
    fields: {
      period: { kind: 'whole' },
      domain_id: { kind: 'name', value: (row) => row.domain_name ?? row.domain_id },
      broadcast_id: { kind: 'name', value: (row) => row.broadcast_name ?? row.broadcast_id },
    },
    columns: dimensions.map((dimension) => DIMENSIONS[dimension]),
  }),
  ...metrics.map((metric): Field<Row> => {
    const value = (row: Row) => (isRate(metric) ? percent(metric, row) : row[metric]);
    return { name: metric, label: metric.replaceAll('_', ' '), kind: 'number', value };
  }),
];
