import { createHash, generateKeyPairSync, X509Certificate } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { usableTlsa, verifyDane } from './dane.ts';
import type { TlsaRecord } from './dns/index.ts';
import { selfSignedCertificate } from './x509.ts';

const NOW = Date.parse('2026-11-29T12:00:00Z');
const makeLeaf = (notAfter: string): X509Certificate =>
  new X509Certificate(
    selfSignedCertificate({
      names: ['mx.example'],
      notBefore: new Date('2026-01-01T00:00:00Z'),
      notAfter: new Date(notAfter),
      serial: Buffer.alloc(15, 7),
      ...generateKeyPairSync('ec', { namedCurve: 'prime256v1' }),
    }),
  );
const leaf = makeLeaf('2027-01-01T00:00:00Z');
const expired = makeLeaf('2026-02-01T00:00:00Z');

const digest = (algorithm: string, bytes: Buffer): Buffer => createHash(algorithm).update(bytes).digest();
const exportKey = (certificate: X509Certificate): Buffer =>
  certificate.publicKey.export({ type: 'spki', format: 'der' });
const record = (usage: number, selector: number, matching: number, association: Buffer): TlsaRecord => ({
  usage,
  selector,
  matching,
  association,
});

const FORMS: [number, number, (certificate: X509Certificate) => Buffer][] = [
  [0, 0, ({ raw }) => raw],
  [0, 1, ({ raw }) => digest('sha256', raw)],
  [0, 2, ({ raw }) => digest('sha512', raw)],
  [1, 0, exportKey],
  [1, 1, (certificate) => digest('sha256', exportKey(certificate))],
  [1, 2, (certificate) => digest('sha512', exportKey(certificate))],
];

test.each(FORMS)(
  'DANE-EE with selector %i and matching type %i identifies the certificate',
  (selector, matching, of) => {
    const verify = (certificate: X509Certificate) =>
      verifyDane({ chain: [certificate], records: [record(3, selector, matching, of(leaf))], names: [], now: NOW });
    expect(verify(leaf)).toEqual({ kind: 'match', usage: 3 });
    expect(verify(expired).kind).toBe('mismatch');
  },
);

test('DANE-EE matches an expired certificate for another name', () => {
  const records = [record(3, 1, 1, digest('sha256', exportKey(expired)))];
  expect(verifyDane({ chain: [expired], records, names: ['other.example'], now: NOW })).toEqual({
    kind: 'match',
    usage: 3,
  });
});

test('one of two records matches during a key rollover', () => {
  const records = [leaf, expired].map((certificate) => record(3, 1, 1, digest('sha256', exportKey(certificate))));
  for (const certificate of [leaf, expired]) {
    expect(verifyDane({ chain: [certificate], records, names: [], now: NOW }).kind).toBe('match');
  }
});

test('a digest with SHA-256 does not count next to one with SHA-512 for the same usage and selector', () => {
  const weak = record(3, 1, 1, digest('sha256', exportKey(leaf)));
  const verify = (strong: TlsaRecord) =>
    verifyDane({ chain: [leaf], records: [weak, strong], names: [], now: NOW }).kind;
  expect(verify(record(3, 1, 2, digest('sha512', exportKey(expired))))).toBe('mismatch');
  expect(verify(record(3, 0, 2, digest('sha512', expired.raw)))).toBe('match');
});

test.each<[string, TlsaRecord]>([
  ['PKIX-TA', record(0, 1, 1, Buffer.alloc(32))],
  ['PKIX-EE', record(1, 1, 1, digest('sha256', exportKey(leaf)))],
  ['an unknown usage', record(4, 1, 1, Buffer.alloc(32))],
  ['an unknown selector', record(3, 2, 1, Buffer.alloc(32))],
  ['an unknown matching type', record(3, 1, 3, Buffer.alloc(32))],
  ['a digest of 31 bytes', record(3, 1, 1, Buffer.alloc(31))],
  ['a SHA-512 digest of 32 bytes', record(3, 1, 2, Buffer.alloc(32))],
  ['a certificate cut short', record(3, 0, 0, leaf.raw.subarray(0, -1))],
  ['a certificate with a byte after it', record(2, 0, 0, Buffer.concat([leaf.raw, Buffer.from([0])]))],
  ['a certificate in PEM', record(2, 0, 0, Buffer.from(leaf.toString()))],
  ['a key that is a certificate', record(2, 1, 0, leaf.raw)],
])('a record with %s is not usable, and does not count', (_what, unusable) => {
  const good = record(3, 1, 1, digest('sha256', exportKey(leaf)));
  expect(usableTlsa([unusable, good])).toEqual([good]);
  expect(verifyDane({ chain: [leaf], records: [unusable], names: ['mx.example'], now: NOW })).toEqual({
    kind: 'mismatch',
    detail: "no TLSA record matches the server's certificate",
  });
});

test('a server without a certificate is a mismatch', () => {
  const records = [record(3, 1, 1, digest('sha256', exportKey(leaf)))];
  expect(verifyDane({ chain: [], records, names: [], now: NOW }).kind).toBe('mismatch');
});

test('any record is either not usable or does not match a certificate that it does not describe', () => {
  const uint8 = fc.integer({ min: 0, max: 3 });
  fc.assert(
    fc.property(uint8, uint8, uint8, fc.uint8Array({ maxLength: 80 }), (usage, selector, matching, bytes) => {
      const records = [record(usage, selector, matching, Buffer.from(bytes))];
      expect(verifyDane({ chain: [leaf, expired], records, names: ['mx.example'], now: NOW }).kind).toBe('mismatch');
    }),
  );
});
