import { expect, it } from 'vitest';
import { pixelsOfLines, readQrCode } from '../rig/qr-code.ts';
import { qrLines } from '../../cli/output/terminal.ts';

const URL = `otpauth://totp/rasket%20mail.example.com:ada%40example.com?secret=${'JBSWY3DP'.repeat(4)}&issuer=rasket%20mail.example.com&algorithm=SHA1&digits=6&period=30`;

it('the QR code is read by an independent decoder as what was written', async () => {
  const lines = (await qrLines({ columns: 80 }, URL)) ?? [];
  expect(readQrCode(pixelsOfLines(lines))).toBe(URL);
  expect(new Set(lines.map((line) => line.length))).toEqual(new Set([lines[0]?.length]));
});

it('the QR code is left out when it would not fit', async () => {
  const width = (await qrLines({ columns: 80 }, URL))?.[0]?.length ?? 0;
  expect(await qrLines({ columns: width }, URL)).toBeDefined();
  expect(await qrLines({ columns: width - 1 }, URL)).toBeUndefined();
  expect(await qrLines({ columns: 1000 }, 'x'.repeat(5000))).toBeUndefined();
});
