import { notFound } from '../../../platform/refusal/index.ts';
import type { UserCtx } from '../../../tenancy/access/index.ts';
import { lockAccount } from '../../../tenancy/members/index.ts';
import { revokeGrantsInTeam, revokeGrantsOfUser } from '../oauth/index.ts';
import {
  endSession,
  endSessionOf,
  endSessionsOf,
  endSsoSessions,
  ssoTeamOfSession,
} from '../../../tenancy/session-rows/index.ts';
import { newSessionCookie, sessionCookiesIn } from './authenticate-session.ts';

export async function logOut({ store, actor, browser }: UserCtx, { all = false }: { all?: boolean }) {
  await store.db.tx(async (tx) => {
    if (!all) return void (await endSession(tx, actor.sessionId));
    // A session that begins at the same moment, by what was approved in another one, is ended too.
    await lockAccount(tx, actor.userId);
    const revoked = { at: store.clock.now(), reason: 'user' as const };
    const teamId = await ssoTeamOfSession(tx, actor.sessionId);
    // Signing out everywhere ends the sessions of apps as well.
    if (teamId === null) {
      await endSessionsOf(tx, actor.userId);
      return revokeGrantsOfUser(tx, actor.userId, revoked);
    }
    await endSsoSessions(tx, teamId, actor.userId);
    return revokeGrantsInTeam(tx, { userId: actor.userId, teamId }, revoked);
  });
  const names = [newSessionCookie(store), ...sessionCookiesIn(browser).map(({ name }) => name)];
  for (const name of new Set(names)) browser.forget(name);
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
