import { findsFew, beginsWith, uuidsIn, type Dialect, type Executor, type Page } from '../../../platform/db/index.ts';
import { mustBeBelowReaderLimit, readAudienceBatch } from './audience-reads.ts';
import {
  chooseIndex,
  renderFilter,
  foldText,
  type Filter,
  needsEngagement,
  type IndexChoice,
  type Rendered,
} from '../../../protocol/contact-filter/index.ts';
import { LISTED, type ListedRow } from './contacts.store.ts';
import { normalizeAddressStart } from '../../../protocol/address/index.ts';

/**
 * A statement on SQLite blocks the process, so each one reads at most this many contacts, and fewer if that takes
 * longer than `BATCH_MS`. PostgreSQL reads all of them in one statement.
 */
const BATCH_MAX = 20_000;
const BATCH_MS = 25;
/**
 * Most pages fill up within a few more contacts than they hold, so the first batch is small, and the next ones grow.
 */
const FIRST_BATCH = 400;
const GROWTH = 8;

const nextBatchSize = (batchSize: number, tookMs: number): number =>
  Math.max(
    FIRST_BATCH,
    Math.min(BATCH_MAX, batchSize * GROWTH, Math.round((batchSize * BATCH_MS) / Math.max(1, tookMs))),
  );

/** Contacts that a filter is evaluated on: all of a team, or those in an index. */
interface Source {
  from: string;
  /** SQL expression for the contact id. */
  id: string;
  where: Rendered;
  rest: Rendered;
  /** Selects the ids alone, in order. */
  ids: Rendered;
}

interface Sought {
  filter: Filter;
  /** Start of the address or of a name. */
  search?: string | undefined;
}

/** Returns a page of the contacts that match a filter and a search, newest first. */
export async function audiencePage(db: Executor, teamId: string, sought: Sought, page: Page): Promise<ListedRow[]> {
  mustBeBelowReaderLimit(db, teamId);
  return audienceRows<ListedRow>(db, teamId, sought, page, LISTED);
}

/** Like `audiencePage`, with other columns. */
export async function audienceRows<Row>(
  db: Executor,
  teamId: string,
  { filter, search }: Sought,
  page: Page,
  columns: string,
): Promise<Row[]> {
  const source =
    search === undefined ? await chooseSource(db, teamId, filter) : await searched(db, teamId, filter, search);
  const isBack = page.before !== undefined;
  const order = isBack ? 'asc' : 'desc';
  const found: Row[] = [];
  let edge = page.after ?? page.before;
  for (let batchSize = Math.max(FIRST_BATCH, page.limit); ;) {
    const bounds = buildBounds(db, source, { edge, order, batchSize });
    const sql = `select ${columns} from ${source.from} where ${source.where.sql} ${bounds.sql} and ${source.rest.sql}
      order by ${source.id} ${order} limit ?`;
    const values = [...source.where.values, ...bounds.values, ...source.rest.values, page.limit - found.length];
    const { answer, tookMs } = await readAudienceBatch(db, teamId, () => db.all<Row>(sql, values));
    found.push(...answer);
    if (found.length >= page.limit) break;
    // Only now, because most pages are full after their first batch.
    const end = await batchEnd(db, source, { edge, order, batchSize });
    if (end === undefined) break;
    edge = end;
    batchSize = nextBatchSize(batchSize, tookMs);
  }
  return isBack ? found.reverse() : found;
}

interface AudienceCount {
  contacts: number;
  unsubscribed: number;
}

