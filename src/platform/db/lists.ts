import { isUuid } from '../ids.ts';
import type { Dialect, Executor, Value } from './db.ts';
import { nextTurn } from '../clock.ts';
import { refuse } from '../refusal.ts';

interface Fragment {
  sql: string;
  value: Value;
}

/**
 * Renders `column in (any number of uuids)` with one parameter, so that the statement stays the same and stays
 * prepared. A text that is not a uuid is no row's id: PostgreSQL would reject the whole statement for it.
 */
export function uuidsIn(dialect: Dialect, column: string, texts: readonly string[]): Fragment {
  const uuids = texts.filter(isUuid);
  return dialect === 'pg'
    ? { sql: `${column} = any(?::uuid[])`, value: `{${uuids.join(',')}}` }
    : { sql: `${column} in (select value from json_each(?))`, value: JSON.stringify(uuids) };
}

/**
 * Same as uuidsIn for any texts. Given an array, PostgreSQL looks each of them up in an index that ends in the column.
 */
export function textsIn(dialect: Dialect, column: string, texts: readonly string[]): Fragment {
  return dialect === 'pg'
    ? { sql: `${column} = any(array(select jsonb_array_elements_text(?::jsonb)))`, value: JSON.stringify(texts) }
    : { sql: `${column} in (select value from json_each(?))`, value: JSON.stringify(texts) };
}

/**
 * Renders "`column` begins with `prefix`" as a range of an index, without wildcard characters. PostgreSQL needs a
 * collation that compares code points, as its index does; SQLite does so by default.
 */
export function beginsWith(dialect: Dialect, column: string, prefix: string): { sql: string; values: Value[] } {
  const compared = dialect === 'pg' ? `${column} collate "C"` : column;
  const end = behindPrefix(prefix);
  return end === undefined
    ? { sql: `${compared} >= ?`, values: [prefix] }
    : { sql: `(${compared} >= ? and ${compared} < ?)`, values: [prefix, end] };
}

const LAST_POINT = 0x10ffff;

/** Returns the first text after all texts that begin with the prefix. */
function behindPrefix(prefix: string): string | undefined {
  const points = Array.from(prefix, (char) => char.codePointAt(0) ?? 0);
  while (points.at(-1) === LAST_POINT) points.pop();
  const last = points.pop();
  if (last === undefined) return undefined;
  // Skip the surrogates, which are not characters.
  return String.fromCodePoint(...points, last === 0xd7ff ? 0xe000 : last + 1);
}

/** Up to this many rows found by an index are read by their ids; beyond that, scanning the list finds a page sooner. */
const FOUND_MAX = 5000;

/** Reports whether a select finds few enough rows to read them by their ids. */
export async function findsFew(
  db: Executor,
  { sql, values }: { sql: string; values: readonly Value[] },
): Promise<boolean> {
  const probe = `select count(*) as n from (select 1 from (${sql}) as ids limit ?) as few`;
  const row = await db.get<{ n: number }>(probe, [...values, FOUND_MAX + 1]);
  return Number(row?.n) <= FOUND_MAX;
}

export interface Page {
  limit: number;
  after?: string | undefined;
  before?: string | undefined;
}

/**
 * Renders one page by keyset, newest first: `where` narrows, `after`/`before` are ids of the same list. It reads one
 * row more than requested, to know whether there is another page; `cutPage` removes it again.
 */
export function pageSql(table: string, where: string, page: Page, columns = '*'): string {
  const edge = page.after !== undefined ? 'and id < ?' : page.before !== undefined ? 'and id > ?' : '';
  const order = page.before !== undefined ? 'asc' : 'desc';
  return `select ${columns} from ${table} where ${where} ${edge} order by id ${order} limit ?`;
}

export function pageValues(page: Page): Value[] {
  const edge = page.after ?? page.before;
  return edge === undefined ? [page.limit + 1] : [edge, page.limit + 1];
}

export function cutPage<T>(rows: T[], page: Page): { rows: T[]; hasMore: boolean } {
  const kept = rows.slice(0, page.limit);
  if (page.before !== undefined) kept.reverse();
  return { rows: kept, hasMore: rows.length > page.limit };
}

