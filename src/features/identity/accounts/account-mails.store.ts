import type { Executor } from '../../../platform/db/index.ts';
import { firstIdAt } from '../../../platform/ids/index.ts';

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

/** What a person is told of a change of their account. */
export interface AccountNoticeRow {
  id: string;
  user_id: string;
  kind: AccountNoticeKind;
  /** From where it was done. */
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

/** How many mails of one kind, which anybody may ask for, an address was given since. */
export async function countMailsAskedFor(
  db: Executor,
  table: 'sign_ups' | 'password_resets',
  { emailKey, since }: { emailKey: string; since: number },
): Promise<number> {
  const sql = `select count(*) as n from ${table} where email_key = ? and admitted_at > ?`;
  return Number((await db.get<{ n: number }>(sql, [emailKey, since]))?.n);
}

export interface SendingDomain {
  name: string;
  team_id: string;
}

const VERIFIED = `select d.name, d.team_id from domains d join teams t on t.id = d.team_id
  where d.verified_at is not null and d.sending = 'enabled' and t.risk_state = 'normal'`;

/** Of the oldest team that has one, the one verified longest. */
export const oldestVerifiedDomain = (db: Executor): Promise<SendingDomain | undefined> =>
  db.get<SendingDomain>(`${VERIFIED} order by d.team_id, d.verified_at, d.id limit 1`);

export const verifiedDomainNamed = (db: Executor, name: string): Promise<SendingDomain | undefined> =>
  db.get<SendingDomain>(`${VERIFIED} and d.name = ? limit 1`, [name]);

/** What a restored copy must not mail again, and tokens that were used since it was made. */
export async function removeAllAccountRequests(tx: Executor): Promise<void> {
  await tx.run('delete from sign_ups');
  await tx.run('delete from password_resets');
  await tx.run('delete from account_notices where mailed_at is null');
}
