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

/** Every secret that signs at `now`: the endpoint's own first, then the one before it while its time lasts. */
export function signingSecretsOf({ secrets }: World, row: SecretColumns, now: number): string[] {
  const own = secrets.open(row.secret_sealed, PURPOSE);
  const { previous_secret_sealed: previous, previous_secret_until: until } = row;
  if (previous === null || until === null || until <= now) return [own];
  return [own, secrets.open(previous, PURPOSE)];
}

/** Enough to tell two secrets apart: 24 of its 192 bits. */
export function maskedSecretOf({ secrets }: World, row: SecretColumns): string {
  return `whsec_****${secrets.open(row.secret_sealed, PURPOSE).slice(-SHOWN_CHARS)}`;
}
