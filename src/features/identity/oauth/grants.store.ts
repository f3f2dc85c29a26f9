import type { Role } from '../../../contract/index.ts';
import { cutPage, pageSql, pageValues, type Executor, type Page } from '../../../platform/db/index.ts';
import { PERSON_MAY_REACH } from '../../../tenancy/session-rows/index.ts';
import type { Resource } from './parameters.ts';

export type RevokedReason = 'user' | 'client' | 'code_reuse' | 'refresh_reuse' | 'operator' | 'membership';

export interface GrantRow {
  id: string;
  team_id: string;
  user_id: string;
  member_id: string;
  client_id: string;
  /** Name that the consent page showed. */
  client_name: string;
  client_logo_uri: string | null;
  scopes: string;
  resource: Resource;
  code_hash: string;
  refresh_family: string | null;
  refresh_hash: string | null;
  refresh_previous_hash: string | null;
  refresh_seed: string | null;
  refreshed_at: number | null;
  refreshes: number;
  refreshes_since: number | null;
  created_at: number;
  last_used_at: number | null;
  revoked_at: number | null;
  revoked_reason: RevokedReason | null;
  limits: string | null;
  expires_at: number | null;
}

const COLUMNS = [
  'id',
  'team_id',
  'user_id',
  'member_id',
  'client_id',
  'client_name',
  'client_logo_uri',
  'scopes',
  'resource',
  'code_hash',
  'created_at',
  'limits',
  'expires_at',
] as const;

export type NewGrantRow = Pick<GrantRow, (typeof COLUMNS)[number]>;

export async function insertGrant(tx: Executor, row: NewGrantRow): Promise<void> {
  await tx.insertMany('oauth_grants', COLUMNS, [COLUMNS.map((column) => row[column])]);
}

const forUpdate = (tx: Executor): string => (tx.dialect === 'pg' ? 'for update' : '');

/**
 * Locks a grant until the end of the transaction, so that of two concurrent callers that use or end it the second one
 * sees what the first did.
 */
export const lockGrant = (tx: Executor, id: string): Promise<GrantRow | undefined> =>
  tx.get<GrantRow>(`select * from oauth_grants where id = ? ${forUpdate(tx)}`, [id]);

export const lockGrantOfCode = (tx: Executor, codeHash: string): Promise<GrantRow | undefined> =>
  tx.get<GrantRow>(`select * from oauth_grants where code_hash = ? ${forUpdate(tx)}`, [codeHash]);

/** Locks the grant of a family of refresh tokens, like `lockGrant`. */
export const lockGrantOfFamily = (tx: Executor, family: string): Promise<GrantRow | undefined> =>
  tx.get<GrantRow>(`select * from oauth_grants where refresh_family = ? ${forUpdate(tx)}`, [family]);

/** Stores the newest refresh token in place of the previous one. */
export const setRefresh = (
  tx: Executor,
  id: string,
  { family, hash }: { family: string; hash: string },
): Promise<number> =>
  tx.run('update oauth_grants set refresh_family = ?, refresh_hash = ? where id = ?', [family, hash, id]);

/** Stores what is needed to return the newest tokens again for the token that they were exchanged for. */
export const setRefreshed = (
  tx: Executor,
  id: string,
  { previousHash, seed, at }: { previousHash: string; seed: string; at: number },
): Promise<number> =>
  tx.run('update oauth_grants set refresh_previous_hash = ?, refresh_seed = ?, refreshed_at = ? where id = ?', [
    previousHash,
    seed,
    at,
    id,
  ]);

/** From now on, the previous refresh token is one that was used before. */
export const endRefreshGrace = (tx: Executor, id: string): Promise<number> =>
  tx.run('update oauth_grants set refreshed_at = null where id = ?', [id]);

/** Forgets the refresh tokens of a grant. */
export const forgetRefresh = (tx: Executor, id: string): Promise<number> =>
  tx.run('update oauth_grants set refresh_family = null, refresh_hash = null where id = ?', [id]);

export const forgetAllRefresh = (tx: Executor): Promise<number> =>
  tx.run('update oauth_grants set refresh_family = null, refresh_hash = null where refresh_family is not null');

export const countRefresh = (
  tx: Executor,
  id: string,
  { count, since }: { count: number; since: number },
): Promise<number> =>
  tx.run('update oauth_grants set refreshes = ?, refreshes_since = ? where id = ?', [count, since, id]);

export const findGrant = (db: Executor, teamId: string, id: string): Promise<GrantRow | undefined> =>
  db.get<GrantRow>('select * from oauth_grants where team_id = ? and id = ?', [teamId, id]);

/** Returns a grant, if its client still exists. */
export const findGrantById = (db: Executor, id: string): Promise<GrantRow | undefined> =>
  db.get<GrantRow>(
    `select g.* from oauth_grants g join oauth_clients c on c.client_id = g.client_id and c.deleted_at is null where g.id = ?`,
    [id],
  );

export async function grantPage(
  db: Executor,
  teamId: string,
  page: Page,
): Promise<{ rows: GrantRow[]; hasMore: boolean }> {
  const sql = pageSql('oauth_grants', 'team_id = ?', page);
  return cutPage(await db.all<GrantRow>(sql, [teamId, ...pageValues(page)]), page);
}

export interface OwnGrant extends GrantRow {
  team_name: string;
}

const OWN = `(select g.*, teams.name as team_name from oauth_grants g join teams on teams.id = g.team_id
  join team_members m on m.id = g.member_id and m.user_id = g.user_id
  where g.user_id = ? and g.revoked_at is null and (g.expires_at is null or g.expires_at > ?)) as grants`;