/** Counts the contacts that match a filter. */
export async function countAudience(db: Executor, teamId: string, filter: Filter): Promise<AudienceCount> {
  mustBeBelowReaderLimit(db, teamId);
  const source = await chooseSource(db, teamId, filter);
  const sum: AudienceCount = { contacts: 0, unsubscribed: 0 };
  let edge: string | undefined;
  for (let batchSize = FIRST_BATCH; ;) {
    const end = await batchEnd(db, source, { edge, order: 'asc', batchSize });
    const beyond = edge === undefined ? '' : `and ${source.id} > ?`;
    const within = end === undefined ? '' : `and ${source.id} <= ?`;
    const sql = `select count(*) as contacts, coalesce(sum(c.unsubscribed), 0) as unsubscribed
      from ${source.from} where ${source.where.sql} ${beyond} ${within} and ${source.rest.sql}`;
    const edges = [edge, end].filter((one) => one !== undefined);
    const values = [...source.where.values, ...edges, ...source.rest.values];
    const { answer, tookMs } = await readAudienceBatch(db, teamId, () => db.get<AudienceCount>(sql, values));
    sum.contacts += Number(answer?.contacts);
    sum.unsubscribed += Number(answer?.unsubscribed);
    if (end === undefined) return sum;
    edge = end;
    batchSize = nextBatchSize(batchSize, tookMs);
  }
}

/** A condition on the contact `c`, as a filter or as SQL of the caller. */
export type ContactCondition = Filter | Rendered;

/** Returns the tables of a source, with the engagement of contacts if a condition needs it. */
function withEngagement({ from }: Source, conditions: readonly ContactCondition[]): string {
  const join = joinEngagement(conditions.filter((condition) => 'kind' in condition));
  return from.includes('contact_engagement e') ? from : `${from}${join}`;
}

const renderCondition = (condition: ContactCondition, dialect: Dialect): Rendered =>
  'kind' in condition ? renderFilter(condition, dialect) : condition;

/**
 * Counts the contacts that match a filter by the first of the conditions that they meet. Returns the counts in the order
 * of the conditions, and the number of contacts that meet none of them.
 */
export async function countByCondition(
  db: Executor,
  teamId: string,
  { filter, conditions }: { filter: Filter; conditions: readonly ContactCondition[] },
): Promise<{ met: number[]; others: number }> {
  mustBeBelowReaderLimit(db, teamId);
  const source = await chooseSource(db, teamId, filter);
  const rendered = conditions.map((condition) => renderCondition(condition, db.dialect));
  const cases = rendered.map(({ sql }, at) => `when ${sql} then ${at}`).join(' ');
  const from = withEngagement(source, conditions);
  const first = rendered.length === 0 ? `${NONE_MET}` : `case ${cases} else ${NONE_MET} end`;
  const counts = new Map<number, number>();
  let edge: string | undefined;
  for (let batchSize = FIRST_BATCH; ;) {
    const end = await batchEnd(db, source, { edge, order: 'asc', batchSize });
    const beyond = edge === undefined ? '' : `and ${source.id} > ?`;
    const within = end === undefined ? '' : `and ${source.id} <= ?`;
    const sql = `select met, count(*) as contacts from (select ${first} as met
      from ${from} where ${source.where.sql} ${beyond} ${within} and ${source.rest.sql}) as counted group by met`;
    const edges = [edge, end].filter((one) => one !== undefined);
    const ofConditions = rendered.flatMap((one) => one.values);
    const values = [...ofConditions, ...source.where.values, ...edges, ...source.rest.values];
    const read = () => db.all<{ met: number; contacts: number }>(sql, values);
    const { answer, tookMs } = await readAudienceBatch(db, teamId, read);
    for (const { met, contacts } of answer) counts.set(Number(met), (counts.get(Number(met)) ?? 0) + Number(contacts));
    if (end === undefined) break;
    edge = end;
    batchSize = nextBatchSize(batchSize, tookMs);
  }
  return { met: conditions.map((_, at) => counts.get(at) ?? 0), others: counts.get(NONE_MET) ?? 0 };
}

const NONE_MET = -1;

/** Returns those of the contacts that match a filter now. Each is looked up by its id. */
export async function matchesAmong(
  db: Executor,
  teamId: string,
  { filter, ids }: { filter: Filter; ids: readonly string[] },
): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const wanted = uuidsIn(db.dialect, 'c.id', ids);
  const { from, where, rest } = buildFullSource(db.dialect, teamId, filter);
  const sql = `select c.id from ${from} where ${where.sql} and ${wanted.sql} and ${rest.sql}`;
  const rows = await db.all<{ id: string }>(sql, [...where.values, wanted.value, ...rest.values]);
  return new Set(rows.map(({ id }) => id));
}

