import type { Executor } from '../../platform/db/index.ts';

export interface SharedBodyRow {
  id: string;
  team_id: string;
  html: string | null;
  text: string | null;
  created_at: number;
}

const COLUMNS = ['id', 'team_id', 'html', 'text', 'created_at'] as const;

export const insertSharedBody = (tx: Executor, row: SharedBodyRow): Promise<number> =>
  tx.insertMany('shared_bodies', COLUMNS, [COLUMNS.map((column) => row[column])]);

export const findSharedBody = (db: Executor, id: string): Promise<SharedBodyRow | undefined> =>
  db.get<SharedBodyRow>('select * from shared_bodies where id = ?', [id]);

export const removeSharedBody = (tx: Executor, id: string): Promise<number> =>
  tx.run('delete from shared_bodies where id = ?', [id]);
