import { execFileSync } from 'node:child_process';
import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import { expect, test } from 'vitest';
import { certificateRequest, selfSignedCertificate } from './x509.ts';
import { isIP } from 'node:net';

test.each([
  ['one name', ['mail.example.com']],
  ['many, in more than 255 bytes', Array.from({ length: 60 }, (_, index) => `host-${index}.example.com`)],
])('openssl accepts a certificate request for %s, with its signature and its names', (_why, names) => {
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

test.each([
  { why: 'one name', names: ['mail.example.com'], until: '2040-01-01T00:00:00.000Z' },
  { why: 'addresses', names: ['localhost', '127.0.0.1', '::1'], until: '2040-01-01T00:00:00.000Z' },
  { why: 'a time that UTCTime does not reach', names: ['a.example', 'b.example'], until: '2060-06-30T12:00:00.000Z' },
  { why: 'a name too long for a subject', names: [`${'a'.repeat(60)}.example.com`], until: '2049-12-31T23:59:59.000Z' },
])('Node.js reads the certificate for $why, and its signature is valid', ({ names, until }) => {
  const keys = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const notBefore = new Date('2020-02-29T00:00:00Z');
  const pem = selfSignedCertificate({
    names,
    notBefore,
    notAfter: new Date(until),
    serial: Buffer.alloc(15, 0xf7),
    ...keys,
  });
  const read = new X509Certificate(pem);
  expect(read.verify(keys.publicKey)).toBe(true);
  expect(read.checkPrivateKey(keys.privateKey)).toBe(true);
  expect(names.map((name) => (isIP(name) === 0 ? read.checkHost(name) : read.checkIP(name)))).toEqual(names);
  expect(read.validFromDate.toISOString()).toBe(notBefore.toISOString());
  expect(read.validToDate.toISOString()).toBe(until);
});
