const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** RFC 4648 §6, without padding. */
export function base32(bytes: Uint8Array): string {
  let text = '';
  let [value, bits] = [0, 0];
  for (const byte of bytes) {
    value = (value << 8) | byte;
    for (bits += 8; bits >= 5; bits -= 5) text += LETTERS[(value >>> (bits - 5)) & 31] ?? '';
    value &= (1 << bits) - 1;
  }
  return bits > 0 ? text + (LETTERS[(value << (5 - bits)) & 31] ?? '') : text;
}

/** Undefined where a letter is none of Base32. */
export function fromBase32(text: string): Buffer | undefined {
  const bytes: number[] = [];
  let [value, bits] = [0, 0];
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
