import type { Role } from '../../contract/index.ts';
import type { Executor } from '../../platform/db/index.ts';
import type { TeamRow } from '../teams/index.ts';

/** In the order in which the person joined them. */
export const allTeamsOf = (db: Executor, userId: string): Promise<(TeamRow & { own_role: Role })[]> =>
  db.all<TeamRow & { own_role: Role }>(
    `select teams.*, team_members.role as own_role from team_members join teams on teams.id = team_members.team_id
      where team_members.user_id = ? order by team_members.id`,
    [userId],
  );

/** Also one that is suspended, so that its members see that. */
export const currentTeamOf = (db: Executor, sessionId: string): Promise<TeamRow | undefined> =>
  db.get<TeamRow>(
    `select teams.* from sessions join team_members on team_members.user_id = sessions.user_id
        and team_members.team_id = sessions.current_team_id
      join teams on teams.id = team_members.team_id where sessions.id = ?`,
    [sessionId],
  );
