import { notFound } from '../../platform/refusal/index.ts';
import type { UserCtx } from '../access/index.ts';
import { lockAccount } from '../members/index.ts';
import { endSession, endSessionOf, endSessionsOf, endSsoSessions, ssoTeamOfSession } from '../session-rows/index.ts';
import { SESSION_COOKIE } from './authenticate-session.ts';

export async function logOut({ store, actor, browser }: UserCtx, { all = false }: { all?: boolean }) {
  await store.db.tx(async (tx) => {
    if (!all) return endSession(tx, actor.sessionId);
    // A session that begins at the same moment, by what was approved in another one, is ended too.
    await lockAccount(tx, actor.userId);
    const ssoTeamId = await ssoTeamOfSession(tx, actor.sessionId);
    if (ssoTeamId !== null) return endSsoSessions(tx, ssoTeamId, actor.userId);
    return endSessionsOf(tx, actor.userId);
  });
  browser.forget(SESSION_COOKIE);
  return { object: 'session' as const, revoked: true as const };
}

/** Those of others are answered as those that do not exist. */
export async function endOneSession({ store, actor }: UserCtx, named: string) {
  const id = named.toLowerCase();
  const ssoTeamId = await ssoTeamOfSession(store.db, actor.sessionId);
  const isEnded = await store.db.tx((tx) => endSessionOf(tx, { id, userId: actor.userId, ssoTeamId }));
  if (!isEnded) throw notFound('Session');
  return { object: 'session' as const, id, deleted: true as const };
}
