import { notFound, refuse } from '../../../platform/refusal/index.ts';
import type { Store } from '../../../platform/store/index.ts';
import type { UserCtx } from '../../../tenancy/access/index.ts';
import { revokeGrantsOfUser } from '../oauth/index.ts';
import { endSessionsOf, mustBeBrowser } from '../../../tenancy/session-rows/index.ts';
import { findNamedUser, lockUser, setMfaEnabled, type UserRow } from '../../../tenancy/users/index.ts';
import { countEntry, mustSpend, readEitherCode } from './entries.ts';
import { removeFactors } from './mfa.store.ts';
import { auditedAs, ownSecret, type Tell } from './own-mfa.ts';

export async function disableMfa(ctx: UserCtx, { code }: { code: string }, tell: Tell) {
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
    await tell(tx, store, { userId: actor.userId, kind: 'mfa_disabled', address: browser.address });
  });
  return { object: 'mfa' as const, enabled: false as const, enabled_at: null };
}

/** By the operator, for a person who has lost everything. All sessions of that person end, those of apps too. */
export async function resetMfa(store: Store, email: string, tell: Tell): Promise<UserRow> {
  const { id } = await findNamedUser(store.db, email);
  return store.db.tx(async (tx) => {
    const user = await lockUser(tx, id);
    if (!user) throw notFound('User');
    if (user.mfa_enabled_at === null) {
      throw refuse('resource_locked', { say: `The second factor of ${user.email} is off already.` });
    }
    await removeFactors(tx, id);
    await setMfaEnabled(tx, id, null);
    await endSessionsOf(tx, id);
    await revokeGrantsOfUser(tx, id, { at: store.clock.now(), reason: 'operator' });
    await tell(tx, store, { userId: id, kind: 'mfa_reset', address: null });
    return { ...user, mfa_enabled_at: null };
  });
}
