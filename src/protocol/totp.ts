import { createHmac, timingSafeEqual } from 'node:crypto';

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** RFC 4648 §6, without padding. */
export function base32(bytes: Uint8Array): string {
  let text = '';
  let value = 0;
  let bits = 0;
  for (const byte of bytes) {
    value = (value << 8) | byte;
    for (bits += 8; bits >= 5; bits -= 5) text += LETTERS[(value >>> (bits - 5)) & 31] ?? '';
    value &= (1 << bits) - 1;
  }
  return bits > 0 ? text + (LETTERS[(value << (5 - bits)) & 31] ?? '') : text;
}

/** Returns undefined if a letter is not in the Base32 alphabet. */
export function fromBase32(text: string): Buffer | undefined {
  const bytes: number[] = [];
  let value = 0;
  let bits = 0;
  for (const letter of text.replaceAll(/[\s=]/g, '').toUpperCase()) {
    const five = LETTERS.indexOf(letter);
    if (five < 0) return undefined;
    value = (value << 5) | five;
    bits += 5;
    if (bits < 8) continue;
    bits -= 8;
    bytes.push((value >>> bits) & 255);
    value &= (1 << bits) - 1;
  }
  return Buffer.from(bytes);
}

export const STEP_MS = 30_000;
const DIGITS = 6;

export const stepAt = (now: number): number => Math.floor(now / STEP_MS);

/** RFC 4226 §5.3, with the step as the counter. */
export function computeCode(secret: Uint8Array, step: number): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const mac = createHmac('sha1', secret).update(counter).digest();
  const offset = (mac.at(-1) ?? 0) & 15;
  const number = mac.readUInt32BE(offset) & 0x7fff_ffff;
  return `${number % 10 ** DIGITS}`.padStart(DIGITS, '0');
}

/**
 * Returns the step that a code belongs to: the current one, or a neighbor for a clock that is a little off. Steps up
 * to `after` are not accepted.
 */
export function matchingStep(
  secret: Uint8Array,
  code: string,
  { now, after }: { now: number; after: number | null },
): number | undefined {
  const given = Buffer.from(code);
  if (given.length !== DIGITS) return undefined;
  const current = stepAt(now);
  return [current - 1, current, current + 1].find(
    (step) => step > (after ?? -1) && timingSafeEqual(Buffer.from(computeCode(secret, step)), given),
  );
}

/** Returns the URL that apps read from a QR code, in the common format of Google Authenticator. */
export function otpauthUrl({
  issuer,
  account,
  secret,
}: {
  issuer: string;
  account: string;
  secret: Uint8Array;
}): string {
  const label = `${encodeURIComponent(issuer)}:${encodeURIComponent(account)}`;
  const issued = encodeURIComponent(issuer);
  return `otpauth://totp/${label}?secret=${base32(secret)}&issuer=${issued}&algorithm=SHA1&digits=${DIGITS}&period=${STEP_MS / 1000}`;
}
