import { isoTime } from '../../../platform/clock/index.ts';
import type { UserCtx } from '../../../tenancy/access/index.ts';
import { isPending } from './enrol-mfa.ts';
import { countRecoveryCodes, secretOf } from './mfa.store.ts';
import { ownUser } from './own-mfa.ts';

export async function getMfa(ctx: UserCtx) {
  const { store } = ctx;
  const user = await ownUser(ctx);
  const at = user.mfa_enabled_at;
  return {
    object: 'mfa' as const,
    enabled: at !== null,
    enabled_at: at === null ? null : isoTime(at),
    enrolling: isPending(await secretOf(store.db, user.id), store.clock.now()),
    recovery_codes_remaining: await countRecoveryCodes(store.db, user.id),
    has_password: user.password_hash !== null,
  };
}
