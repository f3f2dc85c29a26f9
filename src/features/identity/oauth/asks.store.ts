import type { Executor } from '../../../platform/db/index.ts';

export interface ConsentRow {
  token_hash: string;
  session_id: string;
  team_id: string;
  client_id: string;
  request: string;
  expires_at: number;
}

const CONSENT = ['token_hash', 'session_id', 'team_id', 'client_id', 'request', 'expires_at'] as const;

export async function insertConsent(tx: Executor, row: ConsentRow): Promise<void> {
  await tx.insertMany('oauth_consents', CONSENT, [CONSENT.map((column) => row[column])]);
}

/** A person has a handful of tabs: the rest is a page that is loaded again and again. */
export const removeOldConsents = (tx: Executor, sessionId: string, kept: number): Promise<number> =>
  tx.run(
    `delete from oauth_consents where session_id = ? and token_hash not in (
      select token_hash from oauth_consents where session_id = ? order by expires_at desc, token_hash limit ?)`,
    [sessionId, sessionId, kept],
  );

/** Takes it: of two answers at once, one has it. */
export const takeConsent = (tx: Executor, tokenHash: string, sessionId: string): Promise<ConsentRow | undefined> =>
  tx.get<ConsentRow>('delete from oauth_consents where token_hash = ? and session_id = ? returning *', [
    tokenHash,
    sessionId,
  ]);

export interface CodeRow {
  code_hash: string;
  grant_id: string;
  team_id: string;
  member_id: string;
  user_id: string;
  client_id: string;
  request: string;
  expires_at: number;
}

const CODE = [
  ...(['code_hash', 'grant_id', 'team_id', 'member_id', 'user_id', 'client_id'] as const),
  ...(['request', 'expires_at'] as const),
];

export async function insertCode(tx: Executor, row: CodeRow): Promise<void> {
  await tx.insertMany('oauth_codes', CODE, [CODE.map((column) => row[column])]);
}

/** Locked to the end of the transaction. */
export const lockCode = (tx: Executor, codeHash: string): Promise<CodeRow | undefined> =>
  tx.get<CodeRow>(`select * from oauth_codes where code_hash = ? ${tx.dialect === 'pg' ? 'for update' : ''}`, [
    codeHash,
  ]);

export const removeCode = (tx: Executor, codeHash: string): Promise<number> =>
  tx.run('delete from oauth_codes where code_hash = ?', [codeHash]);

export const removeCodesOfUser = (tx: Executor, userId: string): Promise<number> =>
  tx.run('delete from oauth_codes where user_id = ?', [userId]);

export const removeCodesInTeam = (
  tx: Executor,
  { userId, teamId }: { userId: string; teamId: string },
): Promise<number> => tx.run('delete from oauth_codes where user_id = ? and team_id = ?', [userId, teamId]);

/** There are few of them: they live for minutes. */
export async function removeAsksOfClient(tx: Executor, clientId: string): Promise<void> {
  await tx.run('delete from oauth_codes where client_id = ?', [clientId]);
  await tx.run('delete from oauth_consents where client_id = ?', [clientId]);
}

export async function removeAsksBefore(db: Executor, now: number): Promise<void> {
  await db.run('delete from oauth_codes where expires_at <= ?', [now]);
  await db.run('delete from oauth_consents where expires_at <= ?', [now]);
}

export async function removeAllAsks(tx: Executor): Promise<void> {
  await tx.run('delete from oauth_codes');
  await tx.run('delete from oauth_consents');
}