/** A part of the contacts: those whose id ends with four hexadecimal digits within these bounds. */
export interface IdWindow {
  from: string;
  to: string;
}

/**
 * Returns the addresses of the contacts that match a filter, meet none of the conditions and have their id in one
 * of the windows, in one scan.
 */
export async function sampleAudience(
  db: Executor,
  teamId: string,
  {
    filter,
    conditions,
    windows,
  }: {
    filter: Filter;
    conditions: readonly ContactCondition[];
    windows: readonly IdWindow[];
  },
): Promise<string[]> {
  mustBeBelowReaderLimit(db, teamId);
  const source = await chooseSource(db, teamId, filter);
  const ending = db.dialect === 'pg' ? 'right(c.id::text, 4)' : 'substr(c.id, -4)';
  const inWindow = windows.map(() => `${ending} between ? and ?`).join(' or ');
  const unmet = conditions.map((condition) => renderCondition(condition, db.dialect));
  const without = unmet.map(({ sql }) => `and not ${sql}`).join(' ');
  const found: string[] = [];
  let edge: string | undefined;
  for (let batchSize = FIRST_BATCH; ;) {
    const end = await batchEnd(db, source, { edge, order: 'asc', batchSize });
    const beyond = edge === undefined ? '' : `and ${source.id} > ?`;
    const within = end === undefined ? '' : `and ${source.id} <= ?`;
    const sql = `select c.email_key from ${withEngagement(source, conditions)}
      where ${source.where.sql} ${beyond} ${within} and ${source.rest.sql} and (${inWindow}) ${without}`;
    const edges = [edge, end].filter((one) => one !== undefined);
    const values = [
      ...source.where.values,
      ...edges,
      ...source.rest.values,
      ...windows.flatMap(({ from, to }) => [from, to]),
      ...unmet.flatMap((one) => one.values),
    ];
    const { answer, tookMs } = await readAudienceBatch(db, teamId, () => db.all<{ email_key: string }>(sql, values));
    for (const { email_key: address } of answer) found.push(address);
    if (end === undefined) return found;
    edge = end;
    batchSize = nextBatchSize(batchSize, tookMs);
  }
}

/** Limit of values in one statement; the remaining filters are counted in another one. */
const VALUES_MAX = 10_000;

/**
 * Counts the contacts that match each of the filters. A filter for manually added members counts only those members;
 * all other filters share one statement that scans the contacts.
 */
export async function countAudiences(
  db: Executor,
  teamId: string,
  filters: readonly Filter[],
): Promise<AudienceCount[]> {
  mustBeBelowReaderLimit(db, teamId);
  const others = filters.filter(({ kind }) => kind !== 'member');
  const counted = new Map<Filter, AudienceCount>();
  for (const group of groupFilters(others, db.dialect)) {
    const sums = await countGroup(db, teamId, group);
    for (const [at, { filter }] of group.entries()) counted.set(filter, sums[at] ?? NOBODY);
  }
  for (const filter of filters)
    if (filter.kind === 'member') counted.set(filter, await countAudience(db, teamId, filter));
  return filters.map((filter) => counted.get(filter) ?? NOBODY);
}

const NOBODY: AudienceCount = { contacts: 0, unsubscribed: 0 };

interface RenderedFilter {
  filter: Filter;
  rendered: Rendered;
}

/** Splits the filters into as few groups as the limit of values allows. */
function groupFilters(filters: readonly Filter[], dialect: Dialect): RenderedFilter[][] {
  const groups: RenderedFilter[][] = [];
  let valueCount = Infinity;
  for (const filter of filters) {
    const rendered = renderFilter(filter, dialect);
    valueCount += rendered.values.length;
    if (valueCount > VALUES_MAX) groups.push([]);
    if (valueCount > VALUES_MAX) valueCount = rendered.values.length;
    groups.at(-1)?.push({ filter, rendered });
  }
  return groups;
}

