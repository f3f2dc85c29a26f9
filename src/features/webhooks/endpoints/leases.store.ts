import { withoutCommitNotice, textsIn, type Db } from '../../../platform/db/index.ts';
import type { Leases } from '../../../platform/work-loop/index.ts';

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

export const endpointLeases = (db: Db): Leases => ({
  renew: (ids, lease) => leaseEndpoints(db, ids, lease),
  release: (id, owner) =>
    db.run(
      withoutCommitNotice(
        'update webhooks set lease_owner = null, lease_until = null where id = ? and lease_owner = ?',
      ),
      [id, owner],
    ),
  releaseAll: () => db.run('update webhooks set lease_owner = null, lease_until = null where lease_owner is not null'),
});
