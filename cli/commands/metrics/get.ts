import type { AnswerOf, QueryOf } from '../../client/index.ts';
import { formatTable, type Column, type Terminal } from '../../output/index.ts';
import type { Session } from '../declare.ts';

type Answer = AnswerOf<'getEmailMetrics'>;
type Metric = Answer['metrics'][number];
type Row = NonNullable<Answer['data']>[number];

export interface MetricsOptions {
  startDate?: string;
  endDate?: string;
  timezone?: string;
  granularity?: QueryOf<'getEmailMetrics'>['granularity'];
  metrics?: string;
  dimensions?: string;
  domainId?: string;
  emailId?: string;
  broadcastId?: string;
}

/** What a line of a table has room for; --metrics asks for others. */
const SHORT = 'sent,delivered,bounced,complained,unique_opened,unique_clicked,delivery_rate,bounce_rate';

export async function getEmailMetrics(session: Session, options: MetricsOptions): Promise<void> {
  const { client, terminal, isJson } = session;
  const { timezone, granularity, dimensions } = options;
  const isTable = dimensions !== undefined && !isJson;
  const answer = await client.call('getEmailMetrics', {
    query: {
      start_date: options.startDate,
      end_date: options.endDate,
      timezone,
      granularity,
      metrics: options.metrics ?? (isTable ? SHORT : undefined),
      dimensions,
      domain_id: options.domainId,
      email_id: options.emailId,
      broadcast_id: options.broadcastId,
    },
  });
  if (isJson) return terminal.printJson(answer);
  terminal.hint(`${answer.start_date} to ${answer.end_date}`);
  terminal.print(answer.data ? rowsTable(terminal, answer, answer.data) : totalsTable(terminal, answer));
}

/** The rate that belongs to a count stands beside it. */
const RATE_OF: Partial<Record<Metric, Metric>> = {
  delivered: 'delivery_rate',
  unique_opened: 'open_rate',
  unique_clicked: 'click_rate',
  bounced: 'bounce_rate',
  complained: 'complaint_rate',
  unsubscribed: 'unsubscribe_rate',
};

/** In the order in which it happens to mail. */
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
];

function totalsTable(terminal: Terminal, { totals, metrics }: Answer): string {
  const counts = ORDER.filter((metric) => metrics.includes(metric));
  const paired = new Set(counts.map((metric) => RATE_OF[metric]));
  const lines = [...counts, ...metrics.filter((metric) => isRate(metric) && !paired.has(metric))];
  return formatTable(terminal, lines, [
    { title: 'METRIC', value: (metric) => metric, isWhole: true },
    { title: 'EMAILS', value: (metric) => (isRate(metric) ? '' : totals[metric]) },
    {
      title: 'RATE',
      value: (metric) => percent(totals[isRate(metric) ? metric : (RATE_OF[metric] ?? metric)], metric),
    },
  ]);
}

const isRate = (metric: Metric): boolean => metric.endsWith('_rate');

const percent = (rate: number | undefined, metric: Metric): string =>
  rate === undefined || !(isRate(metric) || RATE_OF[metric]) ? '' : `${rate} %`;

function rowsTable(terminal: Terminal, { dimensions, metrics }: Answer, rows: readonly Row[]): string {
  const ids: Record<Answer['dimensions'][number], Column<Row>> = {
    period: { title: 'PERIOD', value: (row) => row.period, isWhole: true },
    domain: { title: 'DOMAIN', value: (row) => row.domain_name ?? row.domain_id },
    email: { title: 'EMAIL', value: (row) => row.email_id, isWhole: true },
    broadcast: { title: 'BROADCAST', value: (row) => row.broadcast_name ?? row.broadcast_id },
  };
  const numbers = metrics.map((metric): Column<Row> => {
    const title = metric.toUpperCase().replaceAll('_', ' ');
    return { title, value: (row) => (isRate(metric) ? `${row[metric]} %` : row[metric]) };
  });
  return formatTable(terminal, rows, [...dimensions.map((dimension) => ids[dimension]), ...numbers]);
}
