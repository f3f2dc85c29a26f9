import { gatherBytes } from './gathered-bytes.ts';

/** Decodes the body of a part that arrives in runs of lines, as `plainLines` returns them. */
export interface BodyDecoder {
  update(lines: Uint8Array): void;
  finalize(): Promise<ArrayBuffer>;
}

/**
 * Returns the decoder of a Content-Transfer-Encoding (RFC 2045 §6). It makes one pass over the bytes and allocates only
 * the result, whatever an untrusted sender wrote: the decoders of postal-mime make an object for each unit of base64
 * and each line of quoted-printable. The decoded bytes are the same.
 */
export function createBodyDecoder(encoding: string): BodyDecoder {
  if (encoding.includes('base64')) return base64Decoder();
  if (encoding.includes('quoted-printable')) return quotedPrintableDecoder();
  const gathered = gatherBytes();
  return {
    update(lines) {
      gathered.add(lines);
      gathered.add(LF_ALONE);
    },
    finalize: async () => gathered.join(),
  };
}

const LF = 10;
const EQUALS = 61;
const LF_ALONE = Buffer.from('\n');
const NO_DIGIT = 255;

const BASE64_DIGITS = digitValues('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/');
const HEX_DIGITS = digitValues('0123456789ABCDEF');
for (const digit of 'abcdef') HEX_DIGITS[digit.charCodeAt(0)] = HEX_DIGITS[digit.toUpperCase().charCodeAt(0)]!;

function digitValues(digits: string): Uint8Array {
  const values = new Uint8Array(256).fill(NO_DIGIT);
  for (let value = 0; value < digits.length; value++) values[digits.charCodeAt(value)] = value;
  return values;
}

/**
 * Decodes base64 and skips other characters. Padding ends a unit, and another may follow, because some programs pad
 * every line.
 */
function base64Decoder(): BodyDecoder {
  const gathered = gatherBytes();
  let bits = 0;
  let digits = 0;
  let out = new Uint8Array(0);

  /** Writes the complete bytes of an unfinished group, and returns where the next byte goes. */
  function endUnit(to: number): number {
    if (digits === 2) out[to++] = bits >> 4;
    if (digits === 3) {
      out[to++] = bits >> 10;
      out[to++] = bits >> 2;
    }
    bits = 0;
    digits = 0;
    return to;
  }

  return {
    update(lines) {
      // Four digits make three bytes; digits of a group that was started before count as well.
      const most = Math.ceil(lines.length / 4) * 3 + 3;
      if (out.length < most) out = new Uint8Array(most);
      let to = 0;
      for (let at = 0; at < lines.length; at++) {
        const byte = lines[at]!;
        const value = BASE64_DIGITS[byte]!;
        if (value === NO_DIGIT) {
          if (byte === EQUALS) to = endUnit(to);
          continue;
        }
        bits = (bits << 6) | value;
        if (++digits < 4) continue;
        out[to++] = bits >> 16;
        out[to++] = bits >> 8;
        out[to++] = bits;
        bits = 0;
        digits = 0;
      }
      gathered.add(out.subarray(0, to));
    },
    async finalize() {
      if (out.length < 3) out = new Uint8Array(3);
      gathered.add(out.subarray(0, endUnit(0)));
      return gathered.join();
    },
  };
}

/** Decodes quoted-printable (RFC 2045 §6.7); an invalid escape stays as it is. */
function quotedPrintableDecoder(): BodyDecoder {
  const gathered = gatherBytes();
  let out = new Uint8Array(0);
  return {
    update(lines) {
      if (out.length < lines.length + 1) out = new Uint8Array(lines.length + 1);
      let to = 0;
      let isSoft = false;
      for (let at = 0; at < lines.length; at++) {
        const byte = lines[at]!;
        isSoft = byte === EQUALS && (at + 1 === lines.length || lines[at + 1] === LF);
        if (isSoft) {
          at++;
          continue;
        }
        const high = byte === EQUALS ? HEX_DIGITS[lines[at + 1]!]! : NO_DIGIT;
        const low = byte === EQUALS ? (HEX_DIGITS[lines[at + 2]!] ?? NO_DIGIT) : NO_DIGIT;
        if (high === NO_DIGIT || low === NO_DIGIT) {
          out[to++] = byte;
          continue;
        }
        out[to++] = (high << 4) | low;
        at += 2;
      }
      if (!isSoft || lines.at(-1) === LF) out[to++] = LF;
      gathered.add(out.subarray(0, to));
    },
    finalize: async () => gathered.join(),
  };
}
