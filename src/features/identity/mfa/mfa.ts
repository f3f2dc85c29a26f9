import { notFound, refuse, invalidField } from '../../../platform/refusal.ts';
import { randomSecret } from '../../../platform/secrets/index.ts';
import { base32, otpauthUrl } from '../../../protocol/totp.ts';
import type { UserCtx } from '../../../tenancy/access/index.ts';
import {
  mustBeBrowser,
  endOtherSessions,
  endSessionsOfUser,
  teamOfSession,
} from '../../../tenancy/session-rows/index.ts';
import { lockUser, setMfaEnabled, findNamedUser, findUser, type UserRow } from '../../../tenancy/users/index.ts';
import {
  replaceSecret,
  SEALED_MFA_SECRETS,
  confirmSecret,
  replaceRecoveryHashes,
  findSecret,
  countRecoveryCodes,
  removeFactors,
  removeFailuresBefore,
  removeUnconfirmedBefore,
  type SecretRow,
} from './mfa.store.ts';
import { isoTime } from '../../../platform/clock.ts';
import { revokeGrantsOfUser } from '../oauth/grants.ts';
import {
  countEntry,
  mustBePassword,
  mustSpend,
  readAppCode,
  settleEntries,
  hashOfRecoveryCode,
  newRecoveryCodes,
  readEitherCode,
  FAILURES_MS,
} from './code-entries.ts';
import type { Store } from '../../../platform/store.ts';
import type { Executor } from '../../../platform/db/index.ts';
import { audited, describeActor, type Audited } from '../../../tenancy/audit/index.ts';

/** RFC 4226 §4 recommends the length of the HMAC-SHA-1 output. */
const SECRET_BYTES = 20;
const PENDING_MS = 3_600_000;

const isPending = (secret: SecretRow | undefined, now: number): secret is SecretRow =>
  secret !== undefined && secret.confirmed_at === null && secret.created_at > now - PENDING_MS;

export async function enrolMfa({ store, actor }: UserCtx) {
  const { db, clock, ids, secrets } = store;
  await mustBeBrowser(db, actor.sessionId);
  const secret = randomSecret(SECRET_BYTES);
  const id = ids.uuid();
  const now = clock.now();
  const sealed = secrets.seal(base32(secret), SEALED_MFA_SECRETS.purpose, id);
  const account = await db.tx(async (tx) => {
    const user = await lockUser(tx, actor.userId);
    if (!user) throw notFound('User');
    if (user.mfa_enabled_at !== null) {
      throw refuse('validation_error', { status: 422, say: 'Two-factor authentication is on; turn it off first.' });
    }
    const times = { created_at: now, confirmed_at: null };
    await replaceSecret(tx, { id, user_id: user.id, secret: sealed, last_step: null, ...times });
    return user.email;
  });
  const issuer = `rasket ${new URL(store.origin()).hostname}`;
  return {
    object: 'mfa_enrolment' as const,
    otpauth_url: otpauthUrl({ issuer, account, secret }),
    secret: base32(secret),
  };
}

/**
 * Notifies the person by mail, in the transaction of the change. Passed in because account mails belong to a higher
 * layer.
 */
export type NotifyByMail = (
  tx: Executor,
  store: Store,
  told: { userId: string; kind: MfaNotice; address: string | null },
) => Promise<unknown>;
type MfaNotice = 'mfa_enabled' | 'mfa_disabled' | 'mfa_reset' | 'recovery_codes_replaced' | 'recovery_code_used';

const USER_AGENT_CHARS_MAX = 500;

async function ownUser({ store, actor }: UserCtx): Promise<UserRow> {
  const user = await findUser(store.db, actor.userId);
  if (!user) throw notFound('User');
  return user;
}

/** Returns the secret of the active second factor; throws if it is off. */
async function ownSecret(ctx: UserCtx): Promise<SecretRow> {
  const secret = await findSecret(ctx.store.db, ctx.actor.userId);
  if (secret && secret.confirmed_at !== null) return secret;
  throw refuse('validation_error', { status: 422, say: 'Two-factor authentication is off.' });
}

/**
 * Creates the audit entry. Only actions with a right code are recorded: a wrong one is counted, which changes the
 * database too.
 */
async function auditedAs({ store, actor, browser, requestId }: UserCtx, action: string): Promise<Audited<Store>> {
  const teamId = await teamOfSession(store.db, actor.sessionId, store.clock.now());
  return audited(store, {
    action,
    team_id: teamId ?? null,
    subject_id: actor.userId,
    ...describeActor(actor),
    details: null,
    address: browser.address,
    user_agent: browser.userAgent.slice(0, USER_AGENT_CHARS_MAX),
    request_id: requestId,
  });
}

/** Removes secrets that can no longer be confirmed, and failures that are too old to count. */
export async function removeOldEnrolments({ db, clock }: Store): Promise<void> {
  await removeUnconfirmedBefore(db, clock.now() - PENDING_MS);
  await removeFailuresBefore(db, clock.now() - FAILURES_MS);
}

export async function disableMfa(ctx: UserCtx, { code }: { code: string }, notify: NotifyByMail) {
  const { store, actor, browser } = ctx;
  await mustBeBrowser(store.db, actor.sessionId);
  const entry = readEitherCode(code);
  const secret = await ownSecret(ctx);
  await store.db.tx((tx) => countEntry(tx, actor.userId, entry.kind, store.clock.now()));
  const audit = await auditedAs(ctx, 'mfa.disabled');
  await audit.store.db.tx(async (tx) => {
    await lockUser(tx, actor.userId);
    await mustSpend(store, tx, secret, entry);
    await removeFactors(tx, actor.userId);
    await setMfaEnabled(tx, actor.userId, null);
    await notify(tx, store, { userId: actor.userId, kind: 'mfa_disabled', address: browser.address });
  });
  return { object: 'mfa' as const, enabled: false as const, enabled_at: null };
}