interface Condition {
  sql: string;
  values: readonly Value[];
}

interface BatchedList {
  table: string;
  columns?: string | undefined;
  /** Conditions that have an index in the order of ids. */
  where: Condition;
  /** Conditions without an index, which are checked for each row of the list. */
  match: Condition;
}

/** A statement on SQLite blocks the process, so it examines at most this many rows. */
const BATCH = 5000;

/** Returns a page of the matching rows of a list. PostgreSQL searches for them in one statement. */
export async function pageInBatches<T>(
  db: Executor,
  { table, columns, where, match }: BatchedList,
  page: Page,
): Promise<{ rows: T[]; hasMore: boolean }> {
  const isBack = page.before !== undefined;
  const rows: T[] = [];
  for (let edge = page.after ?? page.before; ;) {
    const from = isBack ? { before: edge } : { after: edge };
    const end = db.dialect === 'pg' ? undefined : await batchEnd(db, { table, where }, from);
    const within = end === undefined ? 'true' : `id ${isBack ? '<=' : '>='} ?`;
    const rest = { ...from, limit: page.limit - rows.length };
    const sql = pageSql(table, `${where.sql} and ${within} and ${match.sql}`, rest, columns);
    const bounds = end === undefined ? [] : [end];
    rows.push(...(await db.all<T>(sql, [...where.values, ...bounds, ...match.values, ...pageValues(rest)])));
    if (end === undefined || rows.length > page.limit) return cutPage(rows, page);
    edge = end;
    await nextTurn();
  }
}

/** Returns the last id of a batch unless it is the final batch. */
async function batchEnd(
  db: Executor,
  { table, where }: Pick<BatchedList, 'table' | 'where'>,
  from: Omit<Page, 'limit'>,
): Promise<string | undefined> {
  const sql = `${pageSql(table, where.sql, { ...from, limit: 0 }, 'id')} offset ?`;
  const values = [...where.values, ...pageValues({ ...from, limit: 0 }), BATCH - 1];
  return (await db.get<{ id: string }>(sql, values))?.id;
}

const LOOKED_AT_MAX = 100_000;

interface EndingList {
  table: string;
  columns: string;
  /** Together with `where` it has an index. */
  id: string;
  where: { sql: string; values: readonly Value[] };
  /** `text`: an id in a format of its own, without the hyphens of a UUID. */
  form: 'uuid' | 'text';
  /** The plural noun for the items of the list. */
  noun: string;
  /** A lower limit for lists in which examining an id means reading its row. */
  lookedAtMax?: number;
}

/** Rejects parameters other than those of the page: the end of an id cannot be combined with other filters. */
export function mustBeAlone(query: object): void {
  const others = Object.entries(query).filter(
    ([name, value]) => value !== undefined && !['id_end', 'limit', 'after', 'before'].includes(name),
  );
  const [[other] = []] = others;
  if (other !== undefined) throw refuse('invalid_parameter', { say: `id_end stands alone; leave out ${other}.` });
}

/**
 * Returns a page of the rows whose id ends like this. There is no index of the ends, which are random: it would cost
 * each insert more than all other indexes. Instead this scans the newest ids, which are indexed in order.
 */
export async function rowsEnding<T>(
  db: Executor,
  list: EndingList,
  given: string,
  page: Page,
): Promise<{ rows: T[]; hasMore: boolean }> {
  const end = given.toLowerCase();
  const found: string[] = [];
  const most = list.lookedAtMax ?? LOOKED_AT_MAX;
  const limit = db.dialect === 'pg' ? most : BATCH;
  let edge = page.after ?? page.before;
  let lookedAt = 0;
  for (let isLast = false; !isLast;) {
    const batch = await idsEndingIn(db, list, end, { edge, isBack: page.before !== undefined, limit });
    found.push(...batch.ids);
    lookedAt += batch.count;
    edge = batch.edge;
    isLast = batch.count < limit || lookedAt >= most || found.length > page.limit;
    if (!isLast) await nextTurn();
  }
  if (found.length === 0 && lookedAt >= most) {
    throw refuse('invalid_parameter', {
      say: `None of the newest ${most} ${list.noun} has an id that ends in ${end}; name an older one by its whole id.`,
    });
  }
  const kept = found.slice(0, page.limit);
  if (kept.length === 0) return { rows: [], hasMore: false };
  const among = (list.form === 'uuid' ? uuidsIn : textsIn)(db.dialect, list.id, kept);
  const sql = `select ${list.columns} from ${list.table} where ${list.where.sql} and ${among.sql} order by ${list.id} desc`;
  return { rows: await db.all<T>(sql, [...list.where.values, among.value]), hasMore: found.length > page.limit };
}

