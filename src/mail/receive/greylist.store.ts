import type { Executor } from '../../platform/db/index.ts';

export interface GreylistRow {
  key: string;
  /** Time at which the client was first seen; for a known network, time at which it was last accepted. */
  seen_at: number;
  expires_at: number;
}

export const findGreylisted = (db: Executor, keys: readonly [string, string], now: number): Promise<GreylistRow[]> =>
  db.all<GreylistRow>('select * from greylist where key in (?, ?) and expires_at > ?', [...keys, now]);

/** Inserts a row. Of several inserts at the same time the first counts; an expired row starts anew. */
export async function insertGreylisted(tx: Executor, { key, seen_at, expires_at }: GreylistRow): Promise<void> {
  await tx.run(
    `insert into greylist (key, seen_at, expires_at) values (?, ?, ?) on conflict (key) do update
     set seen_at = excluded.seen_at, expires_at = excluded.expires_at where greylist.expires_at <= excluded.seen_at`,
    [key, seen_at, expires_at],
  );
}

export async function writeGreylisted(tx: Executor, { key, seen_at, expires_at }: GreylistRow): Promise<void> {
  await tx.run(
    `insert into greylist (key, seen_at, expires_at) values (?, ?, ?) on conflict (key) do update
     set seen_at = excluded.seen_at, expires_at = excluded.expires_at`,
    [key, seen_at, expires_at],
  );
}

export const deleteGreylisted = (tx: Executor, key: string): Promise<number> =>
  tx.run('delete from greylist where key = ?', [key]);

export const deleteExpiredGreylisted = (db: Executor, now: number): Promise<number> =>
  db.run('delete from greylist where expires_at <= ?', [now]);

export const countGreylisted = async (db: Executor): Promise<number> =>
  Number((await db.get<{ n: number }>('select count(*) as n from greylist'))?.n ?? 0);
