import { refuse } from '../../../platform/refusal/index.ts';
import { hashToken } from '../../../platform/secrets/index.ts';
import type { NobodyCtx } from '../../../tenancy/access/index.ts';
import {
  countEntry,
  mustSpend,
  readAppCode,
  readRecoveryCode,
  secretOf,
  settleEntries,
  type Entry,
  type Tell,
} from '../mfa/index.ts';
import { findUser } from '../../../tenancy/users/index.ts';
import { CHALLENGE_COOKIE, markOfPassword } from './begin-challenge.ts';
import { beginSession } from './begin-session.ts';
import { countChallenge, endChallenge } from './challenges.store.ts';

const FAILURES_MAX = 5;

export const verifyMfa = (
  ctx: NobodyCtx,
  { challenge_token: token, code }: { challenge_token: string; code: string },
) => answerChallenge(ctx, token, readAppCode(code));

export const recoverMfa = (
  ctx: NobodyCtx,
  { challenge_token: token, recovery_code: code }: { challenge_token: string; recovery_code: string },
  tell: Tell,
) => answerChallenge(ctx, token, readRecoveryCode(code), tell);

async function answerChallenge(ctx: NobodyCtx, token: string, entry: Entry, tell?: Tell) {
  const { store, browser } = ctx;
  const { challenge, user, secret } = await takeAttempt(ctx, token, entry);
  const session = await beginSession(
    ctx,
    user,
    async (tx) => {
      await mustSpend(store, tx, secret, entry);
      if (!(await endChallenge(tx, challenge.id))) throw ended();
      await settleEntries(tx, user.id, entry.kind);
      await tell?.(tx, store, { userId: user.id, kind: 'recovery_code_used', address: browser.address });
    },
    { details: { second_factor: entry.kind } },
  );
  browser.forget(CHALLENGE_COOKIE);
  return session;
}

/** Counts the answer as wrong before it is looked at, for the challenge and for the account. */
async function takeAttempt({ store, browser }: NobodyCtx, token: string, { kind }: Entry) {
  const { db, clock } = store;
  const now = clock.now();
  const cookie = browser.cookie(CHALLENGE_COOKIE);
  if (cookie === undefined) throw ended();
  const hashes = { tokenHash: hashToken(token), browserHash: hashToken(cookie) };
  const taken = await db.tx(async (tx) => {
    const challenge = await countChallenge(tx, hashes, { now, max: FAILURES_MAX });
    if (!challenge) return undefined;
    const [user, secret] = [await findUser(tx, challenge.user_id), await secretOf(tx, challenge.user_id)];
    if (!user || user.disabled_at !== null || markOfPassword(user) !== challenge.password_hash) return undefined;
    if (secret?.id !== challenge.secret_id) return undefined;
    await countEntry(tx, user.id, kind, now);
    return { challenge, user, secret };
  });
  if (!taken) throw ended();
  return taken;
}

/** Answered alike, whatever is the matter with it. */
const ended = () =>
  refuse('validation_error', {
    status: 422,
    say: 'This challenge is not valid, or has ended; sign in with the password again.',
  });
