import { refuse } from '../../../platform/refusal/index.ts';
import type { Store } from '../../../platform/store/index.ts';
import type { NobodyCtx } from '../../../tenancy/access/index.ts';
import { emailKeyOf, findUserByEmailKey } from '../../../tenancy/users/index.ts';
import { beginAttempt, forgiveAttempt, settleAttempt } from './attempts.ts';
import { beginChallenge } from './begin-challenge.ts';
import { beginSession } from './begin-session.ts';
import { noteFailedSignIn } from './failed-sign-ins.ts';

/**
 * Begins a session, or a challenge for a person with a second factor. Answers alike, and works as hard, whether the address is
 * unknown or the password wrong.
 */
export async function logIn(
  { store, browser, requestId }: NobodyCtx,
  { email, password }: { email: string; password: string },
) {
  const emailKey = emailKeyOf(email);
  const attempt = await beginAttempt(store, emailKey, browser.address, browser);
  const { user, isRight } = await check(store, emailKey, password).catch(async (error: unknown) => {
    await store.db.txUnsynced((tx) => forgiveAttempt(tx, attempt));
    throw error;
  });
  if (!user || !isRight) {
    await noteFailedSignIn(store, { emailKey, browser, requestId });
    throw wrong();
  }
  const begin = user.mfa_enabled_at === null ? beginSession : beginChallenge;
  return begin({ store, browser, requestId }, user, (tx) => settleAttempt(tx, attempt));
}

async function check(store: Store, emailKey: string, password: string) {
  const user = await findUserByEmailKey(store.db, emailKey);
  return { user, isRight: await store.passwords.matches(password, user?.password_hash ?? null) };
}

const wrong = () => refuse('validation_error', { status: 422, say: 'The email or the password is wrong.' });