/** Returns the matching ids of the next batch, in the order of the page. */
async function idsEndingIn(
  db: Executor,
  { table, id, where, form }: EndingList,
  end: string,
  { edge, isBack, limit }: { edge: string | undefined; isBack: boolean; limit: number },
): Promise<{ ids: string[]; count: number; edge: string | undefined }> {
  const text = 'cast(id as text)';
  const joined = db.dialect === 'pg' ? 'string_agg' : 'group_concat';
  const beyond = edge === undefined ? '' : `and ${id} ${isBack ? '>' : '<'} ?`;
  const sql = `select count(*) as n, ${isBack ? 'max' : 'min'}(${text}) as edge,
      ${joined}(case when ${text} like ? then ${text} end, ',') as found
    from (select ${id} as id from ${table} where ${where.sql} ${beyond} order by ${id} ${isBack ? 'asc' : 'desc'} limit ?) as newest`;
  const pattern = `%${form === 'uuid' ? endOfUuid(end) : end}`;
  const values = [pattern, ...where.values, ...(edge === undefined ? [] : [edge]), limit];
  const row = await db.get<{ n: number; edge: string | null; found: string | null }>(sql, values);
  const ids = (row?.found ?? '').split(',').filter((one) => one !== '');
  // Neither database guarantees the order of the joined rows.
  ids.sort((a, b) => (a < b === isBack ? -1 : 1));
  return { ids, count: Number(row?.n ?? 0), edge: row?.edge ?? undefined };
}

/** Inserts hyphens into hexadecimal digits as at the end of a UUID: 8-4-4-4-12. */
export function endOfUuid(end: string): string {
  const whole = end.toLowerCase().padStart(32, '_');
  const parts = [whole.slice(0, 8), whole.slice(8, 12), whole.slice(12, 16), whole.slice(16, 20), whole.slice(20)];
  return parts.join('-').replace(/^[_-]+/, '');
}

interface PrefixList {
  table: string;
  columns?: string;
  teamId: string;
  /** Further conditions of the list; together with the team they have an index in the order of ids. */
  where: { sql: string; values: readonly Value[] };
  /** Together with the team it has an index, which PostgreSQL keeps in the order of code points. */
  column: string;
  prefix: string;
}

/**
 * Returns a page of the rows whose column begins with a prefix: few matches are read by their ids, many by scanning the
 * list.
 */
export async function prefixPage<T>(
  db: Executor,
  list: PrefixList,
  page: Page,
): Promise<{ rows: T[]; hasMore: boolean }> {
  const { table, columns, teamId, column, prefix } = list;
  const where = `team_id = ? and ${list.where.sql}`;
  const values = [teamId, ...list.where.values];
  const range = beginsWith(db.dialect, column, prefix);
  const ids = { sql: `select id from ${table} where team_id = ? and ${range.sql}`, values: [teamId, ...range.values] };
  const read = async (found: { sql: string; values: readonly Value[] }) => {
    const sql = pageSql(table, `${where} and ${found.sql}`, page, columns);
    return cutPage(await db.all<T>(sql, [...values, ...found.values, ...pageValues(page)]), page);
  };
  if (await findsFew(db, ids)) {
    // PostgreSQL looks up each id of an array; a subquery it tends to join with all rows of the team.
    return read({
      sql: db.dialect === 'pg' ? `id = any(array(${ids.sql}))` : `id in (${ids.sql})`,
      values: ids.values,
    });
  }
  // The `+` makes SQLite scan the list; with the column's index it would sort all matches.
  const match = beginsWith(db.dialect, db.dialect === 'pg' ? column : `+${column}`, prefix);
  return pageInBatches<T>(db, { table, columns, where: { sql: where, values }, match }, page);
}
