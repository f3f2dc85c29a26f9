import { createSecretKey, type KeyObject } from 'node:crypto';

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
