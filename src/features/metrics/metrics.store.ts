import { COUNTERS, countedAs, type Counts } from '../../mail/events/index.ts';
import { textsIn, uuidsIn, type Executor } from '../../platform/db/index.ts';
import { firstIdAt } from '../../platform/ids.ts';
import { QUARTER_MS, type SlotRange } from './periods.ts';

export interface ScopeCounts {
  scope: string;
  period: number;
  counts: Counts;
}

/** Returns the counts of each scope in each range; a period may have several ranges. */
export async function countsOfScopes(
  db: Executor,
  teamId: string,
  scopes: readonly string[],
  ranges: readonly SlotRange[],
): Promise<ScopeCounts[]> {
  const values = [teamId, JSON.stringify(scopes), JSON.stringify(ranges)];
  const sql = db.dialect === 'pg' ? COUNTS_ON_PG : COUNTS_ON_SQLITE;
  const rows = await db.all<{ scope: string; period: number; sums: string }>(sql, values);
  return rows.map(({ scope, period, sums }) => ({ scope, period, counts: countsFrom(sums) }));
}

function countsFrom(sums: string): Counts {
  const numbers = JSON.parse(sums) as (number | null)[];
  return Object.fromEntries(COUNTERS.map((counter, i) => [counter, numbers[i] ?? 0])) as Counts;
}

// One index lookup for each scope and range, whatever the planner estimates; grouping would sort every row that is
// added up.
const sumsAs = (
  array: string,
): string => `(select ${array}(${COUNTERS.map((counter) => `sum(c.${counter})`).join(', ')})
  from metric_counts as c where c.team_id = t.id and c.scope = s.scope and c.span_minutes = r.span
    and c.slot >= r.first and c.slot < r.past)`;

const COUNTS_ON_PG = `select s.scope, r.period, ${sumsAs('json_build_array')}::text as sums
  from (select ?::uuid as id) as t
  cross join jsonb_array_elements_text(?::jsonb) as s(scope)
  cross join jsonb_to_recordset(?::jsonb) as r(period int, span int, first int, past int)`;

const COUNTS_ON_SQLITE = `with t as (select ? as id),
    s as materialized (select value as scope from json_each(?)),
    r as materialized (select json_extract(value, '$.period') as period, json_extract(value, '$.span') as span,
      json_extract(value, '$.first') as first, json_extract(value, '$.past') as past from json_each(?))
  select s.scope, r.period, ${sumsAs('json_array')} as sums from t cross join s cross join r`;

/** Returns the scopes with this prefix that have counts, with one index lookup for each instead of one for each row. */
export async function scopesBeginning(db: Executor, teamId: string, prefix: string): Promise<string[]> {
  const next = (after: string): string =>
    `(select c.scope from metric_counts as c where c.team_id = ? and c.scope > ${after} order by c.scope limit 1)`;
  const sql = `with recursive s(scope) as (
      select ${next('?')} union all select ${next('s.scope')} from s where s.scope < ?
    ) select scope from s where scope < ?`;
  const end = `${prefix}~`;
  const rows = await db.all<{ scope: string }>(sql, [teamId, prefix, teamId, end, end]);
  return rows.map((row) => row.scope);
}

export interface EmailOfDomain {
  id: string;
  domain_id: string;
}

export function emailsOfTeam(db: Executor, teamId: string, ids: readonly string[]): Promise<EmailOfDomain[]> {
  const among = uuidsIn(db.dialect, 'id', ids);
  const sql = `select id, domain_id from emails where team_id = ? and ${among.sql} order by id`;
  return db.all<EmailOfDomain>(sql, [teamId, among.value]);
}

interface TimeRange {
  from: number;
  until: number;
}

const ACCEPTED_IN = 'team_id = ? and id >= ? and id < ?';