async function countGroup(db: Executor, teamId: string, group: readonly RenderedFilter[]): Promise<AudienceCount[]> {
  const conditions = group.map(({ rendered }) => rendered);
  const source = buildFullSource(db.dialect, teamId, { kind: 'all', of: [] });
  const from = `contacts c${joinEngagement(group.map(({ filter }) => filter))}`;
  const meets = conditions.map(({ sql }, at) => `case when ${sql} then 1 else 0 end as m${at}`);
  const counted = conditions.map((_, at) => `sum(m${at}) as c${at}, sum(m${at} * unsubscribed) as u${at}`);
  const met = conditions.flatMap(({ values }) => values);
  const sums = conditions.map(() => ({ contacts: 0, unsubscribed: 0 }));
  let edge: string | undefined;
  for (let batchSize = FIRST_BATCH; ;) {
    const end = await batchEnd(db, source, { edge, order: 'asc', batchSize });
    const beyond = edge === undefined ? '' : `and ${source.id} > ?`;
    const within = end === undefined ? '' : `and ${source.id} <= ?`;
    const sql = `select ${counted.join(', ')} from (select c.unsubscribed, ${meets.join(', ')}
      from ${from} where ${source.where.sql} ${beyond} ${within}) as met`;
    const values = [...met, ...source.where.values, ...[edge, end].filter((one) => one !== undefined)];
    const read = () => db.get<Record<string, number | string | null>>(sql, values);
    const { answer, tookMs } = await readAudienceBatch(db, teamId, read);
    for (const [at, sum] of sums.entries()) {
      sum.contacts += Number(answer?.[`c${at}`]);
      sum.unsubscribed += Number(answer?.[`u${at}`]);
    }
    if (end === undefined) return sums;
    edge = end;
    batchSize = nextBatchSize(batchSize, tookMs);
  }
}

interface Batch {
  edge: string | undefined;
  order: 'asc' | 'desc';
  batchSize: number;
}

/**
 * Returns the condition for a batch that begins after `edge`. '~' sorts after every id, and the empty text before every
 * id.
 */
function buildBounds(db: Executor, source: Source, { edge, order, batchSize }: Batch): Rendered {
  const [beyond, within, last] = order === 'asc' ? ['>', '<=', '~'] : ['<', '>=', ''];
  const begin = edge === undefined ? { sql: '', values: [] } : { sql: `and ${source.id} ${beyond} ?`, values: [edge] };
  if (db.dialect === 'pg') return begin;
  const end = buildEndQuery(source, { edge, order, batchSize });
  return {
    sql: `${begin.sql} and ${source.id} ${within} coalesce((${end.sql}), '${last}')`,
    values: [...begin.values, ...end.values],
  };
}

function buildEndQuery({ ids }: Source, { edge, order, batchSize }: Batch): Rendered {
  const beyond = edge === undefined ? '' : `and id ${order === 'asc' ? '>' : '<'} ?`;
  return {
    sql: `${ids.sql} ${beyond} order by id ${order} limit 1 offset ?`,
    values: [...ids.values, ...(edge === undefined ? [] : [edge]), batchSize - 1],
  };
}

/** Returns the last id of the batch that begins after `edge`; undefined if it is the last batch. */
async function batchEnd(db: Executor, source: Source, batch: Batch): Promise<string | undefined> {
  if (db.dialect === 'pg') return undefined;
  const { sql, values } = buildEndQuery(source, batch);
  return (await db.get<{ id: string }>(sql, values))?.id;
}

async function chooseSource(db: Executor, teamId: string, filter: Filter): Promise<Source> {
  const { range, ids, isOfMailed } = chooseIndex(filter, { dialect: db.dialect, teamId });
  if (range) return inOrder(db.dialect, teamId, range);
  if (ids && (await findsFew(db, ids)))
    return among(buildFullSource(db.dialect, teamId, filter), { sql: `c.id in (${ids.sql})`, values: ids.values });
  return isOfMailed ? ofMailed(db.dialect, teamId, filter) : buildFullSource(db.dialect, teamId, filter);
}

