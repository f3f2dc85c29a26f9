import type { Executor } from '../../../platform/db/index.ts';
import { firstIdAt } from '../../../platform/ids.ts';

/** A requested account. */
export interface SignUpRow {
  /** Becomes the id of the account. */
  id: string;
  email: string;
  email_key: string;
  name: string | null;
  /** Empty once the account is created. */
  password_hash: string;
  token_hash: string;
  address: string | null;
  created_at: number;
  expires_at: number;
  /** Time at which it was decided to send a mail. */
  admitted_at: number | null;
  /** Time at which the mail was sent or failed; null while it is pending. */
  mailed_at: number | null;
  fault: string | null;
  verified_at: number | null;
}

const SIGN_UP_COLUMNS = [
  'id',
  'email',
  'email_key',
  'name',
  'password_hash',
  'token_hash',
  'address',
  'created_at',
  'expires_at',
  'admitted_at',
  'mailed_at',
  'fault',
  'verified_at',
] as const;

export const insertSignUp = (tx: Executor, row: SignUpRow): Promise<number> =>
  tx.insertMany('sign_ups', SIGN_UP_COLUMNS, [SIGN_UP_COLUMNS.map((column) => row[column])]);

export const findSignUpByToken = (db: Executor, tokenHash: string): Promise<SignUpRow | undefined> =>
  db.get<SignUpRow>('select * from sign_ups where token_hash = ?', [tokenHash]);

/** Decision whether a request gets a mail. */
export type Admission = Pick<SignUpRow, 'id' | 'admitted_at'>;

/** Locks all requests for an address, so that two tokens for it are used one after the other. */
export const lockSignUps = (tx: Executor, emailKey: string): Promise<Admission[]> =>
  tx.all<Admission>(
    `select id, admitted_at from sign_ups where email_key = ? order by id ${tx.dialect === 'pg' ? 'for update' : ''}`,
    [emailKey],
  );

export const admitSignUp = (tx: Executor, id: string, at: number): Promise<number> =>
  tx.run('update sign_ups set admitted_at = ? where id = ?', [at, id]);

/** Marks a sign-up as verified. Returns false if it was verified before. */
export async function noteSignUpVerified(tx: Executor, id: string, at: number): Promise<boolean> {
  const sql = "update sign_ups set verified_at = ?, password_hash = '' where id = ? and verified_at is null";
  return (await tx.run(sql, [at, id])) === 1;
}

/** Removes the other sign-ups for an address that has an account now. */
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

/** Removes a request that gets no mail. */
export const removeSignUp = (tx: Executor, id: string): Promise<number> =>
  tx.run('delete from sign_ups where id = ? and admitted_at is null', [id]);

export const removeSignUpsBefore = (db: Executor, now: number): Promise<number> =>
  db.run('delete from sign_ups where expires_at <= ?', [now]);

/** Reports whether an address has an open invitation to any team. */
export async function isInvited(db: Executor, emailKey: string, now: number): Promise<boolean> {
  const sql =
    'select 1 as found from team_invitations where email_key = ? and accepted_at is null and expires_at > ? limit 1';
  return (await db.get(sql, [emailKey, now])) !== undefined;
}

export interface PasswordResetRow {
  id: string;
  email_key: string;
  /** The account; null until it was looked up. */
  user_id: string | null;
  token_hash: string;
  address: string | null;
  user_agent: string | null;
  request_id: string | null;
  created_at: number;
  expires_at: number;
  /** Time at which it was decided to send a mail. */
  admitted_at: number | null;
  /** Time at which the mail was sent or failed; null while it is pending. */
  mailed_at: number | null;
  fault: string | null;
  used_at: number | null;
}

const PASSWORD_RESET_COLUMNS = [
  'id',
  'email_key',
  'user_id',
  'token_hash',
  'address',
  'user_agent',
  'request_id',
  'created_at',
  'expires_at',
  'admitted_at',
  'mailed_at',
  'fault',
  'used_at',
] as const;

export const insertPasswordReset = (tx: Executor, row: PasswordResetRow): Promise<number> =>
  tx.insertMany('password_resets', PASSWORD_RESET_COLUMNS, [PASSWORD_RESET_COLUMNS.map((column) => row[column])]);

export const findPasswordResetByToken = (db: Executor, tokenHash: string): Promise<PasswordResetRow | undefined> =>
  db.get<PasswordResetRow>('select * from password_resets where token_hash = ?', [tokenHash]);

