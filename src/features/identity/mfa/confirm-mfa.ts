import { isoTime } from '../../../platform/clock/index.ts';
import { invalidField, refuse } from '../../../platform/refusal/index.ts';
import type { UserCtx } from '../../../tenancy/access/index.ts';
import { revokeGrantsOfUser } from '../oauth/index.ts';
import { endOtherSessionsOf, mustBeBrowser } from '../../../tenancy/session-rows/index.ts';
import { lockUser, setMfaEnabled, type UserRow } from '../../../tenancy/users/index.ts';
import { isPending } from './enrol-mfa.ts';
import { countEntry, mustBePassword, mustSpend, readAppCode, settleEntries } from './entries.ts';
import { confirmSecret, replaceRecoveryHashes, secretOf } from './mfa.store.ts';
import { auditedAs, ownUser, type Tell } from './own-mfa.ts';
import { hashOfRecoveryCode, newRecoveryCodes } from './recovery-code.ts';

/** Sessions that began with the password alone end, but for this one; and what apps were let in to do by such a session. */
export async function confirmMfa(ctx: UserCtx, { code, password }: { code: string; password?: string }, tell: Tell) {
  const { store, actor, browser } = ctx;
  const { db, clock } = store;
  await mustBeBrowser(db, actor.sessionId);
  const entry = readAppCode(code);
  const user = await ownUser(ctx);
  const secret = await secretOf(db, user.id);
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
    await endOtherSessionsOf(tx, actor);
    await revokeGrantsOfUser(tx, user.id, { at, reason: 'user' });
    await tell(tx, store, { userId: user.id, kind: 'mfa_enabled', address: browser.address });
  });
  return { object: 'mfa' as const, enabled: true as const, enabled_at: isoTime(at), recovery_codes: codes };
}

/** A stolen session alone is not enough to lock its person out. */
async function mustShowPassword({ store }: UserCtx, user: UserRow, password: string | undefined): Promise<void> {
  if (user.password_hash === null) {
    if (password === undefined) return;
    throw invalidField('password', 'password must be left out: you have none.');
  }
  if (password === undefined) throw refuse('missing_required_field', { say: 'Missing required field: password.' });
  await mustBePassword(store, user, password);
}

const nothingToConfirm = ({ mfa_enabled_at: at }: UserRow) =>
  refuse('validation_error', {
    status: 422,
    say:
      at === null
        ? 'No app waits to be confirmed, or it was set up more than an hour ago; set it up again.'
        : 'The second factor is on already.',
  });
