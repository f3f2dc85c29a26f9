// an account at an authority that takes only its customers (RFC 8555 §7.3.4)
import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { startWithAuthority } from './authority-scene.ts';

const KEY_ID = 'customer-17';
const hmacKey = randomBytes(32);
const given = (key: Buffer) => ({ eab_key_id: KEY_ID, eab_hmac_key: key.toString('base64url') });

it('an ACME account is bound to the external account of the settings, and a certificate is issued', async () => {
  await using at = await startWithAuthority(given(hmacKey));
  at.ca.plays.external = { keyId: KEY_ID, hmacKey };
  await at.look();
  expect(await at.listed()).toMatchObject([{ status: 'issued', last_error: null }]);
  expect(at.ca.violations).toEqual([]);
  expect(at.scene.log.join('')).not.toContain(hmacKey.toString('base64url'));
});

it('another external account key is refused, and without a key the missing settings are named', async () => {
  for (const [settings, says] of [
    [given(randomBytes(32)), /the binding has another HMAC/],
    [{ ...given(hmacKey), eab_key_id: 'customer-18' }, /head of the binding/],
    [{}, /set acme\.eab_key_id and acme\.eab_hmac_key/],
  ] as const) {
    await using at = await startWithAuthority(settings);
    at.ca.plays.external = { keyId: KEY_ID, hmacKey };
    await at.look();
    const [first] = await at.listed();
    expect(first?.last_error).toMatch(says);
    expect(at.ca.ordered).toEqual([]);
    expect(at.ca.violations).toEqual([]);
  }
});
