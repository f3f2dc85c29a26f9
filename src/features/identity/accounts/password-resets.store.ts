import type { Executor } from '../../../platform/db/index.ts';
import type { Admission } from './sign-ups.store.ts';

export interface PasswordResetRow {
  id: string;
  email_key: string;
  /** Null until it was found out whose the address is. */
  user_id: string | null;
  token_hash: string;
  address: string | null;
  user_agent: string | null;
  request_id: string | null;
  created_at: number;
  expires_at: number;
  /** When it was decided that it gets a mail. */
  admitted_at: number | null;
  /** Null while the mail is still to be handed over. */
  mailed_at: number | null;
  fault: string | null;
  used_at: number | null;
}

const COLUMNS = [
  ...(['id', 'email_key', 'user_id', 'token_hash', 'address', 'user_agent', 'request_id', 'created_at'] as const),
  ...(['expires_at', 'admitted_at', 'mailed_at', 'fault', 'used_at'] as const),
];

export const insertPasswordReset = (tx: Executor, row: PasswordResetRow): Promise<number> =>
  tx.insertMany('password_resets', COLUMNS, [COLUMNS.map((column) => row[column])]);

export const findPasswordResetByToken = (db: Executor, tokenHash: string): Promise<PasswordResetRow | undefined> =>
  db.get<PasswordResetRow>('select * from password_resets where token_hash = ?', [tokenHash]);

/** All that was asked for in the name of an address, in the one order in which they are locked. */
export const lockPasswordResetsOf = (tx: Executor, emailKey: string): Promise<Admission[]> =>
  tx.all<Admission>(
    `select id, admitted_at from password_resets where email_key = ? order by id ${tx.dialect === 'pg' ? 'for update' : ''}`,
    [emailKey],
  );

export const admitPasswordReset = (tx: Executor, id: string, at: number): Promise<number> =>
  tx.run('update password_resets set admitted_at = ? where id = ?', [at, id]);

/** Answers whether it was not used before. Behind the lock. */
export async function usePasswordReset(tx: Executor, id: string, at: number): Promise<boolean> {
  return (await tx.run('update password_resets set used_at = ? where id = ? and used_at is null', [at, id])) === 1;
}

/** Those that were not used, also where it was not looked up yet whose they are. Behind the lock. */
export const endPasswordResetsOf = (tx: Executor, emailKey: string): Promise<number> =>
  tx.run('delete from password_resets where email_key = ? and used_at is null', [emailKey]);

export const unmailedPasswordResets = (db: Executor, now: number, limit: number): Promise<PasswordResetRow[]> =>
  db.all<PasswordResetRow>(
    'select * from password_resets where mailed_at is null and expires_at > ? order by id limit ?',
    [now, limit],
  );

export const notePasswordResetMailed = (
  tx: Executor,
  id: string,
  { userId, at, fault }: { userId: string; at: number; fault: string | null },
): Promise<number> =>
  tx.run('update password_resets set user_id = ?, mailed_at = ?, fault = ? where id = ?', [userId, at, fault, id]);

/** One that gets no mail. */
export const removePasswordReset = (tx: Executor, id: string): Promise<number> =>
  tx.run('delete from password_resets where id = ? and admitted_at is null', [id]);

export const removePasswordResetsBefore = (db: Executor, now: number): Promise<number> =>
  db.run('delete from password_resets where expires_at <= ?', [now]);
