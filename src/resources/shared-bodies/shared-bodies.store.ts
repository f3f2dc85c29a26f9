import { uuidsIn, type Executor } from '../../platform/db/index.ts';

export interface SharedBodyRow {
  id: string;
  team_id: string;
  html: string | null;
  text: string | null;
  created_at: number;
}

const COLUMNS = ['id', 'team_id', 'html', 'text', 'created_at'] as const;

export async function insertSharedBody(tx: Executor, row: SharedBodyRow): Promise<void> {
  await tx.insertMany('shared_bodies', COLUMNS, [COLUMNS.map((column) => row[column])]);
}

export function findSharedBodies(db: Executor, ids: readonly string[]): Promise<SharedBodyRow[]> {
  const among = uuidsIn(db.dialect, 'id', ids);
  return db.all<SharedBodyRow>(`select * from shared_bodies where ${among.sql}`, [among.value]);
}
