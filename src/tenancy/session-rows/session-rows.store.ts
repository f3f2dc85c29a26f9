import { cutPage, pageSql, pageValues, type Executor, type Page } from '../../platform/db/index.ts';
import type { Role } from '../../contract/index.ts';

/** The transport of its token: a cookie, or the header of a program that its person has approved. */
export type SessionKind = 'browser' | 'device';

export interface NewSessionRow {
  id: string;
  token_hash: string;
  user_id: string;
  current_team_id: string | null;
  created_at: number;
  last_used_at: number;
  expires_at: number;
  address: string | null;
  user_agent: string | null;
  /** The team through whose provider it began; null for a password. */
  sso_team_id: string | null;
  /** Hash of the provider's id of its session; null if it named none. */
  sso_sid_hash: string | null;
  /** 1 if its cookie has the prefix `__Host-`. */
  host_cookie: number;
}

const COLUMNS = [
  'id',
  'token_hash',
  'user_id',
  'current_team_id',
  'created_at',
  'last_used_at',
  'expires_at',
  'address',
  'user_agent',
  'sso_team_id',
  'sso_sid_hash',
  'host_cookie',
] as const;

export async function insertSession(tx: Executor, row: NewSessionRow): Promise<void> {
  await tx.insertMany('sessions', COLUMNS, [COLUMNS.map((column) => row[column])]);
}

export interface LiveSession {
  id: string;
  user_id: string;
  email: string;
  last_used_at: number;
  /**
   * Null if the person is no longer a member of it, it is suspended, or it requires another sign-in than this
   * session's.
   */
  team_id: string | null;
  role: Role | null;
}

/**
 * SQL condition for the teams that a session may reach. A session that began through the provider of a team reaches
 * that team alone: another team has no reason to trust that provider. One that began with a password reaches the teams
 * that do not enforce single sign-on, and those in which the person is exempt. For queries over `sessions` and
 * `team_members`.
 */
export const MAY_REACH = `(sessions.sso_team_id = team_members.team_id
    or (sessions.sso_team_id is null and (team_members.sso_exempt = 1
      or not exists (select 1 from sso_connections where sso_connections.team_id = team_members.team_id
        and sso_connections.enforced = 1))))`;

/**
 * The same condition for a program that acts for a person in a team without one of their sessions, such as an app: the
 * person has to be exempt, or linked at the provider of the team. For queries over `team_members`.
 */
export const PERSON_MAY_REACH = `(team_members.sso_exempt = 1
    or not exists (select 1 from sso_connections where sso_connections.team_id = team_members.team_id
      and sso_connections.enforced = 1 and not exists (select 1 from sso_identities
        where sso_identities.connection_id = sso_connections.id and sso_identities.user_id = team_members.user_id
          and sso_identities.subject is not null)))`;

const FROM = `from sessions join users on users.id = sessions.user_id
  left join team_members on team_members.user_id = sessions.user_id
    and team_members.team_id = sessions.current_team_id
  left join teams on teams.id = team_members.team_id and teams.risk_state = 'normal' and ${MAY_REACH}`;

const IS_LIVE = 'sessions.expires_at > ? and users.disabled_at is null';

/** Finds a live session. A token that is sent in another way than the one it was made for is invalid. */
export const findLiveSession = (
  db: Executor,
  { tokenHash, kind, hasHostCookie }: { tokenHash: string; kind: SessionKind; hasHostCookie: boolean },
  now: number,
): Promise<LiveSession | undefined> =>
  db.get<LiveSession>(
    `select sessions.id, sessions.user_id, users.email, sessions.last_used_at, teams.id as team_id,
        case when teams.id is null then null else team_members.role end as role
      ${FROM} where sessions.token_hash = ? and sessions.kind = ? and sessions.host_cookie = ? and ${IS_LIVE}`,
    [tokenHash, kind, hasHostCookie ? 1 : 0, now],
  );

