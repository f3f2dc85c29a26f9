const CR = 13;
const EQUALS = 61;
const LF = 10;
const SPACE = 32;
const TAB = 9;

/** Decodes the text of a part; bytes that fit no character become U+FFFD. */
export function decodeText(bytes: Buffer, { encoding, charset }: { encoding: string; charset: string }): string {
  return decoderFor(charset, bytes)(decodeTransfer(bytes, encoding));
}

function decodeTransfer(bytes: Buffer, encoding: string): Buffer {
  // Node's decoder skips line ends and everything else that is not base64.
  if (encoding === 'base64') return Buffer.from(bytes.toString('latin1'), 'base64');
  return encoding === 'quoted-printable' ? decodeQuotedPrintable(bytes) : bytes;
}

/** RFC 2045 §6.7; an invalid escape stays as it is. */
function decodeQuotedPrintable(bytes: Buffer): Buffer {
  const out = Buffer.allocUnsafe(bytes.length);
  let to = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!;
    if (byte !== EQUALS) {
      if (byte === CR) to = withoutTrailingSpace(out, to);
      out[to++] = byte;
      continue;
    }
    const soft = softBreakAfter(bytes, at + 1);
    if (soft > 0) {
      at = soft;
      continue;
    }
    const value = Number.parseInt(bytes.toString('latin1', at + 1, at + 3), 16);
    const isEscape = /^[\dA-Fa-f]{2}$/.test(bytes.toString('latin1', at + 1, at + 3));
    out[to++] = isEscape ? value : byte;
    if (isEscape) at += 2;
  }
  return out.subarray(0, to);
}

/**
 * Removes literal spaces only: an escaped space is content, because nobody escapes one before a line end by accident.
 */
function withoutTrailingSpace(out: Buffer, end: number): number {
  while (end > 0 && (out[end - 1] === SPACE || out[end - 1] === TAB)) end--;
  return end;
}

/** Returns the position of the LF that ends a soft break; 0 if there is none. */
function softBreakAfter(bytes: Buffer, from: number): number {
  let at = from;
  while (bytes[at] === SPACE || bytes[at] === TAB) at++;
  if (bytes[at] === CR && bytes[at + 1] === LF) return at + 1;
  return 0;
}

function decoderFor(charset: string, bytes: Buffer): (bytes: Buffer) => string {
  const label = charset === '' || charset === 'us-ascii' ? 'utf-8' : charset;
  try {
    const decoder = new TextDecoder(label, { ignoreBOM: true });
    return (text) => decoder.decode(text);
  } catch {
    // An unknown charset is most often UTF-8 or Latin-1.
    const isUtf8 = Buffer.from(bytes.toString('utf8')).equals(bytes);
    return (text) => text.toString(isUtf8 ? 'utf8' : 'latin1');
  }
}

/** Decodes a part that comes piece by piece, cut anywhere. */
export interface TransferDecoder {
  update(piece: Buffer): Buffer;
  end(): Buffer;
}

const NOTHING = Buffer.alloc(0);

/** Decodes a Content-Transfer-Encoding (RFC 2045 §6); content with an unknown encoding, or none, is unchanged. */
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

/** Skips everything that is not base64. */
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

/** For encodings whose escapes never cross the end of a line; a soft break is one. */
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
