import { refuse, notFound } from '../../../platform/refusal.ts';
import { hashToken } from '../../../platform/secrets/index.ts';
import type { Store } from '../../../platform/store.ts';
import type { NobodyCtx } from '../../../tenancy/access/index.ts';
import { countRequest } from '../sessions/attempts.ts';
import { beginSession } from '../sessions/sessions.ts';
import {
  toEmailKey,
  presentUser,
  readUserEmail,
  findUser,
  findUserByEmailKey,
  insertUser,
  mustResistGuessing,
  type UserRow,
} from '../../../tenancy/users/index.ts';
import { signUpTokens, verificationTokens, createAuditedStore, makePasswordReset } from './passwords.ts';
import {
  insertSignUp,
  findSignUpByToken,
  isInvited,
  lockSignUps,
  noteSignUpVerified,
  removeOtherSignUps,
  type SignUpRow,
} from './accounts.store.ts';
import { isoTime } from '../../../platform/clock.ts';
import { isUniqueViolation, type Executor } from '../../../platform/db/index.ts';
import { joinAsNewUser, loadOpenInvitation } from '../invitations/invitations.ts';
import { findTeam } from '../../../tenancy/teams/index.ts';

const SIGN_UP_COOKIE = 'rasket_signup';
const LIFE_MS = 3 * 24 * 3_600_000;

/**
 * Stores the request without looking up the address. The loop that writes its mail decides what happens to it, so that
 * neither the response nor its timing reveals whether the address has an account or an invitation.
 */
export async function signUp(
  { store, browser }: NobodyCtx,
  { email: written, password, name = null }: { email: string; password: string; name?: string | null },
) {
  mustTakeSignUps(store);
  const email = readUserEmail(written);
  mustResistGuessing(password, email);
  const emailKey = toEmailKey(email);
  const { address } = browser;
  await countRequest(store, 'sign_up', { emailKey, address });
  const id = store.ids.uuid();
  const now = store.clock.now();
  const row = {
    id,
    email,
    email_key: emailKey,
    name,
    password_hash: await store.passwords.hash(password),
    token_hash: hashToken(verificationTokens.make(store.secrets, id)),
    address,
    created_at: now,
    expires_at: now + LIFE_MS,
    admitted_at: null,
    mailed_at: null,
    fault: null,
    verified_at: null,
  };
  await store.db.tx((tx) => insertSignUp(tx, row));
  browser.keep(SIGN_UP_COOKIE, signUpTokens.make(store.secrets, id), LIFE_MS / 1000);
  return presentUser({ ...row, email_verified_at: null, mfa_enabled_at: null, disabled_at: null });
}

function mustTakeSignUps({ config }: Store): void {
  if (config.accounts.sign_up !== 'closed') return;
  throw refuse('invalid_permission', {
    say: 'Sign-up is closed on this service; contact its operator.',
  });
}

/**
 * Creates an account, a membership and a session in one transaction. The token verifies the address, because it was
 * mailed there. Refuses an address that already has an account: its owner must sign in to accept the invitation.
 */
export async function signUpByInvitation(
  ctx: NobodyCtx,
  { token, password, name = null }: { token: string; password: string; name?: string | null },
) {
  const { store } = ctx;
  mustTakeSignUps(store);
  const now = store.clock.now();
  const invitation = await loadOpenInvitation(store.db, token, now);
  mustResistGuessing(password, invitation.email);
  await mustBeNew(store.db, invitation.email_key);
  const team = await findTeam(store.db, invitation.team_id);
  if (!team) throw notFound('Invitation');
  const user: UserRow = {
    id: store.ids.uuid(),
    email: invitation.email,
    email_key: invitation.email_key,
    name,
    password_hash: await store.passwords.hash(password),
    email_verified_at: now,
    mfa_enabled_at: null,
    disabled_at: null,
    created_at: now,
  };
  const created = createAuditedStore(ctx, { action: 'account.created', user, team_id: team.id });
  const joined = createAuditedStore(
    { ...ctx, store: created },
    { action: 'invitation.accepted', user, team_id: team.id, subject_id: null },
  );
  const join = async (tx: Executor): Promise<void> => {
    await mustBeNew(tx, user.email_key);
    await insertUser(tx, user);
    await joinAsNewUser(tx, invitation, { userId: user.id, memberId: store.ids.uuid(), now });
  };
  return beginSession({ ...ctx, store: joined }, user, join, { joined: team }).catch((error: unknown) => {
    throw isUniqueViolation(error) ? refuseKnownInvitee() : error;
  });
}

async function mustBeNew(db: Executor, emailKey: string): Promise<void> {
  if (await findUserByEmailKey(db, emailKey)) throw refuseKnownInvitee();
}

const refuseKnownInvitee = () =>
  refuse('resource_locked', {
    say: 'There is already an account with this address; sign in to accept the invitation.',
  });

/**
 * Creates the requested account. It gets the requested password only in the browser that made the request: anybody can
 * request an account for another person's address, and would otherwise know the password of the account that the owner
 * of the mailbox creates.
 */
export async function verifyEmail(ctx: NobodyCtx, token: string) {
  const { store } = ctx;
  mustTakeSignUps(store);
  const hash = hashToken(token);
  const now = store.clock.now();
  const row = await liveSignUp(store, token);
  const isOwn = isSameBrowser(ctx, row);
  const held = createAuditedStore(ctx, { action: 'account.created', user: row, team_id: null });
  const at = await held.db
    .tx(async (tx) => {
      await lockSignUps(tx, row.email_key);
      if (await noteSignUpVerified(tx, row.id, now)) {
        if (store.config.accounts.sign_up === 'invitation' && !(await isInvited(tx, row.email_key, now))) throw gone();
        await makeUser(tx, { ...row, password_hash: isOwn ? row.password_hash : null }, now);
        return now;
      }
      return (await findSignUpByToken(tx, hash))?.verified_at ?? undefined;
    })
    .catch((error: unknown) => {
      throw isUniqueViolation(error) ? refuseKnownAddress() : error;
    });
  if (at === undefined) throw gone();
  if (isOwn) ctx.browser.forget(SIGN_UP_COOKIE);
  const hasPassword = ((await findUser(store.db, row.id))?.password_hash ?? null) !== null;
  return { object: 'user' as const, id: row.id, email_verified_at: isoTime(at), has_password: hasPassword };
}

/**
 * Returns a token for choosing the first password of an account that was created without one, given the link in its
 * mail. Returns undefined once the account has a password, so that the link is of no more use.
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
  if (await findUserByEmailKey(tx, row.email_key)) throw refuseKnownAddress();
  const { id, email, email_key, name, password_hash } = row;
  await insertUser(tx, { id, email, email_key, name, password_hash, email_verified_at: now, created_at: now });
  await removeOtherSignUps(tx, row);
}

/** Returned alike for unknown, expired, withdrawn and replaced requests. */
const gone = () => notFound('Request for an account');

const refuseKnownAddress = () =>
  refuse('resource_locked', {
    say: 'There is already an account with this address; sign in, or reset your password.',
  });
