import { isoTime } from '../../../platform/clock.ts';
import type { Executor } from '../../../platform/db/index.ts';
import { notFound, refuse } from '../../../platform/refusal.ts';
import { hashToken, mailedTokens } from '../../../platform/secrets/index.ts';
import type { Store } from '../../../platform/store.ts';
import type { NobodyCtx, UserCtx, Browser } from '../../../tenancy/access/index.ts';
import { revokeGrantsOfUser } from '../oauth/grants.ts';
import { endSessionsOfUser, endOtherSessions, mustBeBrowser } from '../../../tenancy/session-rows/index.ts';
import { listOwnTeams } from '../sessions/own-teams.store.ts';
import { countRequest, forgetAttemptsAt, beginAttempt, forgiveAttempt, settleAttempt } from '../sessions/attempts.ts';
import {
  toEmailKey,
  findUser,
  findUserByEmailKey,
  lockUser,
  mustResistGuessing,
  noteVerified,
  readUserEmail,
  setPassword,
  type UserRow,
} from '../../../tenancy/users/index.ts';
import {
  insertAccountNotice,
  removeUnusedPasswordResets,
  findPasswordResetByToken,
  insertPasswordReset,
  lockPasswordResets,
  usePasswordReset,
  type AccountNoticeKind,
  type PasswordResetRow,
} from './accounts.store.ts';
import { audited, type AuditNote } from '../../../tenancy/audit/index.ts';

export const verificationTokens = mailedTokens('rv_', 'address verification');
/** Stays in the browser that requested the account, and is never mailed. */
export const signUpTokens = mailedTokens('rs_', 'browser of a sign-up');
export const resetTokens = mailedTokens('rp_', 'password reset');

const USER_AGENT_CHARS_MAX = 500;

/**
 * Returns a store whose first change records in the audit log what a person did for their own account without being
 * signed in.
 */
export function createAuditedStore(
  { store, browser, requestId }: { store: Store; browser: Pick<Browser, 'address' | 'userAgent'>; requestId: string },
  {
    action,
    user,
    team_id,
    subject_id = user.id,
  }: Pick<AuditNote, 'action' | 'team_id'> & { user: { id: string; email: string }; subject_id?: string | null },
): Store {
  return audited(store, {
    action,
    team_id,
    subject_id,
    actor_kind: 'user',
    actor_id: user.id,
    actor_name: user.email,
    address: browser.address,
    user_agent: browser.userAgent.slice(0, USER_AGENT_CHARS_MAX),
    request_id: requestId,
    details: null,
  }).store;
}

const LIFE_MS = 3_600_000;

/**
 * Stores the request without looking up the address, so that neither the response nor its timing reveals whether an
 * account exists.
 */
export async function requestPasswordReset({ store, browser, requestId }: NobodyCtx, written: string) {
  const emailKey = toEmailKey(readUserEmail(written));
  const { address } = browser;
  await countRequest(store, 'password_reset', { emailKey, address });
  const row: PasswordResetRow = {
    ...newReset(store, emailKey),
    address,
    user_agent: browser.userAgent.slice(0, USER_AGENT_CHARS_MAX),
    request_id: requestId,
  };
  await store.db.tx((tx) => insertPasswordReset(tx, row));
  return { object: 'password_reset' as const, requested: true as const };
}

/**
 * Creates a password reset for an existing account without sending a mail; the caller delivers the link in another way.
 */
export async function makePasswordReset(
  store: Store,
  email: string,
  why = 'handed over by the operator',
): Promise<{ user: UserRow; token: string; expiresAt: string }> {
  const user = await findUserByEmailKey(store.db, toEmailKey(email));
  if (!user) throw notFound('User');
  const row = {
    ...newReset(store, user.email_key),
    user_id: user.id,
    mailed_at: store.clock.now(),
    fault: why,
  };
  await store.db.tx((tx) => insertPasswordReset(tx, row));
  return { user, token: resetTokens.make(store.secrets, row.id), expiresAt: isoTime(row.expires_at) };
}

function newReset({ ids, clock, secrets }: Store, emailKey: string): PasswordResetRow {
  const id = ids.uuid();
  const now = clock.now();
  return {
    id,
    email_key: emailKey,
    user_id: null,
    token_hash: hashToken(resetTokens.make(secrets, id)),
    address: null,
    user_agent: null,
    request_id: null,
    created_at: now,
    expires_at: now + LIFE_MS,
    admitted_at: null,
    mailed_at: null,
    fault: null,
    used_at: null,
  };
}

