import { isUuid } from '../ids/index.ts';
import type { Dialect, Executor, Value } from './types.ts';

interface Fragment {
  sql: string;
  value: Value;
}

/**
 * `column in (any number of uuids)` as one parameter, so that the statement stays the same and stays prepared. A text
 * that is no uuid is no row's id: PostgreSQL would refuse the whole statement for it.
 */
export function uuidsIn(dialect: Dialect, column: string, texts: readonly string[]): Fragment {
  const uuids = texts.filter(isUuid);
  return dialect === 'pg'
    ? { sql: `${column} = any(?::uuid[])`, value: `{${uuids.join(',')}}` }
    : { sql: `${column} in (select value from json_each(?))`, value: JSON.stringify(uuids) };
}

/** The same for any texts. As an array, PostgreSQL looks each of them up in an index that ends in the column. */
export function textsIn(dialect: Dialect, column: string, texts: readonly string[]): Fragment {
  return dialect === 'pg'
    ? { sql: `${column} = any(array(select jsonb_array_elements_text(?::jsonb)))`, value: JSON.stringify(texts) }
    : { sql: `${column} in (select value from json_each(?))`, value: JSON.stringify(texts) };
}

/**
 * `column` begins with `prefix`, as a range of an index: no sign of it stands for another one. PostgreSQL is told to compare
 * code points, as its index does; SQLite does so by itself.
 */
export function beginsWith(dialect: Dialect, column: string, prefix: string): { sql: string; values: Value[] } {
  const compared = dialect === 'pg' ? `${column} collate "C"` : column;
  const end = behindPrefix(prefix);
  return end === undefined
    ? { sql: `${compared} >= ?`, values: [prefix] }
    : { sql: `(${compared} >= ? and ${compared} < ?)`, values: [prefix, end] };
}

const LAST_POINT = 0x10ffff;

/** The first text behind all that begin with the prefix. */
function behindPrefix(prefix: string): string | undefined {
  const points = Array.from(prefix, (char) => char.codePointAt(0) ?? 0);
  while (points.at(-1) === LAST_POINT) points.pop();
  const last = points.pop();
  if (last === undefined) return undefined;
  // Half of a surrogate pair is no text.
  return String.fromCodePoint(...points, last === 0xd7ff ? 0xe000 : last + 1);
}

/** Up to so many rows that an index finds are read by their ids; beyond, a page is found sooner by going through all. */
const FOUND_MAX = 5000;

/** Whether a select finds few enough rows to read them by their ids. */
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
 * One page by keyset, newest first: `where` narrows, `after`/`before` are ids of the same list. One row more than asked
 * is read, to know whether there is another page; `pageOf` takes it off again.
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

export function pageOf<T>(rows: T[], page: Page): { rows: T[]; hasMore: boolean } {
  const kept = rows.slice(0, page.limit);
  if (page.before !== undefined) kept.reverse();
  return { rows: kept, hasMore: rows.length > page.limit };
}
