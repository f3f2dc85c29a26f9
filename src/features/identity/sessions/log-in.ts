import { refuse } from '../../../platform/refusal.ts';
import type { Store } from '../../../platform/store.ts';
import type { NobodyCtx } from '../../../tenancy/access/index.ts';
import { toEmailKey, findUserByEmailKey, lockUser, findUser, type UserRow } from '../../../tenancy/users/index.ts';
import { beginAttempt, forgiveAttempt, settleAttempt, noteFailedSignIn } from './attempts.ts';
import { beginSession, mustBeUnchanged } from './sessions.ts';
import { isoTime } from '../../../platform/clock.ts';
import type { Executor } from '../../../platform/db/index.ts';
import { hashToken, newToken } from '../../../platform/secrets/index.ts';
import { findSecret } from '../mfa/mfa.store.ts';
import {
  countEntry,
  mustSpend,
  readAppCode,
  readRecoveryCode,
  settleEntries,
  type Entry,
} from '../mfa/code-entries.ts';
import type { NotifyByMail } from '../mfa/mfa.ts';
import { insertChallenge, countChallenge, endChallenge } from './sign-ins.store.ts';

const CHALLENGE_COOKIE = 'rasket_challenge';

const CHALLENGE_SECONDS = 600;

/**
 * Begins a challenge for a person who has entered the password and has a second factor. The browser is recognized by a
 * new cookie, so that a planted one is useless.
 */
async function beginChallenge(
  { store, browser }: NobodyCtx,
  user: UserRow,
  within: (tx: Executor) => Promise<unknown>,
) {
  const { db, clock, ids } = store;
  const token = newToken('rmc_');
  const cookie = newToken('');
  const expiresAt = clock.now() + CHALLENGE_SECONDS * 1000;
  await db.tx(async (tx) => {
    mustBeUnchanged(await lockUser(tx, user.id), user);
    const secret = await findSecret(tx, user.id);
    if (!secret) throw new Error('secret missing for a person with a second factor');
    await insertChallenge(tx, {
      id: ids.uuid(),
      token_hash: hashToken(token),
      browser_hash: hashToken(cookie),
      user_id: user.id,
      password_hash: markOfPassword(user),
      secret_id: secret.id,
      failures: 0,
      expires_at: expiresAt,
    });
    await within(tx);
  });
  browser.keep(CHALLENGE_COOKIE, cookie, CHALLENGE_SECONDS);
  return { object: 'mfa_challenge' as const, challenge_token: token, expires_at: isoTime(expiresAt) };
}

/** Returns a value that changes with the password. */
const markOfPassword = ({ password_hash: hash }: UserRow): string => hashToken(hash ?? '');

const FAILURES_MAX = 5;

export const verifyMfa = (
  ctx: NobodyCtx,
  { challenge_token: token, code }: { challenge_token: string; code: string },
) => answerChallenge(ctx, token, readAppCode(code));

export const recoverMfa = (
  ctx: NobodyCtx,
  { challenge_token: token, recovery_code: code }: { challenge_token: string; recovery_code: string },
  notify: NotifyByMail,
) => answerChallenge(ctx, token, readRecoveryCode(code), notify);

async function answerChallenge(ctx: NobodyCtx, token: string, entry: Entry, notify?: NotifyByMail) {
  const { store, browser } = ctx;
  const { challenge, user, secret } = await takeAttempt(ctx, token, entry);
  const session = await beginSession(
    ctx,
    user,
    async (tx) => {
      await mustSpend(store, tx, secret, entry);
      if (!(await endChallenge(tx, challenge.id))) throw ended();
      await settleEntries(tx, user.id, entry.kind);
      await notify?.(tx, store, { userId: user.id, kind: 'recovery_code_used', address: browser.address });
    },
    { details: { second_factor: entry.kind } },
  );
  browser.forget(CHALLENGE_COOKIE);
  return session;
}

/** Counts the entry as wrong before it is checked, for the challenge and for the account. */
async function takeAttempt({ store, browser }: NobodyCtx, token: string, { kind }: Entry) {
  const { db, clock } = store;
  const now = clock.now();
  const cookie = browser.cookie(CHALLENGE_COOKIE);
  if (cookie === undefined) throw ended();
  const hashes = { tokenHash: hashToken(token), browserHash: hashToken(cookie) };
  const taken = await db.tx(async (tx) => {
    const challenge = await countChallenge(tx, hashes, { now, max: FAILURES_MAX });
    if (!challenge) return undefined;
    const user = await findUser(tx, challenge.user_id);
    const secret = await findSecret(tx, challenge.user_id);
    if (!user || user.disabled_at !== null || markOfPassword(user) !== challenge.password_hash) return undefined;
    if (secret?.id !== challenge.secret_id) return undefined;
    await countEntry(tx, user.id, kind, now);
    return { challenge, user, secret };
  });
  if (!taken) throw ended();
  return taken;
}

/** Returned alike for every invalid challenge. */
const ended = () =>
  refuse('validation_error', {
    status: 422,
    say: 'This challenge is not valid or has expired; sign in with your password again.',
  });

/**
 * Begins a session, or a challenge for a person with a second factor. The error and the amount of work are the same for
 * an unknown address and for a wrong password.
 */
export async function logIn(
  { store, browser, requestId }: NobodyCtx,
  { email, password }: { email: string; password: string },
) {
  const emailKey = toEmailKey(email);
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
