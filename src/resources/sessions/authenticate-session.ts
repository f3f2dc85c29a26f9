import { refuse } from '../../platform/refusal/index.ts';
import { hashToken } from '../../platform/secrets/index.ts';
import type { Store } from '../../platform/store/index.ts';
import type { Actor, Identity } from '../access/index.ts';
import { findLiveSession, noteSessionUsed, type SessionKind } from '../session-rows/index.ts';

export const SESSION_COOKIE = 'rasket_session';
export const SESSION_PREFIX = 'rks_';

const NOTED_MS = 60_000;

/**
 * Nothing is remembered between requests: what has ended is refused by the very next one, on every node. The token of a cookie
 * is worth nothing as a header, and the other way round.
 */
export function createSessionAuthentication(
  store: Store,
  kind: SessionKind,
): (token: string) => Promise<Identity<Extract<Actor, { kind: 'session' }>>> {
  const { db, clock } = store;
  return async (token) => {
    const now = clock.now();
    const found = await findLiveSession(db, { tokenHash: hashToken(token), kind }, now);
    if (!found) throw refuse('invalid_api_key', { say: 'This session has ended; sign in again.' });
    const { id: sessionId, user_id: userId, email: name, team_id: teamId, role } = found;
    if (now - found.last_used_at >= NOTED_MS) await db.txUnsynced((tx) => noteSessionUsed(tx, sessionId, now));
    return { teamId, actor: { kind: 'session', sessionId, userId, name, role } };
  };
}
