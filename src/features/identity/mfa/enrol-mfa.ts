import { notFound, refuse } from '../../../platform/refusal/index.ts';
import { randomSecret } from '../../../platform/secrets/index.ts';
import { base32, otpauthUrl } from '../../../protocol/totp/index.ts';
import type { UserCtx } from '../../../tenancy/access/index.ts';
import { mustBeBrowser } from '../../../tenancy/session-rows/index.ts';
import { lockUser } from '../../../tenancy/users/index.ts';
import { replaceSecret, SEALED_MFA_SECRETS, type SecretRow } from './mfa.store.ts';

/** RFC 4226 §4: as long as what HMAC-SHA-1 makes. */
const SECRET_BYTES = 20;
export const PENDING_MS = 3_600_000;

export const isPending = (secret: SecretRow | undefined, now: number): secret is SecretRow =>
  secret !== undefined && secret.confirmed_at === null && secret.created_at > now - PENDING_MS;

export async function enrolMfa({ store, actor }: UserCtx) {
  const { db, clock, ids, secrets } = store;
  await mustBeBrowser(db, actor.sessionId);
  const secret = randomSecret(SECRET_BYTES);
  const [id, now] = [ids.uuid(), clock.now()];
  const sealed = secrets.seal(base32(secret), SEALED_MFA_SECRETS.purpose, id);
  const account = await db.tx(async (tx) => {
    const user = await lockUser(tx, actor.userId);
    if (!user) throw notFound('User');
    if (user.mfa_enabled_at !== null) {
      throw refuse('validation_error', { status: 422, say: 'The second factor is on; switch it off first.' });
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
