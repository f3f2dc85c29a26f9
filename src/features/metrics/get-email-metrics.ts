import { noCounts } from '../../mail/events/index.ts';
import { isoTime } from '../../platform/clock/index.ts';
import { refuse, type Refusal } from '../../platform/refusal/index.ts';
import type { Ctx } from '../../tenancy/access/index.ts';
import { broadcastNames } from '../campaigns/broadcasts/index.ts';
import { countEmails, emailsFor, readEventCounts } from './count-emails.ts';
import { countScopes, scopesFor } from './count-scopes.ts';
import { domainNames } from './metrics.store.ts';
import { periodsOf, type Period } from './periods.ts';
import { presentCounts, type Metric } from './rates.ts';
import { readMetricsQuery, type Asked, type MetricsQuery } from './read-query.ts';
import type { Subject, Tally } from './tally.ts';

/** An answer has as many rows as a person or a chart can use; a caller that wants more asks for a part of the range. */
const ROWS_MAX = 1000;

type Row = Partial<Record<Metric, number>> & {
  period?: string;
  domain_id?: string;
  domain_name?: string;
  email_id?: string;
  broadcast_id?: string;
  broadcast_name?: string;
};

type Range = Pick<Period, 'from' | 'until'>;
type Count = (dimensions: Asked['dimensions'], periods: readonly Range[]) => Promise<Tally>;

export async function getEmailMetrics(ctx: Ctx, query: MetricsQuery) {
  const asked = readMetricsQuery(query, ctx.store.clock.now());
  const { range, end, metrics, dimensions, granularity } = asked;
  const answer = {
    object: 'metrics' as const,
    start_date: isoTime(range.from),
    end_date: isoTime(end),
    metrics: [...metrics],
    dimensions: [...dimensions],
    granularity,
  };
  // Rows may be of fewer emails than the totals: a dimension narrows nothing.
  const total = (await (await counting(ctx, { ...asked, dimensions: [] }))([], [range])).total();
  const totals = presentCounts(total, metrics);
  return dimensions.length === 0 ? { ...answer, totals } : { ...answer, totals, data: await rowsOf(ctx, asked) };
}

async function counting(ctx: Ctx, asked: Asked): Promise<Count> {
  if (asked.emailIds || asked.tag !== undefined || asked.dimensions.includes('email')) {
    const emails = await emailsFor(ctx, asked, ROWS_MAX);
    const counts = await readEventCounts(ctx, emails);
    return (dimensions, periods) => Promise.resolve(countEmails(emails, counts, dimensions, periods));
  }
  const scopes = await scopesFor(ctx, asked);
  return (dimensions, periods) => countScopes(ctx, scopes, dimensions, periods);
}

async function rowsOf(ctx: Ctx, asked: Asked): Promise<Row[]> {
  const { range, granularity, zone, dimensions } = asked;
  const byPeriod = dimensions.includes('period');
  const periods = byPeriod ? periodsOf(range, granularity, zone, ROWS_MAX) : [{ ...range, name: '' }];
  if (!periods) throw tooMany();
  const count = await counting(ctx, asked);
  const isApart = dimensions.some((dimension) => dimension !== 'period');
  // Who has anything to count at all, before that is read period by period.
  const whole = isApart ? await count(dimensions, [range]) : undefined;
  const subjects = whole?.subjects() ?? [{ subject: {}, periods: new Map() }];
  if (subjects.length * periods.length > ROWS_MAX) throw tooMany();
  const tally = whole && !byPeriod ? whole : await count(dimensions, periods);
  const found = new Map(tally.subjects().map((entry) => [nameOf(entry.subject), entry.periods]));
  const names = await namesOf(
    ctx,
    subjects.map(({ subject }) => subject),
  );
  return periods.flatMap((period, index) =>
    subjects.map(({ subject }) => ({
      ...(byPeriod ? { period: period.name } : {}),
      ...presentSubject(subject, names),
      ...presentCounts(found.get(nameOf(subject))?.get(index) ?? noCounts(), asked.metrics),
    })),
  );
}

const nameOf = ({ broadcastId, domainId, emailId }: Subject): string => `${broadcastId} ${domainId} ${emailId}`;

const tooMany = (): Refusal =>
  refuse('invalid_parameter', {
    say: `The answer would have more than ${ROWS_MAX} rows; give a shorter range, a longer granularity or fewer dimensions.`,
  });

/** Of domains and broadcasts, by their ids; what was deleted has none. */
async function namesOf(ctx: Ctx, subjects: readonly Subject[]): Promise<Map<string, string>> {
  const { db } = ctx.store;
  const idsOf = (ids: readonly (string | undefined)[]) => [...new Set(ids.filter((id) => id !== undefined))];
  const domains = idsOf(subjects.map(({ domainId }) => domainId));
  const broadcasts = idsOf(subjects.map(({ broadcastId }) => broadcastId));
  return new Map([
    ...(domains.length === 0 ? [] : await domainNames(db, ctx.teamId, domains)),
    ...(broadcasts.length === 0 ? [] : await broadcastNames(db, ctx.teamId, broadcasts)),
  ]);
}

function presentSubject({ domainId, emailId, broadcastId }: Subject, names: Map<string, string>): Row {
  const name = domainId === undefined ? undefined : names.get(domainId);
  const broadcast = broadcastId === undefined ? undefined : names.get(broadcastId);
  return {
    ...(domainId === undefined ? {} : { domain_id: domainId }),
    ...(name === undefined ? {} : { domain_name: name }),
    ...(emailId === undefined ? {} : { email_id: emailId }),
    ...(broadcastId === undefined ? {} : { broadcast_id: broadcastId }),
    ...(broadcast === undefined ? {} : { broadcast_name: broadcast }),
  };
}
