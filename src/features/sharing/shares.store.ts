import { uuidsIn, type Executor } from '../../platform/db/index.ts';

export interface ShareRow {
  token_hash: string;
  email_id: string;
  created_at: number;
  expires_at: number;
}

const COLUMNS = ['token_hash', 'email_id', 'created_at', 'expires_at'] as const;

export const insertShare = (db: Executor, row: ShareRow): Promise<number> =>
  db.insertMany('email_shares', COLUMNS, [COLUMNS.map((column) => row[column])]);

/** Uses one query for unknown, expired and revoked links, so that their responses take the same time too. */
export const findLiveShare = (db: Executor, tokenHash: string, now: number): Promise<ShareRow | undefined> =>
  db.get<ShareRow>('select * from email_shares where token_hash = ? and expires_at > ?', [tokenHash, now]);

/** Removes the links of emails, in the transaction that removes the emails. Returns what was removed. */
export async function removeEmailShares(
  tx: Executor,
  emailIds: readonly string[],
): Promise<Pick<ShareRow, 'email_id' | 'expires_at'>[]> {
  if (emailIds.length === 0) return [];
  const among = uuidsIn(tx.dialect, 'email_id', emailIds);
  return tx.all(`delete from email_shares where ${among.sql} returning email_id, expires_at`, [among.value]);
}

export const deleteExpiredShares = (db: Executor, now: number): Promise<number> =>
  db.run('delete from email_shares where expires_at <= ?', [now]);
