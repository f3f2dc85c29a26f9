import { execFileSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { expect, test } from 'vitest';
import { certificateRequest } from './index.ts';

test.each([
  ['one name', ['mail.example.com']],
  ['many, in more than 255 bytes', Array.from({ length: 60 }, (_, index) => `host-${index}.example.com`)],
])('openssl takes a request for %s, with its signature and its names', (_why, names) => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const input = certificateRequest({ names, privateKey });
  const ask = (...args: string[]): string =>
    execFileSync('openssl', ['req', '-inform', 'DER', '-noout', ...args], { input, encoding: 'utf8', stdio: 'pipe' });
  expect(() => ask('-verify')).not.toThrow();
  const text = ask('-text');
  expect(text.match(/DNS:[^,\n]+/g)).toEqual(names.map((name) => `DNS:${name}`));
  expect(ask('-pubkey').trim()).toBe(publicKey.export({ type: 'spki', format: 'pem' }).toString().trim());
  const damaged = Buffer.from(input);
  damaged[damaged.length - 1] = (damaged.at(-1) ?? 0) ^ 1;
  const verify = ['req', '-inform', 'DER', '-noout', '-verify'];
  const said = (bytes: Buffer) =>
    execFileSync('sh', ['-c', `openssl ${verify.join(' ')} 2>&1 || true`], { input: bytes, encoding: 'utf8' });
  expect(said(input)).toMatch(/verify OK|self-signature verify OK/i);
  expect(said(damaged)).not.toMatch(/verify OK/i);
});
