const wordCharsMax = 75;
// "=?UTF-8?B?" and "?=".
const frameChars = 12;
const frameQ = '=?UTF-8?Q?';
const frameB = '=?UTF-8?B?';

// RFC 2047 §5 (3): what may stand unencoded in a phrase, the strictest place.
const bareInQ = /[A-Za-z0-9!*+/-]/;

/**
 * Cuts text into encoded-words (RFC 2047), Q or B, whichever is shorter. The first may have `firstMax` characters,
 * the others 75. A code point is never split: each word must decode on its own (§5).
 */
export function encodeWords(text: string, firstMax: number = wordCharsMax): string[] {
  const wellFormed = text.toWellFormed();
  const bytes = Buffer.byteLength(wellFormed);
  let bare = 0;
  for (const char of wellFormed) if (char === ' ' || bareInQ.test(char)) bare += 1;
  const charsInQ = bare + (bytes - bare) * 3;
  const charsInB = Math.ceil(bytes / 3) * 4;
  return charsInQ <= charsInB ? encodeQ(wellFormed, firstMax) : encodeB(wellFormed, firstMax);
}

function encodeQ(text: string, firstMax: number): string[] {
  const words: string[] = [];
  let room = firstMax - frameChars;
  let word = '';
  for (const char of text) {
    const written = encodeCharQ(char);
    if (word.length + written.length > room) {
      words.push(`${frameQ}${word}?=`);
      word = '';
      room = wordCharsMax - frameChars;
    }
    word += written;
  }
  words.push(`${frameQ}${word}?=`);
  return words;
}

function encodeCharQ(char: string): string {
  if (char === ' ') return '_';
  if (char.length === 1 && bareInQ.test(char)) return char;
  let written = '';
  for (const byte of Buffer.from(char)) written += `=${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  return written;
}

function encodeB(text: string, firstMax: number): string[] {
  const words: string[] = [];
  let bytesMax = Math.floor((firstMax - frameChars) / 4) * 3;
  let part = '';
  let bytes = 0;
  for (const char of text) {
    const size = Buffer.byteLength(char);
    if (bytes + size > bytesMax) {
      words.push(`${frameB}${Buffer.from(part).toString('base64')}?=`);
      part = '';
      bytes = 0;
      bytesMax = Math.floor((wordCharsMax - frameChars) / 4) * 3;
    }
    part += char;
    bytes += size;
  }
  words.push(`${frameB}${Buffer.from(part).toString('base64')}?=`);
  return words;
}
