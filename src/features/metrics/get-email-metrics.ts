import {
  noCounts,
  countedAs,
  listCounters,
  domainScope,
  TEAM_SCOPE,
  COUNTERS,
  type Counter,
  type Counts,
} from '../../mail/events/index.ts';
import { isoTime, nextTurn } from '../../platform/clock.ts';
import { refuse, type Refusal } from '../../platform/refusal.ts';
import type { Ctx } from '../../tenancy/access/index.ts';
import { broadcastNames } from '../campaigns/index.ts';
import {
  domainNames,
  countAcceptedIn,
  emailsAcceptedIn,
  emailsOfTeam,
  loadEventCounts,
  taggedAcceptedIn,
  taggedAmong,
  countsOfScopes,
  scopesBeginning,
  type EmailOfDomain,
  type EventCount,
} from './metrics.store.ts';
import { splitIntoPeriods, QUARTER_MS, toSlotRanges, type Period } from './periods.ts';
import { presentCounts, readMetricsQuery, type Metric, type Asked, type MetricsQuery } from './metrics-query.ts';

/**
 * Number of emails that are searched: no index has the domain of an email, so those of a domain are selected from all
 * that were accepted.
 */
const LOOKED_AT_MAX = 20_000;

/** Emails per statement, so that it blocks the event loop for only a few milliseconds. */
const EMAILS_AT_ONCE = 500;

/**
 * Returns the named emails of the team, or those accepted in the range; limited to the domains and the tag, if any are
 * given.
 */
async function emailsFor(
  ctx: Ctx,
  { emailIds, domainIds, tag, range, dimensions }: Asked,
  most: number,
): Promise<EmailOfDomain[]> {
  const { store, teamId } = ctx;
  const isOfDomains = (email: EmailOfDomain): boolean => domainIds?.includes(email.domain_id) ?? true;
  if (emailIds) {
    const emails = (await emailsOfTeam(store.db, teamId, emailIds)).filter(isOfDomains);
    if (tag === undefined) return emails;
    const tagged = await taggedAmong(store.db, teamId, tag, emailIds);
    return emails.filter(({ id }) => tagged.has(id));
  }
  if (tag !== undefined) {
    const emails = (await readTagged(ctx, tag, range)).filter(isOfDomains);
    if (dimensions.includes('email') && emails.length > most) throw tooManyEmails(most, 'with the tag');
    return emails;
  }
  if (domainIds && (await countAcceptedIn(store.db, teamId, range, LOOKED_AT_MAX + 1)) > LOOKED_AT_MAX) {
    throw tooManyEmails(LOOKED_AT_MAX, 'of any domain');
  }
  const emails = await emailsAcceptedIn(store.db, teamId, { range, domainIds, limit: most + 1 });
  if (emails.length > most) throw tooManyEmails(most, domainIds && 'of the domains');
  return emails;
}

async function readTagged({ store, teamId }: Ctx, tag: string, range: Asked['range']): Promise<EmailOfDomain[]> {
  const emails: EmailOfDomain[] = [];
  for (;;) {
    const page = { tag, range, after: emails.at(-1)?.id, limit: EMAILS_AT_ONCE };
    const read = await taggedAcceptedIn(store.db, teamId, page);
    emails.push(...read);
    if (emails.length > LOOKED_AT_MAX) {
      throw refuse('invalid_parameter', {
        say: `With tag, at most ${LOOKED_AT_MAX} emails that have it may have been accepted in the range; give a shorter range.`,
      });
    }
    if (read.length < EMAILS_AT_ONCE) return emails;
    await nextTurn();
  }
}

/** Reads the events of emails, by their ids. */
async function readEventCounts(ctx: Ctx, emails: readonly EmailOfDomain[]): Promise<Map<string, EventCount[]>> {
  const counts: EventCount[] = [];
  for (let at = 0; at < emails.length; at += EMAILS_AT_ONCE) {
    if (at > 0) await nextTurn();
    const ids = emails.slice(at, at + EMAILS_AT_ONCE).map(({ id }) => id);
    counts.push(...(await loadEventCounts(ctx.store.db, ids)));
  }
  return Map.groupBy(counts, (row) => row.subject_id);
}

