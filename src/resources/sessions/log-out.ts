import type { UserCtx } from '../access/index.ts';
import { SESSION_COOKIE } from './authenticate-session.ts';
import { endSession, endSessionsOf } from '../session-rows/index.ts';

export async function logOut({ store, actor, browser }: UserCtx, { all = false }: { all?: boolean }) {
  await store.db.tx((tx) => (all ? endSessionsOf(tx, actor.userId) : endSession(tx, actor.sessionId)));
  browser.forget(SESSION_COOKIE);
  return { object: 'session' as const, revoked: true as const };
}
