import fc from 'fast-check';
import { expect, it } from 'vitest';
import { readPixels, readQrCode } from '../rig/qr-code.ts';
import { base32, otpauthUrl } from '../../src/protocol/totp.ts';
import { qrSvg } from '../../src/protocol/qr-code.ts';

it('the QR code is read by an independent decoder as what was written, for any account and host', () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ minLength: 20, maxLength: 20 }),
      fc.emailAddress(),
      fc.domain(),
      (secret, account, host) => {
        const url = otpauthUrl({ issuer: `rasket ${host}`, account, secret: Buffer.from(secret) });
        fc.pre(url.length <= 500);
        expect(url).toContain(base32(Buffer.from(secret)));
        expect(readQrCode(readPixels(qrSvg(url, 'a code') ?? ''))).toBe(url);
      },
    ),
    { numRuns: 40 },
  );
});

it('the QR code contains only squares and none of the text', () => {
  const svg = qrSvg('otpauth://totp/"><script>alert(1)</script>?secret=AAAA', 'a code') ?? '';
  expect(svg).toMatch(/^<svg [\w"=:/.\- #]+><rect [\w"= #]+\/><path fill="#000" d="[Mhvz\d -]+"\/><\/svg>$/);
});

it('the QR code is left out for a text that no phone could read', () => {
  expect(qrSvg('x'.repeat(500), 'a code')).toContain('<svg');
  expect(qrSvg('x'.repeat(501), 'a code')).toBeUndefined();
});
