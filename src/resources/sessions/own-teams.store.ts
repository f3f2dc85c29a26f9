import type { Executor } from '../../platform/db/index.ts';
import { MAY_REACH } from '../session-rows/index.ts';
import type { TeamRow } from '../teams/index.ts';

/** In the order in which the person joined them. */
export const allTeamsOf = (db: Executor, userId: string): Promise<TeamRow[]> =>
  db.all<TeamRow>(
    `select teams.* from team_members join teams on teams.id = team_members.team_id
      where team_members.user_id = ? order by team_members.id`,
    [userId],
  );

/** Those that demand another sign-in than by password, or than through the provider of `ssoTeamId`. */
export async function closedTeamsOf(db: Executor, userId: string, ssoTeamId: string | null): Promise<Set<string>> {
  const rows = await db.all<{ team_id: string; sso_exempt: number }>(
    `select team_members.team_id, team_members.sso_exempt from team_members
      join sso_connections on sso_connections.team_id = team_members.team_id and sso_connections.enforced = 1
      where team_members.user_id = ?`,
    [userId],
  );
  const isOpen = (row: { team_id: string; sso_exempt: number }): boolean =>
    ssoTeamId === null ? row.sso_exempt === 1 : row.team_id === ssoTeamId;
  return new Set(rows.filter((row) => !isOpen(row)).map(({ team_id: id }) => id));
}

/** Also one that is suspended, so that its members see that. */
export const currentTeamOf = (db: Executor, sessionId: string): Promise<TeamRow | undefined> =>
  db.get<TeamRow>(
    `select teams.* from sessions join team_members on team_members.user_id = sessions.user_id
        and team_members.team_id = sessions.current_team_id and ${MAY_REACH}
      join teams on teams.id = team_members.team_id where sessions.id = ?`,
    [sessionId],
  );
