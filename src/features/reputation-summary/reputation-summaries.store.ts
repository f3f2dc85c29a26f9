import type { Executor } from '../../platform/db/index.ts';

const KEPT_DAYS = 30;

/** Reports whether the summary of a day is done: sent, or not needed. */
export const isSummaryDone = async (db: Executor, day: number): Promise<boolean> =>
  (await db.get('select 1 as found from reputation_summaries where day = ?', [day])) !== undefined;

/** Records what became of the summary of a day, and removes old records. */
export async function noteSummary(
  tx: Executor,
  { day, outcome, at }: { day: number; outcome: string; at: number },
): Promise<void> {
  await tx.insertMany(
    'reputation_summaries',
    ['day', 'outcome', 'created_at'],
    [[day, outcome, at]],
    'on conflict (day) do nothing',
  );
  await tx.run('delete from reputation_summaries where day < ?', [day - KEPT_DAYS]);
}