/** Lists the live grants of a person in one team, or in all teams if `teamId` is null. */
export async function liveGrantPageOfUser(
  db: Executor,
  { userId, teamId, now }: { userId: string; teamId: string | null; now: number },
  page: Page,
): Promise<{ rows: OwnGrant[]; hasMore: boolean }> {
  const [where, ofTeam] = teamId === null ? ['1 = 1', []] : ['team_id = ?', [teamId]];
  return cutPage(
    await db.all<OwnGrant>(pageSql(OWN, where, page), [userId, now, ...ofTeam, ...pageValues(page)]),
    page,
  );
}

/** Returns the newest live grant of an app for this person and team. */
export const latestLiveGrant = (
  db: Executor,
  { userId, teamId, clientId, now }: { userId: string; teamId: string; clientId: string; now: number },
): Promise<OwnGrant | undefined> =>
  db.get<OwnGrant>(`select * from ${OWN} where team_id = ? and client_id = ? order by id desc limit 1`, [
    userId,
    now,
    teamId,
    clientId,
  ]);

export const findGrantOfUser = (db: Executor, userId: string, id: string): Promise<GrantRow | undefined> =>
  db.get<GrantRow>('select * from oauth_grants where user_id = ? and id = ?', [userId, id]);

export const setLimits = (
  tx: Executor,
  id: string,
  { limits, expiresAt }: { limits: string | null; expiresAt: number | null },
): Promise<number> =>
  tx.run('update oauth_grants set limits = ?, expires_at = ? where id = ?', [limits, expiresAt, id]);

/**
 * Adds to the number of recipients that an app wrote to for a person on a day, and returns the new total; a negative
 * count subtracts. Concurrent callers are serialized.
 */
export async function countSends(
  tx: Executor,
  { teamId, userId, clientId }: { teamId: string; userId: string; clientId: string },
  { day, count }: { day: number; count: number },
): Promise<number> {
  const sql = `insert into oauth_sends as sends (team_id, user_id, client_id, day, recipients) values (?, ?, ?, ?, ?)
    on conflict (team_id, user_id, client_id) do update set
      recipients = (case when sends.day = excluded.day then sends.recipients else 0 end) + excluded.recipients,
      day = excluded.day
    returning recipients`;
  const row = await tx.get<{ recipients: number }>(sql, [teamId, userId, clientId, day, count]);
  return Number(row?.recipients ?? 0);
}

export const removeSendsBefore = (db: Executor, day: number): Promise<number> =>
  db.run('delete from oauth_sends where day < ?', [day]);

export const noteGrantUsed = (db: Executor, id: string, now: number): Promise<number> =>
  db.run('update oauth_grants set last_used_at = ? where id = ?', [now, id]);

/** Revokes a grant and removes its tokens. Returns 0 if it was revoked before; it then keeps its reason. */
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

export const liveGrantsOfMember = (db: Executor, userId: string, memberId: string): Promise<GrantRow[]> =>
  db.all<GrantRow>(
    'select * from oauth_grants where user_id = ? and member_id = ? and revoked_at is null order by id',
    [userId, memberId],
  );

export interface Membership {
  id: string;
  user_id: string;
  team_id: string;
}

/**
 * Locks a membership until the end of the transaction: a transaction that removes the member waits, and then finds what
 * was created meanwhile.
 */
export async function holdMembership(tx: Executor, { id, user_id, team_id }: Membership): Promise<boolean> {
  const sql = `select id from team_members where id = ? and user_id = ? and team_id = ? ${tx.dialect === 'pg' ? 'for key share' : ''}`;
  return (await tx.get(sql, [id, user_id, team_id])) !== undefined;
}

/** Returns the membership of a person in a team, locked like `holdMembership`. */
export const holdMembershipInTeam = (tx: Executor, userId: string, teamId: string): Promise<Membership | undefined> =>
  tx.get<Membership>(
    `select id, user_id, team_id from team_members where user_id = ? and team_id = ? ${tx.dialect === 'pg' ? 'for key share' : ''}`,
    [userId, teamId],
  );

/**
 * Locks the account until the end of the transaction, so that anything that ends the person's sessions and grants runs
 * before or after.
 */
export async function lockPerson(tx: Executor, userId: string): Promise<void> {
  await tx.get(`select id from users where id = ? ${tx.dialect === 'pg' ? 'for no key update' : ''}`, [userId]);
}

export interface GrantStatus {
  role: Role;
  risk_state: 'normal' | 'suspended';
  email: string;
}

/**
 * Returns the role and address of the person an app acts for, and the state of the team. Returns undefined if the
 * person is no longer a member or is disabled, or if the team requires single sign-on that the person has not used.
 */
export const findGrantStatus = (
  db: Executor,
  { member_id: memberId, user_id: userId, team_id: teamId }: Pick<GrantRow, 'member_id' | 'user_id' | 'team_id'>,
): Promise<GrantStatus | undefined> =>
  db.get<GrantStatus>(
    `select team_members.role, teams.risk_state, users.email from team_members join teams on teams.id = team_members.team_id
      join users on users.id = team_members.user_id and users.disabled_at is null
      where team_members.id = ? and team_members.user_id = ? and team_members.team_id = ? and ${PERSON_MAY_REACH}`,
    [memberId, userId, teamId],
  );

/** Removes grants that ended long ago, and equally old ones without tokens. */
export const removeGrantsBefore = (db: Executor, before: number): Promise<number> =>
  db.run(
    `delete from oauth_grants where revoked_at <= ? or (created_at <= ? and revoked_at is null
      and not exists (select 1 from oauth_tokens where oauth_tokens.grant_id = oauth_grants.id))`,
    [before, before],
  );
