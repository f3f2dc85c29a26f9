import { nextTurn } from '../clock/index.ts';
import { pageOf, pageSql, pageValues, type Page } from './lists.ts';
import type { Executor, Value } from './types.ts';

interface Condition {
  sql: string;
  values: readonly Value[];
}

export interface BatchedList {
  table: string;
  columns?: string | undefined;
  /** What narrows the list and has an index in the order of ids. */
  where: Condition;
  /** What no index helps with: each row of the list is held against it. */
  match: Condition;
}

/** A statement on SQLite holds up the process, so that it looks at so many rows at most. */
const BATCH = 5000;

/** A page of the rows of a list that match. PostgreSQL looks for them in one statement. */
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
    if (end === undefined || rows.length > page.limit) return pageOf(rows, page);
    edge = end;
    await nextTurn();
  }
}

/** The last id of a batch that is not the last one. */
async function batchEnd(
  db: Executor,
  { table, where }: Pick<BatchedList, 'table' | 'where'>,
  from: Omit<Page, 'limit'>,
): Promise<string | undefined> {
  const sql = `${pageSql(table, where.sql, { ...from, limit: 0 }, 'id')} offset ?`;
  const values = [...where.values, ...pageValues({ ...from, limit: 0 }), BATCH - 1];
  return (await db.get<{ id: string }>(sql, values))?.id;
}
