import { notFound } from '../../platform/refusal/index.ts';
import type { UserCtx } from '../access/index.ts';
import { lockAccount } from '../members/index.ts';
import { revokeGrantsOfUser } from '../oauth/index.ts';
import { endSession, endSessionOf, endSessionsOf } from '../session-rows/index.ts';
import { SESSION_COOKIE } from './authenticate-session.ts';

export async function logOut({ store, actor, browser }: UserCtx, { all = false }: { all?: boolean }) {
  await store.db.tx(async (tx) => {
    if (!all) return void (await endSession(tx, actor.sessionId));
    // A session that begins at the same moment, by what was approved in another one, is ended too.
    await lockAccount(tx, actor.userId);
    await endSessionsOf(tx, actor.userId);
    // Whoever signs out everywhere means apps as well.
    return revokeGrantsOfUser(tx, actor.userId, { at: store.clock.now(), reason: 'user' });
  });
  browser.forget(SESSION_COOKIE);
  return { object: 'session' as const, revoked: true as const };
}

/** Those of others are answered as those that do not exist. */
export async function endOneSession({ store, actor }: UserCtx, named: string) {
  const id = named.toLowerCase();
  if (!(await store.db.tx((tx) => endSessionOf(tx, { id, userId: actor.userId })))) throw notFound('Session');
  return { object: 'session' as const, id, deleted: true as const };
}
