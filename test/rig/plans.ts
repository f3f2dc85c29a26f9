import { createPgStatements } from '../../src/platform/db/pg-statements.ts';
import type { Db, Value } from '../../src/platform/db/index.ts';

interface Asked {
  sql: string;
  values: readonly Value[];
}

/** Returns how the database reads for `work`: the plans of those statements that contain each of `words`. */
export async function explainQueries(
  db: Db,
  work: () => Promise<unknown>,
  ...words: readonly string[]
): Promise<string[]> {
  const asked: Asked[] = [];
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
  const chosen = asked.filter((one) => words.every((word) => one.sql.includes(word)));
  for (const { sql, values } of chosen) {
    plans.push(formatPlan(await db.all(`${explain} ${sql}`, values)));
  }
  return db.dialect === 'pg' ? [...plans, ...(await plansForAnyValues(db, chosen))] : plans;
}

/** A prepared statement may be run with a plan that was made without its values; one that is planned each time never is. */
async function plansForAnyValues(db: Db, asked: readonly Asked[]): Promise<string[]> {
  const statements = createPgStatements();
  const plans: string[] = [];
  for (const { sql, values } of asked) {
    statements.of(sql, values);
    const { name, text } = statements.of(sql, values);
    if (name === undefined) continue;
    const plan = await db.tx(async (tx) => {
      await tx.run('set local plan_cache_mode = force_generic_plan');
      await tx.run(`prepare looked_at as ${text}`);
      try {
        const given = values.length > 0 ? `(${values.map(literal).join(', ')})` : '';
        return formatPlan(
          await tx.all(`explain (analyze, costs off, timing off, summary off) execute looked_at${given}`),
        );
      } finally {
        await tx.run('deallocate looked_at');
      }
    });
    plans.push(plan);
  }
  return plans;
}

const literal = (value: Value): string => {
  if (value === null) return 'null';
  if (Buffer.isBuffer(value)) return `'\\x${value.toString('hex')}'`;
  return `'${String(value).replaceAll("'", "''")}'`;
};

const formatPlan = (lines: readonly object[]): string => lines.map((line) => Object.values(line).join(' ')).join('\n');

/** Returns the most rows that a step of a plan read; only PostgreSQL reports it. */
export const rowsRead = (plan: string): number =>
  Math.max(0, ...[...plan.matchAll(/(?:rows=|Removed by Filter: )(\d+)/g)].map(([, n]) => Number(n)));
