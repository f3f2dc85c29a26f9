import type { Executor } from '../../../platform/db/index.ts';

export interface AccountRow {
  directory: string;
  id: string;
  /** Sealed with the instance key, bound to the id. */
  private_key: string;
  url: string | null;
  created_at: number;
}

export const findAccount = (db: Executor, directory: string): Promise<AccountRow | undefined> =>
  db.get<AccountRow>('select * from acme_accounts where directory = ?', [directory]);

/** Of two nodes that make one at once, the first one's stays. */
export const insertAccount = (db: Executor, row: AccountRow): Promise<number> =>
  db.insertMany(
    'acme_accounts',
    ['directory', 'id', 'private_key', 'url', 'created_at', 'hour', 'orders_in_hour'],
    [[row.directory, row.id, row.private_key, row.url, row.created_at, 0, 0]],
    'on conflict (directory) do nothing',
  );

export const noteAccountUrl = (db: Executor, id: string, url: string | null): Promise<number> =>
  db.run('update acme_accounts set url = ? where id = ?', [url, id]);

/** Answers whether there may be one more order in this hour, and counts it. */
export async function countOrder(
  db: Executor,
  id: string,
  { hour, ordersMax }: { hour: number; ordersMax: number },
): Promise<boolean> {
  const counted = await db.run(
    `update acme_accounts set orders_in_hour = case when hour = ? then orders_in_hour + 1 else 1 end, hour = ?
      where id = ? and (hour <> ? or orders_in_hour < ?)`,
    [hour, hour, id, hour, ordersMax],
  );
  return counted === 1;
}
