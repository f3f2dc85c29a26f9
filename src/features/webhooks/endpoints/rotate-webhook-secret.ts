import { notFound } from '../../../platform/refusal/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { newSigningSecret } from './signing-secrets.ts';
import { lockWebhook, setSecret } from './webhooks.store.ts';

const BOTH_SIGN_MS = 24 * 3_600_000;

/**
 * The new secret is shown this once, and the one before it goes on signing for a day. Of two rotations within a day the
 * first one's old secret ends with the second: a team that rotates twice has reason to.
 */
export async function rotateWebhookSecret(
  ctx: Ctx,
  id: string,
): Promise<{ object: 'webhook'; id: string; signing_secret: string }> {
  const { store, teamId } = ctx;
  const { secret, sealed } = newSigningSecret(store, id);
  await store.db.tx(async (tx) => {
    const locked = await lockWebhook(tx, teamId, id);
    if (!locked) throw notFound('Webhook');
    const previousUntil = store.clock.now() + BOTH_SIGN_MS;
    await setSecret(tx, id, { sealed, previous: locked.secret_sealed, previousUntil });
  });
  return { object: 'webhook', id, signing_secret: secret };
}
