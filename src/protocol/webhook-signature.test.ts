import { createHmac, randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { Webhook as SvixWebhook } from 'svix';
import { expect, test } from 'vitest';
import { newWebhookSecret, webhookHeaders, webhookKey, signWebhook } from './webhook-signature.ts';

const secret = newWebhookSecret(Buffer.from('0123456789abcdef01234567'));
const nowSeconds = () => Math.floor(Date.now() / 1000);

test('a webhook secret is whsec_ with the base64 of 24 bytes, and anything else is refused', () => {
  expect(secret).toBe('whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3');
  expect(webhookKey(secret).export().toString()).toBe('0123456789abcdef01234567');
  expect(() => newWebhookSecret(Buffer.alloc(23))).toThrow('23 bytes instead of 24');
  expect(() => newWebhookSecret(Buffer.alloc(25))).toThrow('25 bytes instead of 24');
  for (const damaged of ['', 'whsec_', 'MDEyMzQ1', 'whsec_MDEy MzQ1', 'whsec_MDEyMzQ=1', 'WHSEC_MDEyMzQ1']) {
    expect(() => webhookKey(damaged), damaged).toThrow('"whsec_" followed by base64');
  }
});

test('a webhook signature is the HMAC-SHA256 of id, second and body, joined by dots', () => {
  const expected = createHmac('sha256', '0123456789abcdef01234567')
    .update('msg_1.1700000000.{"a":"ä"}')
    .digest('base64');
  expect(signWebhook(secret, 'msg_1', 1_700_000_000, '{"a":"ä"}')).toBe(`v1,${expected}`);
  expect(signWebhook(webhookKey(secret), 'msg_1', 1_700_000_000, '{"a":"ä"}')).toBe(`v1,${expected}`);
  expect(() => signWebhook(secret, 'msg_1', 1_700_000_000.5, '')).toThrow('whole second');
});

// The libraries compute these values, so that both sides cannot share a mistake.
test('the libraries create the same signatures', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 24, maxLength: 24 }), fc.string({ unit: 'grapheme' }), (bytes, body) => {
      const made = newWebhookSecret(Buffer.from(bytes));
      const at = new Date(1_700_000_000_000);
      const ours = signWebhook(made, 'msg_1', 1_700_000_000, body);
      expect(ours).toBe(new SvixWebhook(made).sign('msg_1', at, body));
      expect(ours).toBe(new StandardWebhook(made).sign('msg_1', at, body));
    }),
  );
});

const verifiers = [
  { name: 'svix', open: (key: string) => new SvixWebhook(key) },
  { name: 'standardwebhooks', open: (key: string) => new StandardWebhook(key) },
] as const;

test.each(verifiers)('$name accepts one signature or either of two, and refuses changed messages', async ({ open }) => {
  const other = newWebhookSecret(randomBytes(24));
  const body = '{"type":"email.sent","data":{"subject":"Grüße 🎉 a.b.c"}}';
  const message = { id: 'msg_0123456789abcdef', timestampSeconds: nowSeconds(), body };
  const one = webhookHeaders([secret], message);
  const two = webhookHeaders([other, webhookKey(secret)], message);
  // Svix's library returns nothing where the other one returns the parsed body: what matters is that neither throws.
  const verify = async (key: string, text: string, headers: Record<string, string>) => {
    open(key).verify(text, headers);
    return 'verified';
  };

  await expect(verify(secret, body, one)).resolves.toBe('verified');
  await expect(verify(secret, body, two)).resolves.toBe('verified');
  await expect(verify(other, body, two)).resolves.toBe('verified');
  await expect(verify(other, body, one)).rejects.toThrow();
  await expect(verify(secret, body.replace('sent', 'Sent'), one)).rejects.toThrow();
  const later = { ...one, 'svix-timestamp': String(message.timestampSeconds + 1) };
  await expect(verify(secret, body, { ...later, 'webhook-timestamp': later['svix-timestamp'] })).rejects.toThrow();
  const old = webhookHeaders([secret], { ...message, timestampSeconds: message.timestampSeconds - 301 });
  await expect(verify(secret, body, old)).rejects.toThrow();
});

test('both header names have the same three values', () => {
  const headers = webhookHeaders([secret], { id: 'msg_1', timestampSeconds: 1, body: '' });
  expect(Object.keys(headers)).toHaveLength(6);
  for (const part of ['id', 'timestamp', 'signature'] as const) {
    expect(headers[`webhook-${part}`]).toBe(headers[`svix-${part}`]);
  }
});
