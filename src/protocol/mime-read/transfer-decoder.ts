import { decodeQuotedPrintable } from './decode-text.ts';

/** Decodes a part that comes piece by piece, cut anywhere. */
export interface TransferDecoder {
  update(piece: Buffer): Buffer;
  end(): Buffer;
}

const NOTHING = Buffer.alloc(0);
const LF = 10;

/** Content-Transfer-Encoding (RFC 2045 §6); what is not known, or no encoding, goes through as it is. */
export function transferDecoder(encoding: string): TransferDecoder {
  switch (encoding) {
    case 'base64':
      return base64Decoder();
    case 'quoted-printable':
      return linesDecoder(decodeQuotedPrintable);
    default:
      return { update: (piece) => piece, end: () => NOTHING };
  }
}

/** Whatever is no base64 is passed over. */
function base64Decoder(): TransferDecoder {
  let held = '';
  return {
    update(piece) {
      const text = held + piece.toString('latin1').replace(/[^A-Za-z0-9+/]+/g, '');
      const whole = text.length - (text.length % 4);
      held = text.slice(whole);
      return Buffer.from(text.slice(0, whole), 'base64');
    },
    end: () => Buffer.from(held, 'base64'),
  };
}

/** Its escapes never stand over the end of a line, but a soft break is one. */
function linesDecoder(decode: (bytes: Buffer) => Buffer): TransferDecoder {
  let held = NOTHING;
  return {
    update(piece) {
      const lf = piece.lastIndexOf(LF);
      if (lf < 0) {
        held = Buffer.concat([held, piece]);
        return NOTHING;
      }
      const lines = Buffer.concat([held, piece.subarray(0, lf + 1)]);
      held = Buffer.from(piece.subarray(lf + 1));
      return decode(lines);
    },
    end: () => decode(held),
  };
}
