import { isoTime } from '../../../platform/clock/index.ts';
import { isUniqueViolation, type Executor } from '../../../platform/db/index.ts';
import { notFound, refuse } from '../../../platform/refusal/index.ts';
import { hashToken } from '../../../platform/secrets/index.ts';
import type { Store } from '../../../platform/store/index.ts';
import type { NobodyCtx } from '../../../tenancy/access/index.ts';
import { findUser, findUserByEmailKey, insertUser } from '../../../tenancy/users/index.ts';
import { signUpTokens } from './account-tokens.ts';
import { auditedOf } from './audited-of.ts';
import { makePasswordReset } from './reset-password.ts';
import { mustTakeSignUps, SIGN_UP_COOKIE } from './sign-up.ts';
import {
  findSignUpByToken,
  isInvited,
  lockSignUpsOf,
  noteSignUpVerified,
  removeOtherSignUps,
  type SignUpRow,
} from './sign-ups.store.ts';

/**
 * Makes the account that was asked for. Its password is the one that it was asked for with only in the browser which asked: anybody
 * may ask in somebody's name, and would know the password of the account that the owner of the mailbox begins.
 */
export async function verifyEmail(ctx: NobodyCtx, token: string) {
  const { store } = ctx;
  mustTakeSignUps(store);
  const hash = hashToken(token);
  const now = store.clock.now();
  const row = await liveSignUp(store, token);
  const isOwn = isSameBrowser(ctx, row);
  const held = auditedOf(ctx, { action: 'account.created', user: row, team_id: null });
  const at = await held.db
    .tx(async (tx) => {
      await lockSignUpsOf(tx, row.email_key);
      if (await noteSignUpVerified(tx, row.id, now)) {
        if (store.config.accounts.sign_up === 'invitation' && !(await isInvited(tx, row.email_key, now))) throw gone();
        await makeUser(tx, { ...row, password_hash: isOwn ? row.password_hash : null }, now);
        return now;
      }
      return (await findSignUpByToken(tx, hash))?.verified_at ?? undefined;
    })
    .catch((error: unknown) => {
      throw isUniqueViolation(error) ? exists() : error;
    });
  if (at === undefined) throw gone();
  if (isOwn) ctx.browser.forget(SIGN_UP_COOKIE);
  const hasPassword = ((await findUser(store.db, row.id))?.password_hash ?? null) !== null;
  return { object: 'user' as const, id: row.id, email_verified_at: isoTime(at), has_password: hasPassword };
}

/**
 * A token with which the first password of an account is chosen that was begun without one, for the holder of the link in its mail.
 * Undefined once there is a password: then the link gives nothing any more.
 */
export async function firstPasswordToken(store: Store, token: string): Promise<string | undefined> {
  const row = await liveSignUp(store, token);
  const user = row.verified_at === null ? undefined : await findUser(store.db, row.id);
  if (!user || user.password_hash !== null) return undefined;
  return (await makePasswordReset(store, user.email, 'shown where the address was verified')).token;
}

async function liveSignUp({ db, clock }: Store, token: string): Promise<SignUpRow> {
  const row = await findSignUpByToken(db, hashToken(token));
  if (!row || row.expires_at <= clock.now()) throw gone();
  return row;
}

const isSameBrowser = ({ store, browser }: NobodyCtx, { id }: SignUpRow): boolean => {
  const shown = browser.cookie(SIGN_UP_COOKIE);
  return shown !== undefined && signUpTokens.of(store.secrets, { id, token_hash: hashToken(shown) }) !== undefined;
};

type NewAccount = Omit<SignUpRow, 'password_hash'> & { password_hash: string | null };

async function makeUser(tx: Executor, row: NewAccount, now: number): Promise<void> {
  if (await findUserByEmailKey(tx, row.email_key)) throw exists();
  const { id, email, email_key, name, password_hash } = row;
  await insertUser(tx, { id, email, email_key, name, password_hash, email_verified_at: now, created_at: now });
  await removeOtherSignUps(tx, row);
}

/** Unknown, expired, withdrawn and replaced are one answer. */
const gone = () => notFound('Request for an account');

const exists = () =>
  refuse('resource_locked', {
    say: 'This address has an account already; sign in, or ask for a new password.',
  });
