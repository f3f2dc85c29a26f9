import type { Executor } from '../../platform/db/index.ts';
import type { DomainRow } from './domain-rows.ts';

/** The copy of a name that makes it some other team’s; there is one at the most. */
export const findOwner = (db: Executor, teamId: string, name: string): Promise<DomainRow | undefined> =>
  db.get<DomainRow>('select * from domains where name = ? and held_at is not null and team_id <> ?', [name, teamId]);

/** The same, locked to the end of the transaction. */
export function lockOwner(tx: Executor, teamId: string, name: string): Promise<DomainRow | undefined> {
  const lock = tx.dialect === 'pg' ? 'for update' : '';
  const sql = `select * from domains where name = ? and held_at is not null and team_id <> ? ${lock}`;
  return tx.get<DomainRow>(sql, [name, teamId]);
}

/** What was asked of a domain before it changed hands does not count against its next check. */
export const forgetAsking = (tx: Executor, id: string): Promise<number> =>
  tx.run('update domains set asked_at = null where id = ?', [id]);
