import { isoTime } from '../../../platform/clock/index.ts';
import type { Executor } from '../../../platform/db/index.ts';
import { hashToken, newToken } from '../../../platform/secrets/index.ts';
import type { NobodyCtx } from '../../../tenancy/access/index.ts';
import { secretOf } from '../mfa/index.ts';
import { lockUser, type UserRow } from '../../../tenancy/users/index.ts';
import { mustBeUnchanged } from './begin-session.ts';
import { insertChallenge } from './challenges.store.ts';

export const CHALLENGE_COOKIE = 'rasket_challenge';

const CHALLENGE_SECONDS = 600;

/**
 * For a person who has shown the password and has a second factor. The browser is known again by a cookie of its own, which is
 * made here: one that somebody else has planted is worth nothing.
 */
export async function beginChallenge(
  { store, browser }: NobodyCtx,
  user: UserRow,
  within: (tx: Executor) => Promise<unknown>,
) {
  const { db, clock, ids } = store;
  const [token, cookie] = [newToken('rmc_'), newToken('')];
  const expiresAt = clock.now() + CHALLENGE_SECONDS * 1000;
  await db.tx(async (tx) => {
    mustBeUnchanged(await lockUser(tx, user.id), user);
    const secret = await secretOf(tx, user.id);
    if (!secret) throw new Error('a person with a second factor has a secret');
    await insertChallenge(tx, {
      ...{ id: ids.uuid(), token_hash: hashToken(token), browser_hash: hashToken(cookie), user_id: user.id },
      ...{ password_hash: markOfPassword(user), secret_id: secret.id, failures: 0, expires_at: expiresAt },
    });
    await within(tx);
  });
  browser.keep(CHALLENGE_COOKIE, cookie, CHALLENGE_SECONDS);
  return { object: 'mfa_challenge' as const, challenge_token: token, expires_at: isoTime(expiresAt) };
}

/** Changes with the password. */
export const markOfPassword = ({ password_hash: hash }: UserRow): string => hashToken(hash ?? '');
