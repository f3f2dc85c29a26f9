import type { Db, Value } from '../../src/platform/db/index.ts';

/** How the database reads for what `work` asks of it: the plans of those statements that hold each of `words`. */
export async function plansOf(db: Db, work: () => Promise<unknown>, ...words: readonly string[]): Promise<string[]> {
  const asked: { sql: string; values: readonly Value[] }[] = [];
  const { all, get, run, runEach } = db;
  db.all = ((sql: string, values: readonly Value[] = []) => (
    asked.push({ sql, values }),
    all.call(db, sql, values)
  )) as typeof all;
  db.get = ((sql: string, values: readonly Value[] = []) => (
    asked.push({ sql, values }),
    get.call(db, sql, values)
  )) as typeof get;
  db.runEach = (sql, lists) => (asked.push({ sql, values: lists[0] ?? [] }), runEach.call(db, sql, lists));
  db.run = (sql, values = []) => (asked.push({ sql, values }), run.call(db, sql, values));
  try {
    await work();
  } finally {
    Object.assign(db, { all, get, run, runEach });
  }
  const explain = db.dialect === 'pg' ? 'explain (analyze, costs off, timing off, summary off)' : 'explain query plan';
  const plans: string[] = [];
  for (const { sql, values } of asked.filter((one) => words.every((word) => one.sql.includes(word)))) {
    const lines = await db.all(`${explain} ${sql}`, values);
    plans.push(lines.map((line) => Object.values(line).join(' ')).join('\n'));
  }
  return plans;
}

/** The most rows that a step of a plan read; PostgreSQL alone says so. */
export const rowsRead = (plan: string): number =>
  Math.max(0, ...[...plan.matchAll(/(?:rows=|Removed by Filter: )(\d+)/g)].map(([, n]) => Number(n)));
