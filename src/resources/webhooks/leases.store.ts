import { withoutCommitNotice, textsIn, type Db, type Executor } from '../../platform/db/index.ts';

/** Takes endpoints for `owner`, or keeps them; answers those that it owns now. A lease that a power cut takes back is no loss. */
export async function leaseEndpoints(
  db: Db,
  ids: readonly string[],
  lease: { owner: string; now: number; until: number },
): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const among = textsIn(db.dialect, 'id', ids);
  // In one order for everybody who changes several of them, or they would wait for each other.
  const inOrder = db.dialect === 'pg' ? 'order by id for no key update' : '';
  const sql = withoutCommitNotice(`update webhooks set lease_owner = ?, lease_until = ? where id in
    (select id from webhooks where ${among.sql} and deleted_at is null
      and (lease_owner is null or lease_owner = ? or lease_until <= ?) ${inOrder}) returning id`);
  const values = [lease.owner, lease.until, among.value, lease.owner, lease.now];
  const rows = await db.txUnsynced((tx) => tx.all<{ id: string }>(sql, values));
  return new Set(rows.map((row) => row.id));
}

export function releaseEndpoints(db: Executor, ids: readonly string[], owner: string): Promise<number> {
  const among = textsIn(db.dialect, 'id', ids);
  const sql = withoutCommitNotice(`update webhooks set lease_owner = null, lease_until = null
    where ${among.sql} and lease_owner = ?`);
  return db.run(sql, [among.value, owner]);
}

/** Where there can be no other process, whatever is leased was leased by one that is gone. */
export const releaseEveryEndpoint = (db: Executor): Promise<number> =>
  db.run('update webhooks set lease_owner = null, lease_until = null where lease_owner is not null');
