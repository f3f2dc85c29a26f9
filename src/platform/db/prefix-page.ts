import { beginsWith, findsFew, pageOf, pageSql, pageValues, type Page } from './lists.ts';
import { pageInBatches } from './page-in-batches.ts';
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
  // The `+` keeps SQLite on the way of the list; along the column's index it would sort all that it finds.
  const match = beginsWith(db.dialect, db.dialect === 'pg' ? column : `+${column}`, prefix);
  return pageInBatches<T>(db, { table, columns, where: { sql: where, values }, match }, page);
}
