import type { Executor } from '../../platform/db/index.ts';

export interface SharedBodyRow {
  id: string;
  team_id: string;
  html: string | null;
  text: string | null;
  created_at: number;
  /**
   * The first and the last id of the emails of one request that share the body. Null for the body of a broadcast, whose
   * report decides how long it is kept.
   */
  first_email_id: string | null;
  last_email_id: string | null;
}

const COLUMNS = ['id', 'team_id', 'html', 'text', 'created_at', 'first_email_id', 'last_email_id'] as const;

export const insertSharedBodies = (tx: Executor, rows: readonly SharedBodyRow[]): Promise<number> =>
  tx.insertMany(
    'shared_bodies',
    COLUMNS,
    rows.map((row) => COLUMNS.map((column) => row[column])),
  );

export const findSharedBody = (db: Executor, id: string): Promise<SharedBodyRow | undefined> =>
  db.get<SharedBodyRow>('select * from shared_bodies where id = ?', [id]);

export const removeSharedBody = (tx: Executor, id: string): Promise<number> =>
  tx.run('delete from shared_bodies where id = ?', [id]);

/**
 * Removes bodies that emails of one request shared, once none of these emails remains. No email refers to a body that
 * was committed before it, so a body without emails never gets one again. Returns the number of removed bodies.
 */
export const removeUnusedBodies = (
  db: Executor,
  { teamId, beforeId }: { teamId: string; beforeId: string },
  limit: number,
): Promise<number> =>
  db.run(
    `delete from shared_bodies where id in (
      select shared.id from shared_bodies as shared
        where shared.team_id = ? and shared.last_email_id < ?
          and not exists (select 1 from email_bodies as body
            where body.email_id >= shared.first_email_id and body.email_id <= shared.last_email_id
              and body.shared_body_id = shared.id)
        limit ?)`,
    [teamId, beforeId, limit],
  );
