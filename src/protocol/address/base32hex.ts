// RFC 4648 §7, in one letter case: some receivers fold the local part of an address.
const alphabet = '0123456789abcdefghijklmnopqrstuv';

/** The first so many characters. */
export function base32hex(bytes: Buffer, chars: number): string {
  let text = '';
  for (let index = 0; index < chars; index += 1) {
    const bit = index * 5;
    const pair = ((bytes[bit >> 3] ?? 0) << 8) | (bytes[(bit >> 3) + 1] ?? 0);
    text += alphabet.charAt((pair >> (11 - (bit & 7))) & 31);
  }
  return text;
}

export function fromBase32hex(text: string): Buffer {
  const bytes = Buffer.alloc(Math.floor((text.length * 5) / 8));
  for (let index = 0; index < text.length; index += 1) {
    const bit = index * 5;
    const value = alphabet.indexOf(text.charAt(index)) << (11 - (bit & 7));
    const at = bit >> 3;
    bytes[at] = (bytes[at] ?? 0) | (value >> 8);
    if (at + 1 < bytes.length) bytes[at + 1] = (bytes[at + 1] ?? 0) | (value & 255);
  }
  return bytes;
}

export function uuidOfBytes(bytes: Buffer): string {
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
