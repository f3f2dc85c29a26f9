import type { Role } from '../../../contract/index.ts';
import type { Executor } from '../../../platform/db/index.ts';
import { PERSON_MAY_REACH } from '../../../tenancy/session-rows/index.ts';
import type { Resource } from './parameters.ts';

interface TokenRow {
  token_hash: string;
  grant_id: string;
  kind: 'access' | 'refresh';
  scopes: string;
  resource: Resource;
  expires_at: number;
}

const COLUMNS = ['token_hash', 'grant_id', 'kind', 'scopes', 'resource', 'expires_at'] as const;

export async function insertTokens(tx: Executor, rows: readonly TokenRow[]): Promise<void> {
  await tx.insertMany(
    'oauth_tokens',
    COLUMNS,
    rows.map((row) => COLUMNS.map((column) => row[column])),
  );
}

export const findToken = (db: Executor, tokenHash: string): Promise<TokenRow | undefined> =>
  db.get<TokenRow>('select * from oauth_tokens where token_hash = ?', [tokenHash]);

export const removeToken = (tx: Executor, tokenHash: string): Promise<number> =>
  tx.run('delete from oauth_tokens where token_hash = ?', [tokenHash]);

export const removeTokensOfGrant = (tx: Executor, grantId: string): Promise<number> =>
  tx.run('delete from oauth_tokens where grant_id = ?', [grantId]);

export const removeAllTokens = (tx: Executor): Promise<number> => tx.run('delete from oauth_tokens');

export const removeTokensBefore = (db: Executor, now: number): Promise<number> =>
  db.run('delete from oauth_tokens where expires_at <= ?', [now]);

interface LiveAccess {
  grant_id: string;
  client_id: string;
  client_name: string;
  scopes: string;
  resource: Resource;
  team_id: string;
  user_id: string;
  email: string;
  role: Role;
  risk_state: 'normal' | 'suspended';
  last_used_at: number | null;
  limits: string | null;
  /** End of the grant. */
  ends_at: number | null;
}

/**
 * Returns a live access token. Everything it depends on is checked on every use: grant, client, person, membership,
 * team and its single sign-on.
 */
export const findLiveAccess = (db: Executor, tokenHash: string, now: number): Promise<LiveAccess | undefined> =>
  db.get<LiveAccess>(
    `select g.last_used_at, g.limits, g.expires_at as ends_at, t.grant_id, g.client_id, g.client_name, t.scopes, t.resource, g.team_id, g.user_id, users.email, team_members.role, teams.risk_state
      from oauth_tokens t
      join oauth_grants g on g.id = t.grant_id and g.revoked_at is null
      join oauth_clients c on c.client_id = g.client_id and c.deleted_at is null and c.disabled_at is null
      join users on users.id = g.user_id and users.disabled_at is null
      join team_members on team_members.id = g.member_id and team_members.user_id = g.user_id
        and team_members.team_id = g.team_id and ${PERSON_MAY_REACH}
      join teams on teams.id = g.team_id
      where t.token_hash = ? and t.kind = 'access' and t.expires_at > ?`,
    [tokenHash, now],
  );

interface ConsentRow {
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

/**
 * Removes the oldest consent requests of a session. A person has a handful of tabs; more come from a page that is
 * reloaded again and again.
 */
export const removeOldConsents = (tx: Executor, sessionId: string, kept: number): Promise<number> =>
  tx.run(
    `delete from oauth_consents where session_id = ? and token_hash not in (
      select token_hash from oauth_consents where session_id = ? order by expires_at desc, token_hash limit ?)`,
    [sessionId, sessionId, kept],
  );

/** Removes and returns a consent request, so only one of two concurrent decisions gets it. */
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
  'code_hash',
  'grant_id',
  'team_id',
  'member_id',
  'user_id',
  'client_id',
  'request',
  'expires_at',
] as const;

export async function insertCode(tx: Executor, row: CodeRow): Promise<void> {
  await tx.insertMany('oauth_codes', CODE, [CODE.map((column) => row[column])]);
}

/** Locks a code until the end of the transaction. */
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

/** Removes the requests and codes of a client; they are few, because they live for minutes. */
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
