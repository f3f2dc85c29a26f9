const lineBytes = 57;
const lineChars = 76;
const alphabet = Buffer.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/');
const pad = 61;

// Twelve bits become two characters in one store; the bytes are laid out through a byte view, so byte order does not
// matter.
const pairs = new Uint16Array(4096);
const pairBytes = new Uint8Array(pairs.buffer);
for (let bits = 0; bits < 4096; bits += 1) {
  pairBytes[bits * 2] = alphabet[bits >> 6] ?? 0;
  pairBytes[bits * 2 + 1] = alphabet[bits & 63] ?? 0;
}
const crlf = new Uint16Array(Uint8Array.of(13, 10).buffer)[0] ?? 0;

export function base64LinesLength(contentLength: number): number {
  const chars = Math.ceil(contentLength / 3) * 4;
  return chars + Math.ceil(chars / lineChars) * 2;
}

/**
 * Produces the same output as `base64Lines` of the whole content, however it is cut into pieces; holds one piece at a
 * time.
 */
export async function* base64Stream(content: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const piece of content) {
    const bytes = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    const whole = bytes.length - (bytes.length % lineBytes);
    if (whole > 0) yield base64Lines(bytes.subarray(0, whole));
    rest = bytes.subarray(whole);
  }
  if (rest.length > 0) yield base64Lines(rest);
}

/** Base64 in lines of 76 characters (RFC 2045 §6.8), every line ended by CRLF. */
export function base64Lines(content: Uint8Array): Buffer {
  const out = Buffer.allocUnsafeSlow(base64LinesLength(content.length));
  const words = new Uint16Array(out.buffer, 0, out.length >> 1);
  const whole = content.length - (content.length % 3);
  let at = 0;
  for (let start = 0; start < whole; start += lineBytes) {
    const end = Math.min(start + lineBytes, whole);
    for (let index = start; index < end; index += 3) {
      const bits = (content[index]! << 16) | (content[index + 1]! << 8) | content[index + 2]!;
      words[at] = pairs[bits >> 12]!;
      words[at + 1] = pairs[bits & 4095]!;
      at += 2;
    }
    if (end - start === lineBytes) words[at++] = crlf;
  }
  const rest = content.length - whole;
  if (rest > 0) {
    const bits = (content[whole]! << 16) | ((rest > 1 ? content[whole + 1]! : 0) << 8);
    words[at] = pairs[bits >> 12]!;
    words[at + 1] = pairs[bits & 4095]!;
    at += 2;
    out[at * 2 - 1] = pad;
    if (rest === 1) out[at * 2 - 2] = pad;
  }
  if (rest > 0 || whole % lineBytes !== 0) words[at] = crlf;
  return out;
}
