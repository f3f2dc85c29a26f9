import type { QueryOf } from '../../contract/index.ts';
import { isUuid } from '../../platform/ids.ts';
import { refuse, type Refusal } from '../../platform/refusal.ts';
import { parseIsoTime } from '../../protocol/iso-time.ts';
import { findTimeZone, type TimeZone } from '../../protocol/time-zone.ts';
import { QUARTER_MS, type Granularity } from './periods.ts';
import type { Counter, Counts } from '../../mail/events/index.ts';

/** Numerator and denominator of each rate. */
const RATES = {
  delivery_rate: ['delivered', 'sent'],
  open_rate: ['unique_opened', 'delivered'],
  click_rate: ['unique_clicked', 'delivered'],
  bounce_rate: ['bounced', 'sent'],
  complaint_rate: ['complained', 'delivered'],
  unsubscribe_rate: ['unsubscribed', 'delivered'],
} as const satisfies Record<string, readonly [Counter, Counter]>;

type Rate = keyof typeof RATES;
export type Metric = Counter | Rate;

/** Metrics in the order of the contract, which is that of a response with all of them. */
const METRICS: readonly Metric[] = [
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

/** Metrics of machines, which are returned only if the request names them. */
const NAMED_METRICS: readonly Metric[] = ['machine_opened', 'machine_clicked'];

/** Returns the requested metrics; a rate is a percentage with two decimals, and 0 if its denominator is 0. */
export function presentCounts(counts: Counts, metrics: readonly Metric[]): Partial<Record<Metric, number>> {
  return Object.fromEntries(
    metrics.map((metric) => [metric, isRate(metric) ? computeRate(counts, metric) : counts[metric]]),
  );
}

const isRate = (metric: Metric): metric is Rate => metric in RATES;

function computeRate(counts: Counts, rate: Rate): number {
  const [part, whole] = RATES[rate];
  return counts[whole] === 0 ? 0 : Math.round((counts[part] / counts[whole]) * 10_000) / 100;
}

export type MetricsQuery = QueryOf<'getEmailMetrics'>;

type Dimension = 'period' | 'domain' | 'email' | 'broadcast';
const DIMENSIONS: readonly Dimension[] = ['period', 'domain', 'email', 'broadcast'];

export interface Asked {
  /** Range that is counted, in whole quarters of an hour. */
  range: { from: number; until: number };
  /** End of the range in the response, never in the future. */
  end: number;
  zone: TimeZone;
  granularity: Granularity;
  metrics: readonly Metric[];
  dimensions: readonly Dimension[];
  domainIds?: string[] | undefined;
  emailIds?: string[] | undefined;
  broadcastIds?: string[] | undefined;
  /** Tag as `name:value`. */
  tag?: string | undefined;
}

const DAY_MS = 86_400_000;
const WEEK_MS = 7 * DAY_MS;
const IDS_MAX = 100;

export function readMetricsQuery(query: MetricsQuery, now: number): Asked {
  const zone = readZone(query.timezone ?? 'UTC');
  const asked: Asked = {
    ...readRange(query, zone, now),
    zone,
    granularity: query.granularity ?? 'daily',
    metrics: readNames('metrics', query.metrics, [...METRICS, ...NAMED_METRICS]) ?? METRICS,
    dimensions: readNames('dimensions', query.dimensions, DIMENSIONS) ?? [],
    domainIds: readIds('domain_id', query.domain_id),
    emailIds: readIds('email_id', query.email_id),
    broadcastIds: readIds('broadcast_id', query.broadcast_id),
    tag: query.tag,
  };
  const has = (dimension: Dimension): boolean => asked.dimensions.includes(dimension);
  const byEmail = has('email') ? 'the dimension email' : (asked.emailIds && 'email_id') || (asked.tag && 'tag');
  const byBroadcast = has('broadcast') ? 'the dimension broadcast' : asked.broadcastIds && 'broadcast_id';
  if (byEmail && byBroadcast)
    throw wrong(`${byEmail} and ${byBroadcast} cannot be used together; send only one of them.`);
  return asked;
}

function readZone(name: string): TimeZone {
  const zone = findTimeZone(name);
  if (zone) return zone;
  throw wrong(`timezone must be the name of an IANA time zone, such as Europe/Berlin; got ${quoted(name)}.`);
}

function readRange(
  { start_date: startDate, end_date: endDate }: MetricsQuery,
  zone: TimeZone,
  now: number,
): Pick<Asked, 'range' | 'end'> {
  const asked = endDate === undefined ? now : readMoment('end_date', endDate, zone);
  const start = startDate === undefined ? weekBefore(Math.min(asked, now)) : readMoment('start_date', startDate, zone);
  if (endDate !== undefined && start > asked) throw wrong('end_date must not be before start_date.');
  if (start > now) throw wrong('start_date must not be in the future.');
  const from = Math.floor(start / QUARTER_MS) * QUARTER_MS;
  // A range that ends now includes the current moment.
  const end = asked < now ? Math.ceil(asked / QUARTER_MS) : Math.floor(now / QUARTER_MS) + 1;
  const until = Math.max(end * QUARTER_MS, from + QUARTER_MS);
  return { range: { from, until }, end: Math.min(until, now) };
}

/**
 * Returns the start of the week before: days of 24 hours, not of the calendar. The last millisecond of a day counts as
 * the midnight that follows it.
 */
const weekBefore = (end: number): number => Math.max(0, end + 1 - WEEK_MS);

/**
 * Reads a moment. A date alone is a day of the time zone; as the end of a range it includes the last moment of the day.
 */
function readMoment(name: 'start_date' | 'end_date', text: string, zone: TimeZone): number {
  const time = parseIsoTime(text);
  if (!time) {
    throw wrong(
      `${name} must be an ISO 8601 date or time, such as 2027-01-31 or 2027-01-31T12:00:00Z; got ${quoted(text)}.`,
    );
  }
  const ofDay = (): number => (name === 'end_date' ? zone.toMoment(time.ms + DAY_MS) - 1 : zone.toMoment(time.ms));
  // Nothing was counted before 1970, and the time zones of antiquity are irrelevant.
  return Math.max(0, time.isDateAlone ? ofDay() : time.ms);
}

/** Reads a comma-separated list without duplicates. */
function readNames<Name extends string>(
  parameter: string,
  text: string | undefined,
  known: readonly Name[],
): Name[] | undefined {
  if (text === undefined) return undefined;
  return [...new Set(text.split(','))].map((part) => {
    const name = known.find((other) => other === part);
    if (name !== undefined) return name;
    throw wrong(`${parameter} must be a comma-separated list of ${known.join(', ')}; got ${quoted(part)}.`);
  });
}

function readIds(parameter: string, text: string | undefined): string[] | undefined {
  if (text === undefined) return undefined;
  const ids = new Set(text.split(',').map((id) => id.toLowerCase()));
  const stray = [...ids].find((id) => !isUuid(id));
  if (stray !== undefined) {
    throw wrong(`${parameter} must be ids (UUIDs) separated by commas; got ${quoted(stray)}.`);
  }
  if (ids.size > IDS_MAX) throw wrong(`${parameter} may have at most ${IDS_MAX} ids; got ${ids.size}.`);
  return [...ids];
}

const quoted = (text: string): string => JSON.stringify(text.slice(0, 60));

const wrong = (say: string): Refusal => refuse('invalid_parameter', { say });