/**
 * Turns off the second factor on behalf of an operator, for a person who has lost everything. Ends all sessions of that
 * person, including those of apps.
 */
export async function resetMfa(store: Store, email: string, notify: NotifyByMail): Promise<UserRow> {
  const { id } = await findNamedUser(store.db, email);
  return store.db.tx(async (tx) => {
    const user = await lockUser(tx, id);
    if (!user) throw notFound('User');
    if (user.mfa_enabled_at === null) {
      throw refuse('resource_locked', { say: `Two-factor authentication of ${user.email} is already off.` });
    }
    await removeFactors(tx, id);
    await setMfaEnabled(tx, id, null);
    await endSessionsOfUser(tx, id);
    await revokeGrantsOfUser(tx, id, { at: store.clock.now(), reason: 'operator' });
    await notify(tx, store, { userId: id, kind: 'mfa_reset', address: null });
    return { ...user, mfa_enabled_at: null };
  });
}

export async function replaceRecoveryCodes(ctx: UserCtx, { code }: { code: string }, notify: NotifyByMail) {
  const { store, actor, browser } = ctx;
  await mustBeBrowser(store.db, actor.sessionId);
  const entry = readAppCode(code);
  const secret = await ownSecret(ctx);
  await store.db.tx((tx) => countEntry(tx, actor.userId, 'code', store.clock.now()));
  const codes = newRecoveryCodes();
  const audit = await auditedAs(ctx, 'mfa.recovery_codes_replaced');
  await audit.store.db.tx(async (tx) => {
    await lockUser(tx, actor.userId);
    await mustSpend(store, tx, secret, entry);
    await replaceRecoveryHashes(tx, actor.userId, codes.map(hashOfRecoveryCode));
    await settleEntries(tx, actor.userId, 'code');
    await notify(tx, store, { userId: actor.userId, kind: 'recovery_codes_replaced', address: browser.address });
  });
  return { object: 'mfa_recovery_codes' as const, recovery_codes: codes };
}

export async function getMfa(ctx: UserCtx) {
  const { store } = ctx;
  const user = await ownUser(ctx);
  const at = user.mfa_enabled_at;
  return {
    object: 'mfa' as const,
    enabled: at !== null,
    enabled_at: at === null ? null : isoTime(at),
    enrolling: isPending(await findSecret(store.db, user.id), store.clock.now()),
    recovery_codes_remaining: await countRecoveryCodes(store.db, user.id),
    has_password: user.password_hash !== null,
  };
}

/**
 * Turns on the second factor. Ends all other sessions of the person and revokes their grants to apps, because these
 * began with the password alone.
 */
export async function confirmMfa(
  ctx: UserCtx,
  { code, password }: { code: string; password?: string },
  notify: NotifyByMail,
) {
  const { store, actor, browser } = ctx;
  const { db, clock } = store;
  await mustBeBrowser(db, actor.sessionId);
  const entry = readAppCode(code);
  const user = await ownUser(ctx);
  const secret = await findSecret(db, user.id);
  if (user.mfa_enabled_at !== null || !isPending(secret, clock.now())) throw nothingToConfirm(user);
  await mustShowPassword(ctx, user, password);
  await db.tx((tx) => countEntry(tx, user.id, 'code', clock.now()));
  const codes = newRecoveryCodes();
  const at = clock.now();
  const audit = await auditedAs(ctx, 'mfa.enabled');
  await audit.store.db.tx(async (tx) => {
    const locked = await lockUser(tx, user.id);
    if (locked?.mfa_enabled_at !== null || locked.password_hash !== user.password_hash) {
      throw nothingToConfirm(locked ?? user);
    }
    await mustSpend(store, tx, secret, entry);
    await confirmSecret(tx, secret.id, at);
    await setMfaEnabled(tx, user.id, at);
    await replaceRecoveryHashes(tx, user.id, codes.map(hashOfRecoveryCode));
    await settleEntries(tx, user.id, 'code');
    await endOtherSessions(tx, actor);
    await revokeGrantsOfUser(tx, user.id, { at, reason: 'user' });
    await notify(tx, store, { userId: user.id, kind: 'mfa_enabled', address: browser.address });
  });
  return { object: 'mfa' as const, enabled: true as const, enabled_at: isoTime(at), recovery_codes: codes };
}

/** Requires the password, because a stolen session alone must not be enough to lock its owner out. */
async function mustShowPassword({ store }: UserCtx, user: UserRow, password: string | undefined): Promise<void> {
  if (user.password_hash === null) {
    if (password === undefined) return;
    throw invalidField('password', 'password must be omitted, because you have no password.');
  }
  if (password === undefined) throw refuse('missing_required_field', { say: 'Missing required field: password.' });
  await mustBePassword(store, user, password);
}

const nothingToConfirm = ({ mfa_enabled_at: at }: UserRow) =>
  refuse('validation_error', {
    status: 422,
    say:
      at === null
        ? 'No authenticator app is waiting to be confirmed, or its setup was started more than an hour ago; set it up again.'
        : 'Two-factor authentication is already on.',
  });
