import { uuidsIn, withoutCommitNotice, type Db } from '../db/index.ts';

/** The leases of one kind of work: the owner of each item, and the time until which it has it. */
export interface Leases {
  /** Returns the ids that this owner still has. */
  renew(ids: readonly string[], lease: { owner: string; now: number; until: number }): Promise<ReadonlySet<string>>;
  release(id: string, owner: string): Promise<unknown>;
  /** For a database with a single process: the process that held a lease is gone. */
  releaseAll(): Promise<unknown>;
}

/** Tables with the columns `id` (a UUID), `lease_owner` and `lease_until`, whose stores use leases. */
type LeasedTable = 'automation_runs' | 'broadcasts' | 'contact_imports';

export const createLeases = (db: Db, table: LeasedTable): Leases => ({
  async renew(ids, { owner, until }) {
    const among = uuidsIn(db.dialect, 'id', ids);
    const sql = `update ${table} set lease_until = ? where ${among.sql} and lease_owner = ? returning id`;
    const rows = await db.all<{ id: string }>(withoutCommitNotice(sql), [until, among.value, owner]);
    return new Set(rows.map(({ id }) => id));
  },
  release(id, owner) {
    const sql = `update ${table} set lease_owner = null, lease_until = null where id = ? and lease_owner = ?`;
    return db.run(withoutCommitNotice(sql), [id, owner]);
  },
  releaseAll: () =>
    db.run(
      withoutCommitNotice(`update ${table} set lease_owner = null, lease_until = null where lease_owner is not null`),
    ),
});
