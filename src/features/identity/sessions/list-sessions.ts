import { isoTime } from '../../../platform/clock/index.ts';
import type { Page } from '../../../platform/db/index.ts';
import type { UserCtx } from '../../../tenancy/access/index.ts';
import { sessionPage, ssoTeamOfSession, type SessionRow } from '../../../tenancy/session-rows/index.ts';
import { allTeamsOf } from './own-teams.store.ts';

/** Where the person is signed in. */
export async function listSessions({ store, actor }: UserCtx, page: Page) {
  const { userId, sessionId } = actor;
  const ssoTeamId = await ssoTeamOfSession(store.db, actor.sessionId);
  const { rows, hasMore } = await sessionPage(store.db, { userId, ssoTeamId, now: store.clock.now() }, page);
  // In a team that is suspended no session works.
  const teams = (await allTeamsOf(store.db, userId)).filter(({ risk_state: state }) => state === 'normal');
  const byId = new Map(teams.map((team) => [team.id, team]));
  const present = (row: SessionRow) => {
    const team = byId.get(row.current_team_id ?? '');
    return {
      ...presentSession(row),
      team: team ? { id: team.id, name: team.name } : null,
      role: team?.own_role ?? null,
    };
  };
  const presentSession = (row: SessionRow) => ({
    object: 'session' as const,
    id: row.id,
    kind: row.kind,
    client_name: row.client_name,
    is_current: row.id === sessionId,
    address: row.address,
    user_agent: row.user_agent,
    created_at: isoTime(row.created_at),
    last_used_at: isoTime(row.last_used_at),
    expires_at: isoTime(row.expires_at),
  });
  return { object: 'list' as const, has_more: hasMore, data: rows.map(present) };
}
