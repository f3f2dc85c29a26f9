import type { Executor } from '../../platform/db/index.ts';
import type { Role } from '../../contract/index.ts';

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
}

const COLUMNS = [
  ...(['id', 'token_hash', 'user_id', 'current_team_id', 'created_at', 'last_used_at', 'expires_at'] as const),
  ...(['address', 'user_agent'] as const),
];

export async function insertSession(tx: Executor, row: NewSessionRow): Promise<void> {
  await tx.insertMany('sessions', COLUMNS, [COLUMNS.map((column) => row[column])]);
}

export interface LiveSession {
  id: string;
  user_id: string;
  email: string;
  last_used_at: number;
  /** Null where the person is no member of it any more, or it is suspended. */
  team_id: string | null;
  role: Role | null;
}

const FROM = `from sessions join users on users.id = sessions.user_id
  left join team_members on team_members.user_id = sessions.user_id
    and team_members.team_id = sessions.current_team_id
  left join teams on teams.id = team_members.team_id and teams.risk_state = 'normal'`;

const IS_LIVE = 'sessions.expires_at > ? and users.disabled_at is null';

export const findLiveSession = (db: Executor, tokenHash: string, now: number): Promise<LiveSession | undefined> =>
  db.get<LiveSession>(
    `select sessions.id, sessions.user_id, users.email, sessions.last_used_at, teams.id as team_id,
        case when teams.id is null then null else team_members.role end as role
      ${FROM} where sessions.token_hash = ? and ${IS_LIVE}`,
    [tokenHash, now],
  );

/** The team in which a live session works; null or undefined where it works in none any more. */
export async function teamOfSession(db: Executor, id: string, now: number): Promise<string | null | undefined> {
  const sql = `select teams.id as team_id ${FROM} where sessions.id = ? and ${IS_LIVE}`;
  return (await db.get<Pick<LiveSession, 'team_id'>>(sql, [id, now]))?.team_id;
}

export const noteSessionUsed = (db: Executor, id: string, now: number): Promise<number> =>
  db.run('update sessions set last_used_at = ? where id = ?', [now, id]);

export const endSession = (tx: Executor, id: string): Promise<number> =>
  tx.run('delete from sessions where id = ?', [id]);

export const endSessionOfToken = (tx: Executor, tokenHash: string): Promise<number> =>
  tx.run('delete from sessions where token_hash = ?', [tokenHash]);

export const endAllSessions = (tx: Executor): Promise<number> => tx.run('delete from sessions');

/** Wherever the person is signed in. */
export const endSessionsOf = (tx: Executor, userId: string): Promise<number> =>
  tx.run('delete from sessions where user_id = ?', [userId]);

/** All but the one in which the person is at the moment. */
export const endOtherSessionsOf = (
  tx: Executor,
  { userId, sessionId }: { userId: string; sessionId: string },
): Promise<number> => tx.run('delete from sessions where user_id = ? and id <> ?', [userId, sessionId]);

/** Those that work in this team at the moment. */
export const endSessionsInTeam = (
  tx: Executor,
  { userId, teamId }: { userId: string; teamId: string },
): Promise<number> => tx.run('delete from sessions where user_id = ? and current_team_id = ?', [userId, teamId]);

export const removeSessionsBefore = (db: Executor, now: number): Promise<number> =>
  db.run('delete from sessions where expires_at <= ?', [now]);

/** Answers whether there is such a session still. */
export async function moveSession(
  tx: Executor,
  { sessionId, userId, teamId }: { sessionId: string; userId: string; teamId: string },
): Promise<boolean> {
  const sql = 'update sessions set current_team_id = ? where id = ? and user_id = ?';
  return (await tx.run(sql, [teamId, sessionId, userId])) === 1;
}
