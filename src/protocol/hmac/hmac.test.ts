import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { hmacSha256 } from './index.ts';

// RFC 4231, cases 1, 2, 3, 6 and 7: key, data, and the MAC in hexadecimal.
test.each([
  ['0b'.repeat(20), Buffer.from('Hi There'), 'b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7'],
  [
    Buffer.from('Jefe').toString('hex'),
    'what do ya want for nothing?',
    '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
  ],
  ['aa'.repeat(20), Buffer.alloc(50, 0xdd), '773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe'],
  [
    'aa'.repeat(131),
    'Test Using Larger Than Block-Size Key - Hash Key First',
    '60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54',
  ],
  [
    'aa'.repeat(131),
    'This is a test using a larger than block-size key and a larger than block-size data. The key needs to be hashed before being used by the HMAC algorithm.',
    '9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2',
  ],
])('with the key %.8s… the MAC is that of RFC 4231', (key, data, mac) => {
  expect(hmacSha256(Buffer.from(key, 'hex'))(data, 'binary')).toBe(Buffer.from(mac, 'hex').toString('binary'));
});

test('it is what Node answers, whatever was signed before and however long it is', () => {
  const keys = [Buffer.alloc(32, 7), Buffer.alloc(64, 8), Buffer.alloc(65, 9)];
  const ours = keys.map(hmacSha256);
  const text = fc.string({ unit: 'grapheme', maxLength: 5000, size: 'max' });
  const bytes = fc.uint8Array({ maxLength: 9000, size: 'max' });
  fc.assert(
    fc.property(fc.nat(2), fc.oneof(text, bytes), (which, data) => {
      const expected = createHmac('sha256', keys[which] ?? '').update(data);
      expect(ours[which]?.(data, 'base64')).toBe(expected.digest('base64'));
    }),
  );
});

test.each([2730, 2731, 8192, 8193])('%d characters of three bytes each are signed whole', (length) => {
  const [key, data] = [Buffer.alloc(32, 1), '€'.repeat(length)];
  expect(hmacSha256(key)(data, 'base64')).toBe(createHmac('sha256', key).update(data).digest('base64'));
});