function tooManyEmails(most: number, which: string | undefined): Refusal {
  const emails = which ? `emails ${which}` : 'emails';
  return refuse('invalid_parameter', {
    say: `With the dimension email and without email_id, at most ${most} ${emails} may have been accepted in the range; give email_id, or a shorter range.`,
  });
}

/** Counts single emails from their own events (`readEventCounts`), by the same rule as the totals of all emails. */
function countEmails(
  emails: readonly EmailOfDomain[],
  ofEmail: ReadonlyMap<string, EventCount[]>,
  dimensions: Asked['dimensions'],
  periods: readonly Pick<Period, 'from' | 'until'>[],
): Tally {
  const tally = createTally();
  for (const email of emails) {
    const subject: Subject = {
      emailId: dimensions.includes('email') ? email.id : undefined,
      domainId: dimensions.includes('domain') ? email.domain_id : undefined,
    };
    for (const [slot, counts] of countsBySlot(ofEmail.get(email.id) ?? [])) {
      const at = slot * QUARTER_MS;
      // Slots are whole, and periods begin and end on slot boundaries.
      const period = periods.findIndex(({ from, until }) => from <= at && at < until);
      if (period >= 0) tally.add(subject, period, counts);
    }
  }
  return tally;
}

function countsBySlot(rows: readonly EventCount[]): Map<number, Counts> {
  const bySlot = new Map<number, Counts>();
  const firstSlots = new Map<Counter, number>();
  const add = (slot: number, counter: Counter, n: number): void => {
    let counts = bySlot.get(slot);
    if (!counts) bySlot.set(slot, (counts = noCounts()));
    counts[counter] += n;
  };
  for (const { type, bounce, machine, slot, n } of rows) {
    for (const counter of listCounters({ type, bounce: bounce ?? undefined, isMachine: machine !== null })) {
      if (countedAs(counter).isEvery) add(slot, counter, n);
      else firstSlots.set(counter, Math.min(slot, firstSlots.get(counter) ?? slot));
    }
  }
  for (const [counter, slot] of firstSlots) add(slot, counter, 1);
  return bySlot;
}

/**
 * Maximum rows of a response, more than a person or a chart can use; a caller that wants more requests a part of the
 * range.
 */
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
  // Rows may cover fewer emails than the totals: a dimension does not filter.
  const total = (await (await counting(ctx, { ...asked, dimensions: [] }))([], [range])).total();
  const totals = presentCounts(total, metrics);
  return dimensions.length === 0 ? { ...answer, totals } : { ...answer, totals, data: await loadRows(ctx, asked) };
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

async function loadRows(ctx: Ctx, asked: Asked): Promise<Row[]> {
  const { range, granularity, zone, dimensions } = asked;
  const byPeriod = dimensions.includes('period');
  const periods = byPeriod ? splitIntoPeriods(range, granularity, zone, ROWS_MAX) : [{ ...range, name: '' }];
  if (!periods) throw tooMany();
  const count = await counting(ctx, asked);
  const isApart = dimensions.some((dimension) => dimension !== 'period');
  // Finds the subjects with any counts first, before reading them period by period.
  const whole = isApart ? await count(dimensions, [range]) : undefined;
  const subjects = whole?.subjects() ?? [{ subject: {}, periods: new Map() }];
  if (subjects.length * periods.length > ROWS_MAX) throw tooMany();
  const tally = whole && !byPeriod ? whole : await count(dimensions, periods);
  const found = new Map(tally.subjects().map((entry) => [toKey(entry.subject), entry.periods]));
  const names = await loadNames(
    ctx,
    subjects.map(({ subject }) => subject),
  );
  return periods.flatMap((period, index) =>
    subjects.map(({ subject }) => ({
      ...(byPeriod ? { period: period.name } : {}),
      ...presentSubject(subject, names),
      ...presentCounts(found.get(toKey(subject))?.get(index) ?? noCounts(), asked.metrics),
    })),
  );
}

const toKey = ({ broadcastId, domainId, emailId }: Subject): string => `${broadcastId} ${domainId} ${emailId}`;

