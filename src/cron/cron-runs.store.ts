import type { Executor } from '../platform/db/index.ts';

/** Answers whether this caller is the first to run `job` in `slot`, decided by the database. */
export async function takeSlot(db: Executor, job: string, slot: number): Promise<boolean> {
  const sql = `insert into cron_runs (job, slot) values (?, ?)
    on conflict (job) do update set slot = excluded.slot where cron_runs.slot < excluded.slot`;
  return (await db.run(sql, [job, slot])) === 1;
}