/** Reads only the index, and counts up to `most`. */
export async function countAcceptedIn(db: Executor, teamId: string, range: TimeRange, most: number): Promise<number> {
  const sql = `select count(*) as n from (select id from emails where ${ACCEPTED_IN} limit ?) as accepted`;
  const row = await db.get<{ n: number }>(sql, [teamId, firstIdAt(range.from), firstIdAt(range.until), most]);
  return Number(row?.n ?? 0);
}

export function emailsAcceptedIn(
  db: Executor,
  teamId: string,
  { range, domainIds, limit }: { range: TimeRange; domainIds?: readonly string[] | undefined; limit: number },
): Promise<EmailOfDomain[]> {
  const among = domainIds && uuidsIn(db.dialect, 'domain_id', domainIds);
  const sql = `select id, domain_id from emails
    where ${ACCEPTED_IN} ${among ? `and ${among.sql}` : ''} order by id limit ?`;
  const values = [teamId, firstIdAt(range.from), firstIdAt(range.until), ...(among ? [among.value] : []), limit];
  return db.all<EmailOfDomain>(sql, values);
}

/** Returns the first `limit` emails with a tag that were accepted in the range, after an id. */
export function taggedAcceptedIn(
  db: Executor,
  teamId: string,
  { tag, range, after, limit }: { tag: string; range: TimeRange; after: string | undefined; limit: number },
): Promise<EmailOfDomain[]> {
  // SQLite keeps the order of a cross join.
  const join = db.dialect === 'pg' ? 'join' : 'cross join';
  const sql = `select emails.id, emails.domain_id from (
      select email_id from email_tags where team_id = ? and tag = ? and email_id ${after === undefined ? '>=' : '>'} ? and email_id < ?
    ) as tagged ${join} emails on emails.id = tagged.email_id order by tagged.email_id limit ?`;
  return db.all<EmailOfDomain>(sql, [teamId, tag, after ?? firstIdAt(range.from), firstIdAt(range.until), limit]);
}

/** Returns those of the ids whose emails have a tag. */
export async function taggedAmong(
  db: Executor,
  teamId: string,
  tag: string,
  ids: readonly string[],
): Promise<Set<string>> {
  const among = uuidsIn(db.dialect, 'email_id', ids);
  const sql = `select email_id from email_tags where team_id = ? and tag = ? and ${among.sql}`;
  return new Set((await db.all<{ email_id: string }>(sql, [teamId, tag, among.value])).map((row) => row.email_id));
}

/**
 * Number of events of one type, one bounce type, and of machines or people, for one email within one quarter of an
 * hour.
 */
export interface EventCount {
  subject_id: string;
  type: string;
  bounce: string | null;
  machine: number | null;
  slot: number;
  n: number;
}

const TYPES = [...new Set(COUNTERS.flatMap((counter) => countedAs(counter).of))];

export function loadEventCounts(db: Executor, emailIds: readonly string[]): Promise<EventCount[]> {
  const among = textsIn(db.dialect, 'subject_id', emailIds);
  const bounce = db.dialect === 'pg' ? `data::jsonb #>> '{bounce,type}'` : `json_extract(data, '$.bounce.type')`;
  const machine = db.dialect === 'pg' ? `data::jsonb ->> 'machine'` : `json_extract(data, '$.machine')`;
  const sql = `select subject_id, type, case when type = 'email.bounced' then ${bounce} end as bounce,
      case when type in ('email.opened', 'email.clicked') and ${machine} is not null then 1 end as machine,
      created_at / ${QUARTER_MS} as slot, count(*) as n
    from events where ${among.sql} and type in (${TYPES.map((type) => `'${type}'`).join(', ')})
    group by 1, 2, 3, 4, 5`;
  return db.all<EventCount>(sql, [among.value]);
}

export async function domainNames(db: Executor, teamId: string, ids: readonly string[]): Promise<Map<string, string>> {
  const among = uuidsIn(db.dialect, 'id', ids);
  const sql = `select id, name from domains where team_id = ? and ${among.sql}`;
  const rows = await db.all<{ id: string; name: string }>(sql, [teamId, among.value]);
  return new Map(rows.map((row) => [row.id, row.name]));
}
