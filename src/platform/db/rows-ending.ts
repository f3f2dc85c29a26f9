import { nextTurn } from '../clock/index.ts';
import { refuse } from '../refusal/index.ts';
import { textsIn, uuidsIn, type Page } from './lists.ts';
import type { Executor, Value } from './types.ts';

/** A statement on SQLite holds up the process, so that it looks at so many ids at most. */
const BATCH = 5000;
const LOOKED_AT_MAX = 100_000;

export interface EndingList {
  table: string;
  columns: string;
  /** With what narrows the list it has an index. */
  id: string;
  where: { sql: string; values: readonly Value[] };
  /** An id of its own form is a text without the hyphens of a UUID. */
  form: 'uuid' | 'text';
  /** What one of them is, in the plural. */
  noun: string;
  /** Fewer, where to look at an id is to read its row. */
  lookedAtMax?: number;
}

/** The parameter beside the page: beside the end of an id no other filter is taken. */
export function mustBeAlone(query: object): void {
  const others = Object.entries(query).filter(
    ([name, value]) => value !== undefined && !['id_end', 'limit', 'after', 'before'].includes(name),
  );
  const [[other] = []] = others;
  if (other !== undefined) throw refuse('invalid_parameter', { say: `id_end stands alone; leave out ${other}.` });
}

/**
 * A page of the rows whose id ends so. No index has the ends, which are random: one would cost each insert more than all of its
 * other indexes do. The ids of the newest are looked through instead, which an index has in their order.
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

/** Those of the next batch, in the order of the page. */
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
  // Neither database promises the order in which they are joined.
  ids.sort((a, b) => (a < b === isBack ? -1 : 1));
  return { ids, count: Number(row?.n ?? 0), edge: row?.edge ?? undefined };
}

/** Hexadecimal digits as they stand at the end of a UUID: 8-4-4-4-12. */
export function endOfUuid(end: string): string {
  const whole = end.toLowerCase().padStart(32, '_');
  const parts = [whole.slice(0, 8), whole.slice(8, 12), whole.slice(12, 16), whole.slice(16, 20), whole.slice(20)];
  return parts.join('-').replace(/^[_-]+/, '');
}
