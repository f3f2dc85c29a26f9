/** Wider than RFC 2047 §2 has it: some decode it with spaces, quotes and question marks in it. */
const ENCODED_WORD = /=\?([^?]{1,80})\?([bq])\?(.{0,998}?)\?=(?:\s+(?==\?))?/gi;
const QUOTED_STRING = /"(?:[^"\\]|\\.)*"/gs;
const QUOTED_BRACKETS = /<[^<>]*@[^<>]*>/;
const BRACKETED = /<([^<>]*@[^<>]*)>/g;
const BARE = /[^\s,;:<>()"]+@[^\s,;:<>()"]+/g;

/**
 * Quoted strings and brackets come before encoded words (RFC 2047 §6.2). Whether a reader that has it the other way round,
 * and takes a word for what is in it or for a word, would come to the same address; `line` is without comments.
 */
export function isSameDecodedFirst(line: string): boolean {
  if (!line.includes('=?')) return true;
  if (line.match(QUOTED_STRING)?.some((quoted) => QUOTED_BRACKETS.test(quoted))) return false;
  const own = addressesIn(line);
  const isOwn = (text: string): boolean => addressesIn(text).join() === own.join();
  return isOwn(line.replace(ENCODED_WORD, 'word')) && isOwn(line.replace(ENCODED_WORD, decoded));
}

/** As a reader finds them that forgives everything. */
function addressesIn(line: string): string[] {
  const pieces = line.replace(QUOTED_STRING, 'word').split(/[,;]/);
  return pieces.flatMap((piece) => {
    const bracketed = [...piece.matchAll(BRACKETED)].map(([, address = '']) => address.trim());
    return bracketed.length > 0 ? bracketed : (piece.match(BARE) ?? []);
  });
}

function decoded(_: string, charset: string, encoding: string, text: string): string {
  const bytes = encoding.toLowerCase() === 'b' ? Buffer.from(text, 'base64') : quotedBytes(text);
  try {
    return new TextDecoder(charset.replace(/\*.*/s, '')).decode(bytes);
  } catch {
    return bytes.toString('latin1');
  }
}

function quotedBytes(text: string): Buffer {
  const plain = Buffer.from(text.replaceAll('_', ' ')).toString('latin1');
  const byte = (_: string, hex: string): string => String.fromCharCode(parseInt(hex, 16));
  return Buffer.from(plain.replace(/=([\dA-F]{2})/gi, byte), 'latin1');
}
