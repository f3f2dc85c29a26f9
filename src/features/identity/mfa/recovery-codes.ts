import type { UserCtx } from '../../../tenancy/access/index.ts';
import { mustBeBrowser } from '../../../tenancy/session-rows/index.ts';
import { lockUser } from '../../../tenancy/users/index.ts';
import { countEntry, mustSpend, readAppCode, settleEntries } from './entries.ts';
import { replaceRecoveryHashes } from './mfa.store.ts';
import { auditedAs, ownSecret, type Tell } from './own-mfa.ts';
import { hashOfRecoveryCode, newRecoveryCodes } from './recovery-code.ts';

export async function replaceRecoveryCodes(ctx: UserCtx, { code }: { code: string }, tell: Tell) {
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
    await tell(tx, store, { userId: actor.userId, kind: 'recovery_codes_replaced', address: browser.address });
  });
  return { object: 'mfa_recovery_codes' as const, recovery_codes: codes };
}
