import fc from 'fast-check';
import { expect, it } from 'vitest';
import { pixelsOf, readQrCode } from '../rig/qr-code.ts';
import { base32, otpauthUrl } from '../../src/protocol/totp.ts';
import { qrSvg } from '../../src/protocol/qr-code.ts';

it('is read as what was written by a decoder of others, for whichever account and host', () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ minLength: 20, maxLength: 20 }),
      fc.emailAddress(),
      fc.domain(),
      (secret, account, host) => {
        const url = otpauthUrl({ issuer: `rasket ${host}`, account, secret: Buffer.from(secret) });
        fc.pre(url.length <= 500);
        expect(url).toContain(base32(Buffer.from(secret)));
        expect(readQrCode(pixelsOf(qrSvg(url, 'a code') ?? ''))).toBe(url);
      },
    ),
    { numRuns: 40 },
  );
});

it('holds nothing of the text but squares', () => {
  const svg = qrSvg('otpauth://totp/"><script>alert(1)</script>?secret=AAAA', 'a code') ?? '';
  expect(svg).toMatch(/^<svg [\w"=:/.\- #]+><rect [\w"= #]+\/><path fill="#000" d="[Mhvz\d -]+"\/><\/svg>$/);
});

it('is not made of a text that no telephone could read', () => {
  expect(qrSvg('x'.repeat(500), 'a code')).toContain('<svg');
  expect(qrSvg('x'.repeat(501), 'a code')).toBeUndefined();
});
