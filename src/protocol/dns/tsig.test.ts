import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeMessage, encodeMessage, questionMessage, type DnsMessage } from './message.ts';
import { signMessage, TSIG_ALGORITHMS, verifyMessage, type TsigKey } from './tsig.ts';

const NOW = 1_800_000_000;
const key: TsigKey = { name: 'rasket.Key', algorithm: 'hmac-sha256', secret: Buffer.alloc(32, 7) };
const request = questionMessage(4711, 'example.com', 'SOA', { recursionDesired: false });
const answer: DnsMessage = { ...request, isAnswer: true };
const requestMac = Buffer.alloc(32, 1);

test.each(TSIG_ALGORITHMS)(
  'a message that was signed with %s is accepted, and its signature is removed',
  (algorithm) => {
    const signed = signMessage(answer, { ...key, algorithm }, NOW, requestMac);
    expect(verifyMessage(signed.bytes, { ...key, algorithm, name: 'RASKET.key.' }, NOW, requestMac)).toEqual({
      ok: true,
      message: answer,
    });
  },
);

test('a relay may change the id of a message, because the signature contains the original one', () => {
  const { bytes } = signMessage(answer, key, NOW, requestMac);
  bytes.writeUInt16BE(1, 0);
  expect(verifyMessage(bytes, key, NOW, requestMac)).toMatchObject({ ok: true, message: { id: 1 } });
});

test('one changed bit anywhere except in the id is not accepted', () => {
  const { bytes } = signMessage(answer, key, NOW, requestMac);
  fc.assert(
    fc.property(fc.integer({ min: 2, max: bytes.length - 1 }), fc.integer({ min: 0, max: 7 }), (at, bit) => {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ (1 << bit);
      // The letter case of the key's name does not count (RFC 8945 §4.2).
      const verdict = verifyMessage(changed, key, NOW, requestMac);
      if (verdict.ok) expect(/[A-Za-z]/.test(String.fromCharCode(changed[at] ?? 0)) && bit === 5).toBe(true);
    }),
  );
});

test('bytes that are not a DNS message are refused', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
      expect(verifyMessage(Buffer.from(bytes), key, NOW).ok).toBe(false);
    }),
  );
});

const wrong: [string, Partial<TsigKey>, string][] = [
  ['another secret', { secret: Buffer.alloc(32, 8) }, 'signature is wrong'],
  ['another name', { name: 'other.key' }, 'signed with the key'],
  ['another algorithm', { algorithm: 'hmac-sha512' }, 'not with hmac-sha512'],
];
test.each(wrong)('a response that was signed with %s is refused', (_what, change, why) => {
  const { bytes } = signMessage(answer, key, NOW, requestMac);
  expect(verifyMessage(bytes, { ...key, ...change }, NOW, requestMac)).toMatchObject({
    ok: false,
    fault: expect.stringContaining(why),
  });
});

test('a response to another request is refused', () => {
  const { bytes } = signMessage(answer, key, NOW, Buffer.alloc(32, 2));
  expect(verifyMessage(bytes, key, NOW, requestMac)).toEqual({ ok: false, fault: 'Its signature is wrong.' });
});

test.each([
  [-301, false],
  [-300, true],
  [300, true],
  [301, false],
])('the acceptance of a response signed %i seconds from now is %s', (seconds, ok) => {
  const { bytes } = signMessage(answer, key, NOW + seconds, requestMac);
  expect(verifyMessage(bytes, key, NOW, requestMac).ok).toBe(ok);
});

test('a response without a signature is refused with its rcode', () => {
  const bytes = encodeMessage({ ...answer, rcode: 5 });
  expect(verifyMessage(bytes, key, NOW)).toEqual({ ok: false, fault: 'It is not signed; it says REFUSED.' });
});

test('a signature that was cut to half its length is refused', () => {
  const signed = decodeMessage(signMessage(answer, key, NOW, requestMac).bytes);
  const data = signed.additionals[0]?.data;
  if (data?.type !== 'opaque') throw new Error('no signature');
  const at = data.bytes.indexOf(Buffer.from([0, 32]), 13);
  data.bytes = Buffer.concat([
    data.bytes.subarray(0, at),
    Buffer.from([0, 16]),
    data.bytes.subarray(at + 2, at + 18),
    data.bytes.subarray(at + 34),
  ]);
  expect(verifyMessage(encodeMessage(signed), key, NOW, requestMac)).toEqual({
    ok: false,
    fault: 'Its signature is wrong.',
  });
});
