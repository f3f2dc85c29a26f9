import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';

const prefix = 'whsec_';

/** Standard Webhooks asks for 24 to 64 bytes; 24 need no base64 padding, which panels often drop. */
export const webhookSecretBytes = 24;

/** `bytes` are 24 random bytes from the caller, so that a test can know the secret. */
export function newWebhookSecret(bytes: Buffer): string {
  if (bytes.length !== webhookSecretBytes) {
    throw new Error(`the webhook secret has ${bytes.length} bytes instead of ${webhookSecretBytes}`);
  }
  return prefix + bytes.toString('base64');
}

/** Returns the key encoded in a secret; a caller that signs often should keep it. */
export function webhookKey(secret: string): KeyObject {
  const encoded = secret.startsWith(prefix) ? secret.slice(prefix.length) : '';
  const bytes = Buffer.from(encoded, 'base64');
  // Node's decoder skips invalid characters. A damaged secret would silently sign with another key.
  if (encoded === '' || bytes.toString('base64') !== encoded) {
    throw new Error('the webhook secret is not "whsec_" followed by base64');
  }
  return createSecretKey(bytes);
}

/** The signed content: the event's id (the same in every attempt and replay), the attempt's second, the exact body. */
export type WebhookMessage = { id: string; timestampSeconds: number; body: string };

export type WebhookHeaders = {
  'svix-id': string;
  'svix-timestamp': string;
  'svix-signature': string;
  'webhook-id': string;
  'webhook-timestamp': string;
  'webhook-signature': string;
};

/** Returns one signature, `v1,<base64>`: HMAC-SHA256 of `<id>.<timestamp>.<body>`. */
export function signWebhook(secret: string | KeyObject, id: string, timestampSeconds: number, body: string): string {
  // Verifiers cut at the first two dots and read the time as a whole number of seconds.
  if (!Number.isSafeInteger(timestampSeconds)) {
    throw new Error(`the webhook timestamp ${timestampSeconds} is not a whole second`);
  }
  const key = typeof secret === 'string' ? webhookKey(secret) : secret;
  return `v1,${createHmac('sha256', key).update(`${id}.${timestampSeconds}.${body}`).digest('base64')}`;
}

/**
 * Returns the six headers of one delivery, with a signature per secret: two while a rotated secret is still valid. They
 * have both sets of names, because Svix's library reads `svix-*` and Standard Webhooks' reads `webhook-*`.
 */
export function webhookHeaders(secrets: readonly (string | KeyObject)[], message: WebhookMessage): WebhookHeaders {
  const { id, timestampSeconds, body } = message;
  const signature = secrets.map((secret) => signWebhook(secret, id, timestampSeconds, body)).join(' ');
  const timestamp = String(timestampSeconds);
  return {
    'svix-id': id,
    'svix-timestamp': timestamp,
    'svix-signature': signature,
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signature,
  };
}