/** Returns the team in which a live session works; null or undefined if there is none any more. */
export async function teamOfSession(db: Executor, id: string, now: number): Promise<string | null | undefined> {
  const sql = `select teams.id as team_id ${FROM} where sessions.id = ? and ${IS_LIVE}`;
  return (await db.get<Pick<LiveSession, 'team_id'>>(sql, [id, now]))?.team_id;
}

export async function kindOfSession(db: Executor, id: string): Promise<SessionKind | undefined> {
  const sql = 'select kind from sessions where id = ?';
  return (await db.get<{ kind: SessionKind }>(sql, [id]))?.kind;
}

export interface SessionRow extends NewSessionRow {
  kind: SessionKind;
  client_name: string | null;
}

/** Returns the team through whose provider a session began; null for a password. */
export async function ssoTeamOfSession(db: Executor, id: string): Promise<string | null> {
  const sql = 'select sso_team_id from sessions where id = ?';
  return (await db.get<Pick<NewSessionRow, 'sso_team_id'>>(sql, [id]))?.sso_team_id ?? null;
}

/** Lists the live sessions of a person; only those that began through the provider of one team, if it is given. */
export async function sessionPage(
  db: Executor,
  { userId, ssoTeamId, now }: { userId: string; ssoTeamId: string | null; now: number },
  page: Page,
): Promise<{ rows: SessionRow[]; hasMore: boolean }> {
  const [more, values] = ssoTeamId === null ? ['', []] : [' and sso_team_id = ?', [ssoTeamId]];
  const sql = pageSql('sessions', `user_id = ? and expires_at > ?${more}`, page);
  return cutPage(await db.all<SessionRow>(sql, [userId, now, ...values, ...pageValues(page)]), page);
}

export type ProgramSession = Omit<
  NewSessionRow,
  'user_id' | 'current_team_id' | 'sso_team_id' | 'sso_sid_hash' | 'host_cookie'
> & {
  client_name: string;
};

/**
 * Begins a session of a program as a copy of the browser's session in which it was approved. Returns false if that one
 * had ended.
 */
export async function copySession(tx: Executor, from: string, row: ProgramSession): Promise<boolean> {
  const count = await tx.run(
    `insert into sessions (id, token_hash, kind, client_name, user_id, current_team_id, sso_team_id, sso_sid_hash, created_at, last_used_at, expires_at,
        address, user_agent)
      select ?, ?, 'device', ?, user_id, current_team_id, sso_team_id, sso_sid_hash, ?, ?, ?, ?, ? from sessions
        where id = ? and kind = 'browser' and expires_at > ?`,
    [
      row.id,
      row.token_hash,
      row.client_name,
      row.created_at,
      row.last_used_at,
      row.expires_at,
      row.address,
      row.user_agent,
      from,
      row.created_at,
    ],
  );
  return count === 1;
}

interface SessionOwner {
  user_id: string;
  email: string;
  team_id: string | null;
  sso_team_id: string | null;
  expires_at: number;
}

/** Returns the person and the team of a session. */
export const ownerOfSession = (db: Executor, id: string): Promise<SessionOwner | undefined> =>
  db.get<SessionOwner>(
    `select sessions.user_id, users.email, sessions.current_team_id as team_id, sessions.sso_team_id, sessions.expires_at
      from sessions join users on users.id = sessions.user_id where sessions.id = ?`,
    [id],
  );

export const noteSessionUsed = (db: Executor, id: string, now: number): Promise<number> =>
  db.run('update sessions set last_used_at = ? where id = ?', [now, id]);

export const endSession = (tx: Executor, id: string): Promise<number> =>
  tx.run('delete from sessions where id = ?', [id]);

/**
 * Ends a session of this person, and only if it began through the provider of the given team, if any; returns whether
 * there was one.
 */
export async function endOwnSession(
  tx: Executor,
  { id, userId, ssoTeamId }: { id: string; userId: string; ssoTeamId: string | null },
): Promise<boolean> {
  const [more, values] = ssoTeamId === null ? ['', []] : [' and sso_team_id = ?', [ssoTeamId]];
  return (await tx.run(`delete from sessions where id = ? and user_id = ?${more}`, [id, userId, ...values])) === 1;
}

