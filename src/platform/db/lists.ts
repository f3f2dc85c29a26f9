import { isUuid } from '../ids/index.ts';
import type { Dialect, Value } from './types.ts';

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
