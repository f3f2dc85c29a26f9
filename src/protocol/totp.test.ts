import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { base32, computeCode, fromBase32, matchingStep, otpauthUrl, stepAt, STEP_MS } from './totp.ts';

const secret = Buffer.from('12345678901234567890');

// The codes are from RFC 6238, appendix B: the last six of its eight digits.
it.each([
  [59, '287082'],
  [1111111109, '081804'],
  [1111111111, '050471'],
  [1234567890, '005924'],
  [2000000000, '279037'],
  [20000000000, '353130'],
])('the TOTP code at %i seconds is %s', (seconds, code) =>
  expect(computeCode(secret, stepAt(seconds * 1000))).toBe(code),
);

// The codes are from RFC 4226, appendix D.
it.each(['755224', '287082', '359152', '969429', '338314', '254676', '287922', '162583', '399871', '520489'])(
  'the code %s of RFC 4226 belongs to its counter',
  (code) => {
    const counts = Array.from({ length: 10 }, (_, count) => computeCode(secret, count));
    expect(counts).toContain(code);
  },
);

describe('a TOTP code', () => {
  const now = 1_700_000_015_000;
  const current = stepAt(now);
  const at = (step: number, after: number | null = null) =>
    matchingStep(secret, computeCode(secret, step), { now, after });

  it('is accepted one step early and late, and no further', () => {
    expect([-2, -1, 0, 1, 2].map((off) => at(current + off))).toEqual([
      undefined,
      current - 1,
      current,
      current + 1,
      undefined,
    ]);
  });

  it('is not accepted for a used step or an older one', () => {
    expect([-1, 0, 1].map((off) => at(current + off, current))).toEqual([undefined, undefined, current + 1]);
  });

  it.each(['', '12345', '1234567', 'abcdef', '１２３４５６'])('cannot be %j', (code) => {
    expect(matchingStep(secret, code, { now, after: null })).toBeUndefined();
  });
});

it('base32 follows RFC 4648 section 10, and any bytes can be decoded again', () => {
  const words = ['', 'f', 'fo', 'foo', 'foob', 'fooba', 'foobar'].map((word) => base32(Buffer.from(word)));
  expect(words).toEqual(['', 'MY', 'MZXQ', 'MZXW6', 'MZXW6YQ', 'MZXW6YTB', 'MZXW6YTBOI']);
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      expect(fromBase32(base32(bytes).toLowerCase())).toEqual(Buffer.from(bytes));
    }),
  );
  expect(fromBase32('MZXW 6YTB OI==')).toEqual(Buffer.from('foobar'));
  expect(fromBase32('MZXW1')).toBeUndefined();
});

it('an authenticator app reads issuer, account and secret with any characters', () => {
  const url = new URL(otpauthUrl({ issuer: 'rasket a.example', account: 'a+b&c@example.com', secret }));
  expect([url.host, url.pathname]).toEqual(['totp', '/rasket%20a.example:a%2Bb%26c%40example.com']);
  expect(Object.fromEntries(url.searchParams)).toEqual({
    secret: base32(secret),
    issuer: 'rasket a.example',
    algorithm: 'SHA1',
    digits: '6',
    period: `${STEP_MS / 1000}`,
  });
});
