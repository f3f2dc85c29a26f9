import type { Executor } from '../../../platform/db/index.ts';

/** An account that was asked for. */
export interface SignUpRow {
  /** The account gets it, when it is made. */
  id: string;
  email: string;
  email_key: string;
  name: string | null;
  /** Empty once the account is made. */
  password_hash: string;
  token_hash: string;
  address: string | null;
  created_at: number;
  expires_at: number;
  /** When it was decided that it gets a mail. */
  admitted_at: number | null;
  /** Null while the mail is still to be handed over. */
  mailed_at: number | null;
  fault: string | null;
  verified_at: number | null;
}

const COLUMNS = [
  ...(['id', 'email', 'email_key', 'name', 'password_hash', 'token_hash', 'address', 'created_at'] as const),
  ...(['expires_at', 'admitted_at', 'mailed_at', 'fault', 'verified_at'] as const),
];

export const insertSignUp = (tx: Executor, row: SignUpRow): Promise<number> =>
  tx.insertMany('sign_ups', COLUMNS, [COLUMNS.map((column) => row[column])]);

export const findSignUpByToken = (db: Executor, tokenHash: string): Promise<SignUpRow | undefined> =>
  db.get<SignUpRow>('select * from sign_ups where token_hash = ?', [tokenHash]);

/** Whether a request gets a mail. */
export type Admission = Pick<SignUpRow, 'id' | 'admitted_at'>;

/** All that was asked for in the name of an address, so that of two tokens for it one is taken after the other. */
export const lockSignUpsOf = (tx: Executor, emailKey: string): Promise<Admission[]> =>
  tx.all<Admission>(
    `select id, admitted_at from sign_ups where email_key = ? order by id ${tx.dialect === 'pg' ? 'for update' : ''}`,
    [emailKey],
  );

export const admitSignUp = (tx: Executor, id: string, at: number): Promise<number> =>
  tx.run('update sign_ups set admitted_at = ? where id = ?', [at, id]);

/** Answers whether it is the first time. */
export async function noteSignUpVerified(tx: Executor, id: string, at: number): Promise<boolean> {
  const sql = "update sign_ups set verified_at = ?, password_hash = '' where id = ? and verified_at is null";
  return (await tx.run(sql, [at, id])) === 1;
}

/** What else was asked for in the name of an address that has an account now. */
export const removeOtherSignUps = (
  tx: Executor,
  { email_key: emailKey, id }: Pick<SignUpRow, 'email_key' | 'id'>,
): Promise<number> =>
  tx.run('delete from sign_ups where email_key = ? and id <> ? and verified_at is null', [emailKey, id]);

export const unmailedSignUps = (db: Executor, now: number, limit: number): Promise<SignUpRow[]> =>
  db.all<SignUpRow>('select * from sign_ups where mailed_at is null and expires_at > ? order by id limit ?', [
    now,
    limit,
  ]);

export const noteSignUpMailed = (
  tx: Executor,
  id: string,
  { at, fault }: { at: number; fault: string | null },
): Promise<number> => tx.run('update sign_ups set mailed_at = ?, fault = ? where id = ?', [at, fault, id]);

/** One that gets no mail. */
export const removeSignUp = (tx: Executor, id: string): Promise<number> =>
  tx.run('delete from sign_ups where id = ? and admitted_at is null', [id]);

export const removeSignUpsBefore = (db: Executor, now: number): Promise<number> =>
  db.run('delete from sign_ups where expires_at <= ?', [now]);

/** Whether an address was invited into any team, and the invitation still stands. */
export async function isInvited(db: Executor, emailKey: string, now: number): Promise<boolean> {
  const sql =
    'select 1 as found from team_invitations where email_key = ? and accepted_at is null and expires_at > ? limit 1';
  return (await db.get(sql, [emailKey, now])) !== undefined;
}