/** Evaluates a search first if it finds few contacts, and otherwise as an additional condition of the filter. */
async function searched(db: Executor, teamId: string, filter: Filter, search: string): Promise<Source> {
  const ids = foundIds(db.dialect, teamId, search);
  if (await findsFew(db, ids)) {
    // With an array, PostgreSQL looks up each id; a subquery it tends to join with all contacts of the team.
    const few = db.dialect === 'pg' ? `c.id = any(array(${ids.sql}))` : `c.id in (${ids.sql})`;
    return among(buildFullSource(db.dialect, teamId, filter), { sql: few, values: ids.values });
  }
  const source = await chooseSource(db, teamId, filter);
  const found = isFound(db.dialect, search);
  const rest = { sql: `${source.rest.sql} and ${found.sql}`, values: [...source.rest.values, ...found.values] };
  return { ...source, rest };
}

/** Joins the engagement of each contact, where the filter needs it. */
const joinEngagement = (filters: readonly Filter[]): string =>
  filters.some(needsEngagement)
    ? ' left join contact_engagement e on e.team_id = c.team_id and e.contact_id = c.id'
    : '';

const buildFullSource = (dialect: Dialect, teamId: string, filter: Filter): Source => ({
  from: `contacts c${joinEngagement([filter])}`,
  id: 'c.id',
  where: { sql: 'c.team_id = ?', values: [teamId] },
  rest: renderFilter(filter, dialect),
  ids: selectAllIds(teamId),
});

const selectAllIds = (teamId: string): Rendered => ({
  sql: 'select id from contacts where team_id = ?',
  values: [teamId],
});

/** Reads the contacts that have had mail, in order: their engagement has short rows, and only matches are looked up. */
const ofMailed = (dialect: Dialect, teamId: string, filter: Filter): Source => ({
  from: 'contact_engagement e cross join contacts c',
  id: 'e.contact_id',
  where: { sql: 'e.team_id = ? and c.team_id = ? and c.id = e.contact_id', values: [teamId, teamId] },
  rest: renderFilter(filter, dialect),
  ids: {
    sql: 'select id from (select contact_id as id from contact_engagement where team_id = ?) as i where 1 = 1',
    values: [teamId],
  },
});

/** Restricts the source to a few ids, read in one batch. */
const among = (all: Source, ids: Rendered): Source => ({
  ...all,
  where: { sql: `${all.where.sql} and ${ids.sql}`, values: [...all.where.values, ...ids.values] },
  ids: { sql: 'select id from contacts where 1 = 0', values: [] },
});

/** The join is written in the order in which it must be executed: SQLite keeps the order of a cross join. */
function inOrder(dialect: Dialect, teamId: string, range: NonNullable<IndexChoice['range']>): Source {
  const { table, where, also = { sql: '1 = 1', values: [] }, rest } = range;
  return {
    from: `${table} i cross join contacts c${joinEngagement([rest])}`,
    id: 'i.contact_id',
    where: {
      sql: `${where.sql} and ${also.sql} and c.team_id = ? and c.id = i.contact_id`,
      values: [...where.values, ...also.values, teamId],
    },
    rest: renderFilter(rest, dialect),
    ids: {
      sql: `select id from (select i.contact_id as id from ${table} i where ${where.sql}) as i where 1 = 1`,
      values: where.values,
    },
  };
}

/** Returns the conditions for a search by the start of the address or of a name; each has an index. */
function buildSearchRanges(dialect: Dialect, search: string): Rendered[] {
  const name = foldText(search);
  const address = normalizeAddressStart(search);
  return [
    beginsWith(dialect, 'c.email_key', address),
    beginsWith(dialect, 'c.first_name_key', name),
    beginsWith(dialect, 'c.last_name_key', name),
  ] as Rendered[];
}

/** Selects the ids of the contacts that a search finds, unordered and possibly with duplicates. */
function foundIds(dialect: Dialect, teamId: string, search: string): Rendered {
  const ranges = buildSearchRanges(dialect, search);
  return {
    sql: ranges.map(({ sql }) => `select c.id from contacts c where c.team_id = ? and ${sql}`).join(' union all '),
    values: ranges.flatMap(({ values }) => [teamId, ...values]),
  };
}

/** Returns the condition that a search finds the row `c`. */
function isFound(dialect: Dialect, search: string): Rendered {
  const ranges = buildSearchRanges(dialect, search);
  return {
    sql: `(${ranges.map(({ sql }) => sql).join(' or ')})`,
    values: ranges.flatMap(({ values }) => values),
  };
}
