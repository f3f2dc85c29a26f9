import type { Executor } from '../../../platform/db/index.ts';

export interface FailedSignInRow {
  id: string;
  email_key: string;
  address: string | null;
  user_agent: string | null;
  request_id: string | null;
}

const COLUMNS = ['id', 'email_key', 'address', 'user_agent', 'request_id'] as const;

export const insertFailedSignIn = (tx: Executor, row: FailedSignInRow): Promise<number> =>
  tx.insertMany('failed_sign_ins', COLUMNS, [COLUMNS.map((column) => row[column])]);

export const failedSignIns = (db: Executor, limit: number): Promise<FailedSignInRow[]> =>
  db.all<FailedSignInRow>('select * from failed_sign_ins order by id limit ?', [limit]);

export const removeFailedSignIn = (tx: Executor, id: string): Promise<number> =>
  tx.run('delete from failed_sign_ins where id = ?', [id]);
