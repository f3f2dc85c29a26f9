import type { Role } from '../../../contract/index.ts';
import { uuidsIn, type Executor } from '../../../platform/db/index.ts';
import { MAY_REACH, ssoTeamOfSession } from '../../../tenancy/session-rows/index.ts';
import type { TeamRow } from '../../../tenancy/teams/index.ts';

/** Returns the teams of a person in the order in which they joined. */
export const listOwnTeams = (db: Executor, userId: string): Promise<(TeamRow & { own_role: Role })[]> =>
  db.all<TeamRow & { own_role: Role }>(
    `select teams.*, team_members.role as own_role from team_members join teams on teams.id = team_members.team_id
      where team_members.user_id = ? order by team_members.id`,
    [userId],
  );

/**
 * Returns those of the teams that a new session cannot reach: after single sign-on, all but the team of the provider;
 * after a password, the teams that enforce single sign-on and do not exempt the person.
 */
export async function closedAmong(
  db: Executor,
  { userId, teams, ssoTeamId }: { userId: string; teams: readonly TeamRow[]; ssoTeamId: string | null },
): Promise<Set<string>> {
  if (ssoTeamId !== null) return new Set(teams.map(({ id }) => id).filter((id) => id !== ssoTeamId));
  if (teams.length === 0) return new Set();
  const among = uuidsIn(
    db.dialect,
    'c.team_id',
    teams.map(({ id }) => id),
  );
  const rows = await db.all<{ team_id: string; is_exempt: number }>(
    `select c.team_id, coalesce(m.sso_exempt, 0) as is_exempt from sso_connections c
      left join team_members m on m.team_id = c.team_id and m.user_id = ? where ${among.sql} and c.enforced = 1`,
    [userId, among.value],
  );
  return new Set(rows.filter((row) => row.is_exempt !== 1).map(({ team_id: id }) => id));
}

/** Returns the teams that a session may see; only one if it began through that team's provider. */
export async function teamsInSight(
  db: Executor,
  { userId, sessionId }: { userId: string; sessionId: string },
): Promise<TeamRow[]> {
  const teams = await listOwnTeams(db, userId);
  const ssoTeamId = await ssoTeamOfSession(db, sessionId);
  return ssoTeamId === null ? teams : teams.filter(({ id }) => id === ssoTeamId);
}

/** Returns the current team of a session, even if it is suspended, so that its members can see that. */
export const findCurrentTeam = (db: Executor, sessionId: string): Promise<TeamRow | undefined> =>
  db.get<TeamRow>(
    `select teams.* from sessions join team_members on team_members.user_id = sessions.user_id
        and team_members.team_id = sessions.current_team_id and ${MAY_REACH}
      join teams on teams.id = team_members.team_id where sessions.id = ?`,
    [sessionId],
  );