const tooMany = (): Refusal =>
  refuse('invalid_parameter', {
    say: `The response would have more than ${ROWS_MAX} rows; choose a shorter range, a longer granularity or fewer dimensions.`,
  });

/** Returns the names of domains and broadcasts by id; omits deleted ones. */
async function loadNames(ctx: Ctx, subjects: readonly Subject[]): Promise<Map<string, string>> {
  const { db } = ctx.store;
  const uniqueIds = (ids: readonly (string | undefined)[]) => [...new Set(ids.filter((id) => id !== undefined))];
  const domains = uniqueIds(subjects.map(({ domainId }) => domainId));
  const broadcasts = uniqueIds(subjects.map(({ broadcastId }) => broadcastId));
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

type Scoped = Pick<Asked, 'dimensions' | 'domainIds' | 'broadcastIds'>;

/**
 * Returns the scopes with the fewest rows that cover the request: those of broadcasts, of domains, or of the whole
 * team.
 */
async function scopesFor(ctx: Ctx, { dimensions, domainIds, broadcastIds }: Scoped): Promise<string[]> {
  const { teamId } = ctx;
  const beginning = (prefix: string): Promise<string[]> => scopesBeginning(ctx.store.db, teamId, prefix);
  if (broadcastIds || dimensions.includes('broadcast')) {
    const prefixes = broadcastIds?.map((id) => `b:${id}:`) ?? ['b:'];
    const scopes = (await Promise.all(prefixes.map(beginning))).flat();
    return scopes.filter((scope) => domainIds?.includes(parseScope(scope).domainId ?? '') ?? true);
  }
  if (domainIds) return domainIds.map(domainScope);
  return dimensions.includes('domain') ? beginning('d:') : [TEAM_SCOPE];
}

/** Adds up scopes by period, and by the ids in them that are dimensions. */
async function countScopes(
  ctx: Ctx,
  scopes: readonly string[],
  dimensions: Asked['dimensions'],
  periods: readonly Pick<Period, 'from' | 'until'>[],
): Promise<Tally> {
  const tally = createTally();
  if (scopes.length === 0) return tally;
  const rows = await countsOfScopes(ctx.store.db, ctx.teamId, scopes, toSlotRanges(periods));
  for (const row of rows) {
    const { domainId, broadcastId } = parseScope(row.scope);
    const subject: Subject = {
      domainId: dimensions.includes('domain') ? domainId : undefined,
      broadcastId: dimensions.includes('broadcast') ? broadcastId : undefined,
    };
    tally.add(subject, row.period, row.counts);
  }
  return tally;
}

function parseScope(scope: string): Subject {
  const [kind, first, second] = scope.split(':');
  if (kind === 'd') return { domainId: first };
  return kind === 'b' ? { broadcastId: first, domainId: second } : {};
}

/** Subject of a row, apart from its period. */
interface Subject {
  domainId?: string | undefined;
  emailId?: string | undefined;
  broadcastId?: string | undefined;
}

/** Counts by subject and period. Subjects without counts are omitted. */
interface Tally {
  add(subject: Subject, period: number, counts: Counts): void;
  /** Returns the counts of each subject; periods without counts are missing. */
  subjects(): { subject: Subject; periods: Map<number, Counts> }[];
  total(): Counts;
}

function createTally(): Tally {
  const entries = new Map<string, { subject: Subject; periods: Map<number, Counts> }>();
  const total = noCounts();
  return {
    add(subject, period, counts) {
      if (COUNTERS.every((counter) => counts[counter] === 0)) return;
      const key = `${subject.broadcastId} ${subject.domainId} ${subject.emailId}`;
      let entry = entries.get(key);
      if (!entry) entries.set(key, (entry = { subject, periods: new Map() }));
      let sums = entry.periods.get(period);
      if (!sums) entry.periods.set(period, (sums = noCounts()));
      for (const counter of COUNTERS) {
        sums[counter] += counts[counter];
        total[counter] += counts[counter];
      }
    },
    subjects: () => [...entries].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, entry]) => entry),
    total: () => total,
  };
}
