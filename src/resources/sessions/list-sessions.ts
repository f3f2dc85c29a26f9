import { isoTime } from '../../platform/clock/index.ts';
import type { Page } from '../../platform/db/index.ts';
import type { UserCtx } from '../access/index.ts';
import { sessionPage, type SessionRow } from '../session-rows/index.ts';
import { allTeamsOf } from './own-teams.store.ts';

/** Where the person is signed in. */
export async function listSessions({ store, actor }: UserCtx, page: Page) {
  const { userId, sessionId } = actor;
  const { rows, hasMore } = await sessionPage(store.db, { userId, now: store.clock.now() }, page);
  // In a team that is suspended no session works.
  const teams = (await allTeamsOf(store.db, userId)).filter(({ risk_state: state }) => state === 'normal');
  const named = new Map(teams.map(({ id, name }) => [id, { id, name }]));
  const present = (row: SessionRow) => ({
    object: 'session' as const,
    id: row.id,
    kind: row.kind,
    client_name: row.client_name,
    team: named.get(row.current_team_id ?? '') ?? null,
    is_current: row.id === sessionId,
    address: row.address,
    user_agent: row.user_agent,
    created_at: isoTime(row.created_at),
    last_used_at: isoTime(row.last_used_at),
    expires_at: isoTime(row.expires_at),
  });
  return { object: 'list' as const, has_more: hasMore, data: rows.map(present) };
}
