import { notFound, refuse } from '../../../platform/refusal/index.ts';
import type { UserCtx } from '../../../tenancy/access/index.ts';
import { revokeGrantsOfUser } from '../oauth/index.ts';
import { endOtherSessionsOf, mustBeBrowser } from '../../../tenancy/session-rows/index.ts';
import { beginAttempt, forgiveAttempt, settleAttempt } from '../sessions/index.ts';
import { findUser, lockUser, setPassword, type UserRow } from '../../../tenancy/users/index.ts';
import { endPasswordResetsOf, lockPasswordResetsOf } from './password-resets.store.ts';
import { tell } from './reset-password.ts';

export async function changePassword(
  ctx: UserCtx,
  { current_password: current, password }: { current_password?: string; password: string },
) {
  const { store, actor, browser } = ctx;
  await mustBeBrowser(store.db, actor.sessionId);
  const user = await findUser(store.db, actor.userId);
  if (!user) throw notFound('User');
  await mustKnowPassword(ctx, user, current);
  const passwordHash = await store.passwords.hash(password);
  await store.db.tx(async (tx) => {
    // A caller that was let in by a password which was replaced meanwhile changes nothing any more.
    if ((await lockUser(tx, user.id))?.password_hash !== user.password_hash) throw replaced();
    await setPassword(tx, user.id, passwordHash);
    await endOtherSessionsOf(tx, { userId: user.id, sessionId: actor.sessionId });
    // A thief of the old password may have let an app in.
    await revokeGrantsOfUser(tx, user.id, { at: store.clock.now(), reason: 'user' });
    await lockPasswordResetsOf(tx, user.email_key);
    await endPasswordResetsOf(tx, user.email_key);
    await tell(tx, store, { userId: user.id, kind: 'password_changed', address: browser.address });
  });
  return { object: 'user' as const, id: user.id };
}

/** Guesses are counted with those at signing in: a stranger at a signed-in browser has no more of them. */
async function mustKnowPassword(
  { store, browser }: UserCtx,
  user: UserRow,
  current: string | undefined,
): Promise<void> {
  if (user.password_hash === null) {
    if (current === undefined) return;
    throw refuse('validation_error', {
      status: 422,
      say: 'This account has no password yet; leave current_password out.',
    });
  }
  if (current === undefined) {
    throw refuse('missing_required_field', { say: 'Missing required field: current_password.' });
  }
  const attempt = await beginAttempt(store, user.email_key, browser.address);
  const isRight = await store.passwords.matches(current, user.password_hash).catch(async (error: unknown) => {
    await store.db.txUnsynced((tx) => forgiveAttempt(tx, attempt));
    throw error;
  });
  if (!isRight) throw refuse('validation_error', { status: 422, say: 'The current password is wrong.' });
  await store.db.txUnsynced((tx) => settleAttempt(tx, attempt));
}

const replaced = () =>
  refuse('validation_error', { status: 422, say: 'The password was changed meanwhile; sign in with the new one.' });