/** Locks all requests for an address, always in the same order. */
export const lockPasswordResets = (tx: Executor, emailKey: string): Promise<Admission[]> =>
  tx.all<Admission>(
    `select id, admitted_at from password_resets where email_key = ? order by id ${tx.dialect === 'pg' ? 'for update' : ''}`,
    [emailKey],
  );

export const admitPasswordReset = (tx: Executor, id: string, at: number): Promise<number> =>
  tx.run('update password_resets set admitted_at = ? where id = ?', [at, id]);

/** Marks a password reset as used; the caller must hold the lock. Returns false if it was used before. */
export async function usePasswordReset(tx: Executor, id: string, at: number): Promise<boolean> {
  return (await tx.run('update password_resets set used_at = ? where id = ? and used_at is null', [at, id])) === 1;
}

/**
 * Removes the unused password resets of an address, including those whose account was not looked up yet. The caller
 * must hold the lock.
 */
export const removeUnusedPasswordResets = (tx: Executor, emailKey: string): Promise<number> =>
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

/** Removes a request that gets no mail. */
export const removePasswordReset = (tx: Executor, id: string): Promise<number> =>
  tx.run('delete from password_resets where id = ? and admitted_at is null', [id]);

export const removePasswordResetsBefore = (db: Executor, now: number): Promise<number> =>
  db.run('delete from password_resets where expires_at <= ?', [now]);

export type AccountNoticeKind =
  | 'password_changed'
  | 'password_reset'
  | 'mfa_enabled'
  | 'mfa_disabled'
  | 'mfa_reset'
  | 'recovery_codes_replaced'
  | 'recovery_code_used'
  | 'app_shut_out'
  | 'approval_waits';

/** A notice to a person about a change of their account. */
export interface AccountNoticeRow {
  id: string;
  user_id: string;
  kind: AccountNoticeKind;
  /** Client address of the change. */
  address: string | null;
  created_at: number;
  mailed_at: number | null;
  fault: string | null;
}

const COLUMNS = ['id', 'user_id', 'kind', 'address', 'created_at', 'mailed_at', 'fault'] as const;

export const insertAccountNotice = (tx: Executor, row: AccountNoticeRow): Promise<number> =>
  tx.insertMany('account_notices', COLUMNS, [COLUMNS.map((column) => row[column])]);

export const unmailedAccountNotices = (db: Executor, limit: number): Promise<AccountNoticeRow[]> =>
  db.all<AccountNoticeRow>('select * from account_notices where mailed_at is null order by id limit ?', [limit]);

export const noteAccountNoticeMailed = (
  tx: Executor,
  id: string,
  { at, fault }: { at: number; fault: string | null },
): Promise<number> => tx.run('update account_notices set mailed_at = ?, fault = ? where id = ?', [at, fault, id]);

export const removeAccountNoticesBefore = (db: Executor, before: number): Promise<number> =>
  db.run('delete from account_notices where created_at < ? and id < ?', [before, firstIdAt(before)]);

/** Counts the admitted mails of a kind to an address since a time. Anybody may request such mails. */
export async function countMailsAskedFor(
  db: Executor,
  table: 'sign_ups' | 'password_resets',
  { emailKey, since }: { emailKey: string; since: number },
): Promise<number> {
  const sql = `select count(*) as n from ${table} where email_key = ? and admitted_at > ?`;
  return Number((await db.get<{ n: number }>(sql, [emailKey, since]))?.n);
}

interface SendingDomain {
  name: string;
  team_id: string;
}

const VERIFIED = `select d.name, d.team_id from domains d join teams t on t.id = d.team_id
  where d.verified_at is not null and d.sending = 'enabled' and t.risk_state = 'normal'`;

/** Returns the domain that the oldest team with a verified domain has verified first. */
export const oldestVerifiedDomain = (db: Executor): Promise<SendingDomain | undefined> =>
  db.get<SendingDomain>(`${VERIFIED} order by d.team_id, d.verified_at, d.id limit 1`);

export const verifiedDomainNamed = (db: Executor, name: string): Promise<SendingDomain | undefined> =>
  db.get<SendingDomain>(`${VERIFIED} and d.name = ? limit 1`, [name]);

/** Removes requests that a restored copy must not mail again, and tokens that may have been used since the backup. */
export async function removeAllAccountRequests(tx: Executor): Promise<void> {
  await tx.run('delete from sign_ups');
  await tx.run('delete from password_resets');
  await tx.run('delete from account_notices where mailed_at is null');
}
