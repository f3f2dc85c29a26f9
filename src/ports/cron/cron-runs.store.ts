import type { Executor } from '../../platform/db/index.ts';

/** Returns the minute for which each job ran last, among all nodes. */
export async function readSlots(db: Executor): Promise<Map<string, number>> {
  const rows = await db.all<{ job: string; slot: number }>('select job, slot from cron_runs');
  return new Map(rows.map(({ job, slot }) => [job, Number(slot)]));
}

/**
 * Records jobs that have never run as if they had run at `slot`, so that what was due before they existed is not made
 * up for.
 */
export async function noteJobs(db: Executor, jobs: readonly string[], slot: number): Promise<void> {
  const rows = jobs.map((job) => [job, slot]);
  await db.insertMany('cron_runs', ['job', 'slot'], rows, 'on conflict (job) do nothing');
}

/**
 * Returns whether this caller is the first to run `job` for the minute `slot`; the database decides. A run that is
 * recorded later than `latest` comes from a clock that was ahead, and is ignored.
 */
export async function takeSlot(
  db: Executor,
  job: string,
  { slot, latest }: { slot: number; latest: number },
): Promise<boolean> {
  const sql = `insert into cron_runs (job, slot) values (?, ?)
    on conflict (job) do update set slot = excluded.slot where cron_runs.slot < excluded.slot or cron_runs.slot > ?`;
  return (await db.run(sql, [job, slot, latest])) === 1;
}