export async function confirmPasswordReset(ctx: NobodyCtx, { token, password }: { token: string; password: string }) {
  const { store } = ctx;
  const hash = hashToken(token);
  const now = store.clock.now();
  const row = await findPasswordResetByToken(store.db, hash);
  if (!row || row.user_id === null || row.used_at !== null || row.expires_at <= now) throw gone();
  const found = await findUser(store.db, row.user_id);
  if (!found) throw gone();
  mustResistGuessing(password, found.email);
  const passwordHash = await store.passwords.hash(password);
  const [team] = await listOwnTeams(store.db, found.id);
  const held = createAuditedStore(ctx, { action: 'password.reset', user: found, team_id: team?.id ?? null });
  await held.db.tx(async (tx) => {
    // Takes the same lock as a new session, so that no session can begin in between.
    const user = await lockUser(tx, found.id);
    await lockPasswordResets(tx, found.email_key);
    if (!user || !(await usePasswordReset(tx, row.id, now))) throw gone();
    await setPassword(tx, user.id, passwordHash);
    // The token was mailed to the address, which verifies it.
    await noteVerified(tx, user.id, now);
    await endSessionsOfUser(tx, user.id);
    // Somebody with the old password may have authorized an app.
    await revokeGrantsOfUser(tx, user.id, { at: now, reason: 'user' });
    await removeUnusedPasswordResets(tx, user.email_key);
    await forgetAttemptsAt(tx, user.email_key, ctx.browser.address);
    await notifyByMail(tx, store, { userId: user.id, kind: 'password_reset', address: ctx.browser.address });
  });
  return { object: 'user' as const, id: found.id };
}

/** Queues the mail that reports a change, in the transaction of the change. */
export const notifyByMail = (
  tx: Executor,
  { ids, clock }: Store,
  { userId, kind, address }: { userId: string; kind: AccountNoticeKind; address: string | null },
): Promise<number> =>
  insertAccountNotice(tx, {
    id: ids.uuid(),
    user_id: userId,
    kind,
    address,
    created_at: clock.now(),
    mailed_at: null,
    fault: null,
  });

/** Returned alike for unknown, expired and used tokens. */
const gone = () => notFound('Request for a new password');

export async function changePassword(
  ctx: UserCtx,
  { current_password: current, password }: { current_password?: string; password: string },
) {
  const { store, actor, browser } = ctx;
  await mustBeBrowser(store.db, actor.sessionId);
  const user = await findUser(store.db, actor.userId);
  if (!user) throw notFound('User');
  await mustKnowPassword(ctx, user, current);
  mustResistGuessing(password, user.email);
  const passwordHash = await store.passwords.hash(password);
  await store.db.tx(async (tx) => {
    // If the password was replaced meanwhile, the caller who knew the old one must not change anything any more.
    if ((await lockUser(tx, user.id))?.password_hash !== user.password_hash) throw replaced();
    await setPassword(tx, user.id, passwordHash);
    await endOtherSessions(tx, { userId: user.id, sessionId: actor.sessionId });
    // Somebody with the old password may have authorized an app.
    await revokeGrantsOfUser(tx, user.id, { at: store.clock.now(), reason: 'user' });
    await lockPasswordResets(tx, user.email_key);
    await removeUnusedPasswordResets(tx, user.email_key);
    await notifyByMail(tx, store, { userId: user.id, kind: 'password_changed', address: browser.address });
  });
  return { object: 'user' as const, id: user.id };
}

/**
 * Throws unless the caller knows the password. Wrong guesses count together with those at sign-in, so that somebody at
 * a signed-in browser gets no additional ones.
 */
async function mustKnowPassword(
  { store, browser }: UserCtx,
  user: UserRow,
  current: string | undefined,
): Promise<void> {
  if (user.password_hash === null) {
    if (current === undefined) return;
    throw refuse('validation_error', {
      status: 422,
      say: 'This account has no password yet; omit current_password.',
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
  refuse('validation_error', {
    status: 422,
    say: 'The password was changed in the meantime; sign in with the new one.',
  });
