import type { Role } from '../../../contract/index.ts';
import type { Executor } from '../../../platform/db/index.ts';
import { PERSON_MAY_REACH } from '../../../tenancy/session-rows/index.ts';
import type { Resource } from './resource.ts';

export interface TokenRow {
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

export interface LiveAccess {
  grant_id: string;
  client_id: string;
  scopes: string;
  resource: Resource;
  team_id: string;
  user_id: string;
  email: string;
  role: Role;
  risk_state: 'normal' | 'suspended';
  last_used_at: number | null;
  limits: string | null;
  /** Of the grant. */
  ends_at: number | null;
}

/** Whatever an access token rests on is asked with every use: grant, client, person, membership, team and its single sign-on. */
export const findLiveAccess = (db: Executor, tokenHash: string, now: number): Promise<LiveAccess | undefined> =>
  db.get<LiveAccess>(
    `select g.last_used_at, g.limits, g.expires_at as ends_at, t.grant_id, g.client_id, t.scopes, t.resource, g.team_id, g.user_id, users.email, team_members.role, teams.risk_state
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
