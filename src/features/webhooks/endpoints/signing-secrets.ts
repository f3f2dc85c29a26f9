import type { SealedColumn } from '../../../platform/secrets/index.ts';
import type { Store } from '../../../platform/store/index.ts';
import { newWebhookSecret, webhookSecretBytes } from '../../../protocol/webhook-signature/index.ts';
import type { WebhookRow } from './webhooks.store.ts';

type SecretColumns = Pick<WebhookRow, 'id' | 'secret_sealed' | 'previous_secret_sealed' | 'previous_secret_until'>;

const PURPOSE = 'webhook signing secret';
const SHOWN_CHARS = 4;

export const SEALED_WEBHOOK_SECRETS: readonly SealedColumn[] = [
  { table: 'webhooks', column: 'secret_sealed', purpose: PURPOSE },
  { table: 'webhooks', column: 'previous_secret_sealed', purpose: PURPOSE },
];

/** A fresh secret of an endpoint, to be shown once, and how it is kept. */
export function newSigningSecret({ ids, secrets }: Store, webhookId: string): { secret: string; sealed: string } {
  const secret = newWebhookSecret(Buffer.from(ids.hex(webhookSecretBytes), 'hex'));
  return { secret, sealed: secrets.seal(secret, PURPOSE, webhookId) };
}

/**
 * Every secret that signs at `now`: the endpoint's own first, then the one before it while its time lasts. Throws when its
 * own cannot be opened; one before it that cannot signs nothing, or a rotation would not mend what it is made for.
 */
export function signingSecretsOf(store: Store, row: SecretColumns, now: number): string[] {
  const own = store.secrets.open(row.secret_sealed, PURPOSE, row.id);
  const { previous_secret_sealed: sealed, previous_secret_until: until } = row;
  const previous =
    sealed === null || until === null || until <= now ? undefined : openIfReadable(store, sealed, row.id);
  return previous === undefined ? [own] : [own, previous];
}

/** Enough to tell two secrets apart: 24 of its 192 bits. Of one that cannot be opened, nothing: the rest is still told. */
export function maskedSecretOf(store: Store, row: SecretColumns): string {
  return `whsec_****${(openIfReadable(store, row.secret_sealed, row.id) ?? '').slice(-SHOWN_CHARS)}`;
}

function openIfReadable({ secrets }: Store, sealed: string, webhookId: string): string | undefined {
  try {
    return secrets.open(sealed, PURPOSE, webhookId);
  } catch {
    // Altered, or sealed with the key of another installation.
    return undefined;
  }
}
