import type { Db, Executor } from '../../platform/db/index.ts';

/** A source that is left out for a while. */
export interface SourceRest {
  source: string;
  /** Empty if nothing can be sent from it at all. */
  receiver: string;
  until_at: number;
  reason: string;
}

/** No rest is longer; a later end is one of a clock that was ahead. */
export const REST_MS_MAX = 24 * 60 * 60_000;

/** Stores a rest, and removes those that are over. */
export const putRest = (
  db: Db,
  { source, receiver, until_at: until, reason }: SourceRest,
  now: number,
): Promise<void> =>
  db.txUnsynced(async (tx) => {
    await tx.run('delete from source_rests where until_at <= ?', [now]);
    await tx.insertMany(
      'source_rests',
      ['source', 'receiver', 'until_at', 'reason'],
      [[source, receiver, until, reason]],
      'on conflict (source, receiver) do update set until_at = excluded.until_at, reason = excluded.reason',
    );
  });

/** Lists the rests that are not over. */
export async function listRests(db: Executor, now: number): Promise<SourceRest[]> {
  const rows = await db.all<SourceRest>('select * from source_rests where until_at > ? and until_at <= ?', [
    now,
    now + REST_MS_MAX,
  ]);
  return rows.map((row) => ({ ...row, until_at: Number(row.until_at) }));
}
