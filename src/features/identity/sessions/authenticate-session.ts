import { refuse } from '../../../platform/refusal/index.ts';
import { hashToken } from '../../../platform/secrets/index.ts';
import type { Store } from '../../../platform/store/index.ts';
import type { Actor, Browser, Identity } from '../../../tenancy/access/index.ts';
import { findLiveSession, noteSessionUsed, type SessionKind } from '../../../tenancy/session-rows/index.ts';

export const SESSION_COOKIE = 'rasket_session';
/** Browsers take this name from this very host alone, by https: no host beside ours plants a session of its own. */
export const HOST_SESSION_COOKIE = `__Host-${SESSION_COOKIE}`;
export const SESSION_PREFIX = 'rks_';

const NOTED_MS = 60_000;

/** What carries a token. A session that began by a cookie with the prefix is in none without it, which other hosts can plant. */
export type Carrier = 'device' | typeof SESSION_COOKIE | typeof HOST_SESSION_COOKIE;

/** By which cookie a session begins here. */
export const newSessionCookie = ({ config, origin }: Pick<Store, 'config' | 'origin'>) =>
  config.sessions.secure_cookie && origin().startsWith('https:') ? HOST_SESSION_COOKIE : SESSION_COOKIE;

/** The cookies of sessions that a browser has, each by its name. */
export const sessionCookiesIn = (browser: Pick<Browser, 'cookie'>) =>
  ([HOST_SESSION_COOKIE, SESSION_COOKIE] as const).flatMap((name) => {
    const token = browser.cookie(name);
    return token === undefined ? [] : [{ name, token }];
  });

/**
 * Nothing is remembered between requests: what has ended is refused by the very next one, on every node. The token of a cookie
 * is worth nothing as a header, and the other way round.
 */
export function createSessionAuthentication(
  store: Store,
  carrier: Carrier,
): (token: string) => Promise<Identity<Extract<Actor, { kind: 'session' }>>> {
  const { db, clock } = store;
  const kind: SessionKind = carrier === 'device' ? 'device' : 'browser';
  const hasHostCookie = carrier === HOST_SESSION_COOKIE;
  return async (token) => {
    const now = clock.now();
    const found = await findLiveSession(db, { tokenHash: hashToken(token), kind, hasHostCookie }, now);
    if (!found) throw refuse('invalid_api_key', { say: 'This session has ended; sign in again.' });
    const { id: sessionId, user_id: userId, email: name, team_id: teamId, role } = found;
    if (now - found.last_used_at >= NOTED_MS) await db.txUnsynced((tx) => noteSessionUsed(tx, sessionId, now));
    return { teamId, actor: { kind: 'session', sessionId, userId, name, role } };
  };
}
