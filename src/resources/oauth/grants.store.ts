import type { Role } from '../../contract/index.ts';
import { pageOf, pageSql, pageValues, type Executor, type Page } from '../../platform/db/index.ts';
import { PERSON_MAY_REACH } from '../session-rows/index.ts';
import type { Resource } from './resource.ts';

export type RevokedReason = 'user' | 'client' | 'code_reuse' | 'refresh_reuse' | 'operator';

export interface GrantRow {
  id: string;
  team_id: string;
  user_id: string;
  member_id: string;
  client_id: string;
  scopes: string;
  resource: Resource;
  code_hash: string;
  created_at: number;
  revoked_at: number | null;
  revoked_reason: RevokedReason | null;
}

const COLUMNS = [
  ...(['id', 'team_id', 'user_id', 'member_id', 'client_id', 'scopes', 'resource'] as const),
  ...(['code_hash', 'created_at'] as const),
];

export async function insertGrant(tx: Executor, row: Omit<GrantRow, 'revoked_at' | 'revoked_reason'>): Promise<void> {
  await tx.insertMany('oauth_grants', COLUMNS, [COLUMNS.map((column) => row[column])]);
}

const forUpdate = (tx: Executor): string => (tx.dialect === 'pg' ? 'for update' : '');

/** Locked to the end of the transaction: of two who use or end a grant at once, the second sees what the first did. */
export const lockGrant = (tx: Executor, id: string): Promise<GrantRow | undefined> =>
  tx.get<GrantRow>(`select * from oauth_grants where id = ? ${forUpdate(tx)}`, [id]);

export const lockGrantOfCode = (tx: Executor, codeHash: string): Promise<GrantRow | undefined> =>
  tx.get<GrantRow>(`select * from oauth_grants where code_hash = ? ${forUpdate(tx)}`, [codeHash]);

export const findGrant = (db: Executor, teamId: string, id: string): Promise<GrantRow | undefined> =>
  db.get<GrantRow>('select * from oauth_grants where team_id = ? and id = ?', [teamId, id]);

export interface ListedGrant extends GrantRow {
  client_name: string;
  client_logo_uri: string | null;
}

const LISTED = `(select g.*, c.name as client_name, c.logo_uri as client_logo_uri
  from oauth_grants g join oauth_clients c on c.client_id = g.client_id where g.team_id = ?) as grants`;

export async function grantPage(
  db: Executor,
  teamId: string,
  page: Page,
): Promise<{ rows: ListedGrant[]; hasMore: boolean }> {
  const sql = pageSql(LISTED, '1 = 1', page);
  return pageOf(await db.all<ListedGrant>(sql, [teamId, ...pageValues(page)]), page);
}

/** Answers how many were live: one that is revoked keeps its reason. Its tokens go with it. */
export async function revokeGrantRow(
  tx: Executor,
  id: string,
  { at, reason }: { at: number; reason: RevokedReason },
): Promise<number> {
  const sql = 'update oauth_grants set revoked_at = ?, revoked_reason = ? where id = ? and revoked_at is null';
  const count = await tx.run(sql, [at, reason, id]);
  if (count > 0) await tx.run('delete from oauth_tokens where grant_id = ?', [id]);
  return count;
}

export const liveGrantsOfClient = (db: Executor, clientId: string): Promise<GrantRow[]> =>
  db.all<GrantRow>('select * from oauth_grants where client_id = ? and revoked_at is null order by id', [clientId]);

export const liveGrantsOfUser = (db: Executor, userId: string): Promise<GrantRow[]> =>
  db.all<GrantRow>('select * from oauth_grants where user_id = ? and revoked_at is null order by id', [userId]);

export interface Standing {
  role: Role;
  risk_state: 'normal' | 'suspended';
}

/**
 * How it stands with the person for whom an app would act, in the team; undefined where they are in it no more or disabled, or
 * where it demands single sign-on that they have not used.
 */
export const findStanding = (
  db: Executor,
  { member_id: memberId, user_id: userId, team_id: teamId }: Pick<GrantRow, 'member_id' | 'user_id' | 'team_id'>,
): Promise<Standing | undefined> =>
  db.get<Standing>(
    `select team_members.role, teams.risk_state from team_members join teams on teams.id = team_members.team_id
      join users on users.id = team_members.user_id and users.disabled_at is null
      where team_members.id = ? and team_members.user_id = ? and team_members.team_id = ? and ${PERSON_MAY_REACH}`,
    [memberId, userId, teamId],
  );

/** What ended long ago, and what has no token any more and is as old. */
export const removeGrantsBefore = (db: Executor, before: number): Promise<number> =>
  db.run(
    `delete from oauth_grants where revoked_at <= ? or (created_at <= ? and revoked_at is null
      and not exists (select 1 from oauth_tokens where oauth_tokens.grant_id = oauth_grants.id))`,
    [before, before],
  );
