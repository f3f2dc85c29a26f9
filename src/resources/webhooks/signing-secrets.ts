import type { World } from '../../platform/world/index.ts';
import { newWebhookSecret, webhookSecretBytes } from '../../protocol/webhook-signature/index.ts';
import type { WebhookRow } from './webhooks.store.ts';

type SecretColumns = Pick<WebhookRow, 'secret_sealed' | 'previous_secret_sealed' | 'previous_secret_until'>;

const PURPOSE = 'webhook signing secret';
const SHOWN_CHARS = 4;

/** A fresh secret, to be shown once, and how it is kept. */
export function newSigningSecret({ ids, secrets }: World): { secret: string; sealed: string } {
  const secret = newWebhookSecret(Buffer.from(ids.hex(webhookSecretBytes), 'hex'));
  return { secret, sealed: secrets.seal(secret, PURPOSE) };
}

/**
 * Every secret that signs at `now`: the endpoint's own first, then the one before it while its time lasts. Throws when its
 * own cannot be opened; one before it that cannot signs nothing, or a rotation would not mend what it is made for.
 */
export function signingSecretsOf(world: World, row: SecretColumns, now: number): string[] {
  const own = world.secrets.open(row.secret_sealed, PURPOSE);
  const { previous_secret_sealed: sealed, previous_secret_until: until } = row;
  const previous = sealed === null || until === null || until <= now ? undefined : openIfReadable(world, sealed);
  return previous === undefined ? [own] : [own, previous];
}

/** Enough to tell two secrets apart: 24 of its 192 bits. Of one that cannot be opened, nothing: the rest is still told. */
export function maskedSecretOf(world: World, row: SecretColumns): string {
  return `whsec_****${(openIfReadable(world, row.secret_sealed) ?? '').slice(-SHOWN_CHARS)}`;
}

function openIfReadable({ secrets }: World, sealed: string): string | undefined {
  try {
    return secrets.open(sealed, PURPOSE);
  } catch {
    // Altered, or sealed with the key of another installation.
    return undefined;
  }
}
