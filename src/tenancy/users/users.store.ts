import type { Executor } from '../../platform/db/index.ts';

export interface UserRow {
  id: string;
  email: string;
  email_key: string;
  name: string | null;
  password_hash: string | null;
  email_verified_at: number | null;
  mfa_enabled_at: number | null;
  disabled_at: number | null;
  created_at: number;
}

const COLUMNS = ['id', 'email', 'email_key', 'name', 'password_hash', 'email_verified_at', 'created_at'] as const;

export async function insertUser(tx: Executor, row: Omit<UserRow, 'mfa_enabled_at' | 'disabled_at'>): Promise<void> {
  await tx.insertMany('users', COLUMNS, [COLUMNS.map((column) => row[column])]);
}

/** Gives the account to the person who proved to own the address; what others set up for it before is gone. */
export const claimUnverified = (tx: Executor, id: string, now: number): Promise<number> =>
  tx.run(
    `update users set email_verified_at = ?, password_hash = null, mfa_enabled_at = null
      where id = ? and email_verified_at is null`,
    [now, id],
  );

export const findUser = (db: Executor, id: string): Promise<UserRow | undefined> =>
  db.get<UserRow>('select * from users where id = ?', [id]);

export const findUserByEmailKey = (db: Executor, emailKey: string): Promise<UserRow | undefined> =>
  db.get<UserRow>('select * from users where email_key = ?', [emailKey]);

/**
 * Reads a user and locks it to the end of the transaction: decisions by its password are made before that changes, or
 * after.
 */
export const lockUser = (tx: Executor, id: string): Promise<UserRow | undefined> =>
  tx.get<UserRow>(`select * from users where id = ? ${tx.dialect === 'pg' ? 'for no key update' : ''}`, [id]);

export const setPassword = (tx: Executor, id: string, passwordHash: string): Promise<number> =>
  tx.run('update users set password_hash = ? where id = ?', [passwordHash, id]);

/** Notes that the address was verified; an earlier time stays. */
export const noteVerified = (tx: Executor, id: string, at: number): Promise<number> =>
  tx.run('update users set email_verified_at = ? where id = ? and email_verified_at is null', [at, id]);

export async function hasUsers(db: Executor): Promise<boolean> {
  return (await db.get('select 1 as found from users limit 1')) !== undefined;
}

export const setMfaEnabled = (tx: Executor, id: string, at: number | null): Promise<number> =>
  tx.run('update users set mfa_enabled_at = ? where id = ?', [at, id]);

export const setDisabled = (tx: Executor, id: string, at: number | null): Promise<number> =>
  tx.run('update users set disabled_at = ? where id = ?', [at, id]);

export const listUsers = (db: Executor): Promise<UserRow[]> => db.all<UserRow>('select * from users order by id');