export const endSessionOfToken = (tx: Executor, tokenHash: string): Promise<number> =>
  tx.run('delete from sessions where token_hash = ?', [tokenHash]);

export const endAllSessions = (tx: Executor): Promise<number> => tx.run('delete from sessions');

/** Ends all sessions of a person. */
export const endSessionsOfUser = (tx: Executor, userId: string): Promise<number> =>
  tx.run('delete from sessions where user_id = ?', [userId]);

/** Ends all sessions of a person except the current one. */
export const endOtherSessions = (
  tx: Executor,
  { userId, sessionId }: { userId: string; sessionId: string },
): Promise<number> => tx.run('delete from sessions where user_id = ? and id <> ?', [userId, sessionId]);

/** Ends the sessions of a person that currently work in this team. */
export const endSessionsInTeam = (
  tx: Executor,
  { userId, teamId }: { userId: string; teamId: string },
): Promise<number> => tx.run('delete from sessions where user_id = ? and current_team_id = ?', [userId, teamId]);

export const removeSessionsBefore = (db: Executor, now: number): Promise<number> =>
  db.run('delete from sessions where expires_at <= ?', [now]);

/** Ends the sessions that began through the provider of a team; of one person, if one is given. */
export const endSsoSessions = (tx: Executor, teamId: string, userId?: string): Promise<number> =>
  userId === undefined
    ? tx.run('delete from sessions where sso_team_id = ?', [teamId])
    : tx.run('delete from sessions where sso_team_id = ? and user_id = ?', [teamId, userId]);

/**
 * Ends the sessions, with those of programs that were approved in them, that began in one session of a provider; of one
 * person, if one is given: then also those of which the provider named no session.
 */
export const endSessionsOfProviderSession = (
  tx: Executor,
  { teamId, sidHash, userId }: { teamId: string; sidHash: string; userId: string | undefined },
): Promise<number> =>
  userId === undefined
    ? tx.run('delete from sessions where sso_team_id = ? and sso_sid_hash = ?', [teamId, sidHash])
    : tx.run(
        'delete from sessions where sso_team_id = ? and user_id = ? and (sso_sid_hash = ? or sso_sid_hash is null)',
        [teamId, userId, sidHash],
      );

/**
 * Returns the name of a team that a session cannot use because the team enforces single sign-on: the team in which the
 * session is, or any of the person if it is in none.
 */
export async function findTeamRequiringSso(db: Executor, sessionId: string): Promise<string | undefined> {
  const row = await db.get<{ name: string }>(
    `select teams.name from sessions
      join team_members on team_members.user_id = sessions.user_id and team_members.sso_exempt = 0
      join sso_connections on sso_connections.team_id = team_members.team_id and sso_connections.enforced = 1
      join teams on teams.id = team_members.team_id
      where sessions.id = ? and sessions.sso_team_id is null
        and (sessions.current_team_id is null or sessions.current_team_id = teams.id)
      order by team_members.id limit 1`,
    [sessionId],
  );
  return row?.name;
}

/** Moves a session to a team; returns false if the session is gone or may not be in this team. */
export async function moveSession(
  tx: Executor,
  { sessionId, userId, teamId }: { sessionId: string; userId: string; teamId: string },
): Promise<boolean> {
  const sql = `update sessions set current_team_id = ? where id = ? and user_id = ? and exists (
    select 1 from team_members where team_members.user_id = sessions.user_id and team_members.team_id = ? and ${MAY_REACH})`;
  return (await tx.run(sql, [teamId, sessionId, userId, teamId])) === 1;
}

/** Leaves the sessions that are in a team without one; their people are in other teams. */
export const leaveTeam = (tx: Executor, teamId: string): Promise<number> =>
  tx.run('update sessions set current_team_id = null where current_team_id = ?', [teamId]);
