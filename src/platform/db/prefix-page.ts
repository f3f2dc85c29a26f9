import { nextTurn } from '../clock/index.ts';
import { beginsWith, findsFew, pageOf, pageSql, pageValues, type Page } from './lists.ts';
import type { Executor, Value } from './types.ts';

export interface PrefixList {
  table: string;
  columns?: string;
  teamId: string;
  /** What else narrows the list; with the team it has an index in the order of ids. */
  where: { sql: string; values: readonly Value[] };
  /** With the team it has an index, which PostgreSQL keeps in the order of code points. */
  column: string;
  prefix: string;
}

/** A statement on SQLite holds up the process, so that it looks at so many rows at most. */
const BATCH = 5000;

/** A page of the rows whose column begins with a prefix: few are read by their ids, many on the way of the list. */
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
    return pageOf(await db.all<T>(sql, [...values, ...found.values, ...pageValues(page)]), page);
  };
  if (await findsFew(db, ids)) {
    // Of an array, PostgreSQL looks each id up; a subquery it rather joins with all rows of the team.
    return read({
      sql: db.dialect === 'pg' ? `id = any(array(${ids.sql}))` : `id in (${ids.sql})`,
      values: ids.values,
    });
  }
  return db.dialect === 'pg' ? read(range) : pageInBatches<T>(db, { ...list, where: { sql: where, values } }, page);
}

async function pageInBatches<T>(
  db: Executor,
  { table, columns, where, column, prefix }: PrefixList,
  page: Page,
): Promise<{ rows: T[]; hasMore: boolean }> {
  // The `+` keeps SQLite on the way of the list; along the column's index it would sort all that it finds.
  const range = beginsWith(db.dialect, `+${column}`, prefix);
  const isBack = page.before !== undefined;
  const rows: T[] = [];
  for (let edge = page.after ?? page.before; ;) {
    const from = isBack ? { before: edge } : { after: edge };
    const behind = `${pageSql(table, where.sql, { ...from, limit: 0 }, 'id')} offset ?`;
    const end = await db.get<{ id: string }>(behind, [
      ...where.values,
      ...pageValues({ ...from, limit: 0 }),
      BATCH - 1,
    ]);
    const within = end === undefined ? 'true' : `id ${isBack ? '<=' : '>='} ?`;
    const rest = { ...from, limit: page.limit - rows.length };
    const sql = pageSql(table, `${where.sql} and ${within} and ${range.sql}`, rest, columns);
    const bounds = end === undefined ? [] : [end.id];
    rows.push(...(await db.all<T>(sql, [...where.values, ...bounds, ...range.values, ...pageValues(rest)])));
    if (end === undefined || rows.length > page.limit) return pageOf(rows, page);
    edge = end.id;
    await nextTurn();
  }
}
