import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';

const prefix = 'whsec_';

/** Standard Webhooks asks for 24 to 64 bytes; 24 need no base64 padding, which panels like to lose. */
export const webhookSecretBytes = 24;

/** `bytes` are 24 random ones: the caller's randomness, so that a test can know the secret. */
export function newWebhookSecret(bytes: Buffer): string {
  if (bytes.length !== webhookSecretBytes) {
    throw new Error(`a webhook secret is made of ${webhookSecretBytes} bytes, not of ${bytes.length}`);
  }
  return prefix + bytes.toString('base64');
}

/** The key behind a secret's text, to be kept by a caller that signs often. */
export function webhookKey(secret: string): KeyObject {
  const encoded = secret.startsWith(prefix) ? secret.slice(prefix.length) : '';
  const bytes = Buffer.from(encoded, 'base64');
  // Node's decoder skips what is no base64. A damaged secret would sign with another key without a word why.
  if (encoded === '' || bytes.toString('base64') !== encoded) {
    throw new Error('a webhook secret is "whsec_" followed by base64; this one is not');
  }
  return createSecretKey(bytes);
}

/** What is signed: the event's id (the same in every attempt and replay), the attempt's second, the exact body. */
export type WebhookMessage = { id: string; timestampSeconds: number; body: string };

export type WebhookHeaders = {
  'svix-id': string;
  'svix-timestamp': string;
  'svix-signature': string;
  'webhook-id': string;
  'webhook-timestamp': string;
  'webhook-signature': string;
};

/** One signature, `v1,<base64>`. Over HMAC-SHA256, of `<id>.<timestamp>.<body>`. */
export function signWebhook(secret: string | KeyObject, id: string, timestampSeconds: number, body: string): string {
  // Verifiers cut at the first two dots and read the time as a whole number of seconds.
  if (!Number.isSafeInteger(timestampSeconds)) {
    throw new Error(`a webhook is signed at a whole second, not at ${timestampSeconds}`);
  }
  const key = typeof secret === 'string' ? webhookKey(secret) : secret;
  return `v1,${createHmac('sha256', key).update(`${id}.${timestampSeconds}.${body}`).digest('base64')}`;
}

/**
 * The six headers of one delivery, a signature per secret: two while a rotated secret is still valid. They stand under
 * both names, because Svix's library asks for `svix-*` and Standard Webhooks' for `webhook-*`.
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
