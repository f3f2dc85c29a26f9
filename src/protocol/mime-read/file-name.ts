import { decodeText } from './decode-text.ts';
import { fileNameLine, shortLine } from './one-line.ts';
import { readStructured } from './structured.ts';

const BYTES_MAX = 255;

/** What a part calls its file: by RFC 2231, by an encoded word as many programs write it, or plainly; null for nothing. */
export function fileName(disposition: string, type: string, decodeWords: (text: string) => string): string | null {
  const name = parameter(disposition, 'filename', decodeWords) ?? parameter(type, 'name', decodeWords);
  const line = shortLine(fileNameLine(name ?? ''), BYTES_MAX);
  return line === '' ? null : line;
}

function parameter(field: string, name: string, decodeWords: (text: string) => string): string | undefined {
  const { parameters } = readStructured(field);
  const extended = parameters.get(`${name}*`);
  if (extended !== undefined) return decodeExtended(extended);
  const pieces: string[] = [];
  let isExtended = false;
  for (let i = 0; ; i++) {
    const encoded = parameters.get(`${name}*${i}*`);
    const piece = encoded ?? parameters.get(`${name}*${i}`);
    if (piece === undefined) break;
    isExtended ||= encoded !== undefined;
    pieces.push(encoded === undefined ? encodeURIComponent(piece.toWellFormed()) : piece);
  }
  if (pieces.length > 0) {
    const text = pieces.join('');
    return isExtended ? decodeExtended(text) : decodeExtended(`utf-8''${text}`);
  }
  const plain = parameters.get(name);
  return plain === undefined ? undefined : decodeWords(plain);
}

/** `charset'language'percent-encoded`. */
function decodeExtended(text: string): string {
  const [, charset = '', encoded = text] = /^([^']*)'[^']*'(.*)$/s.exec(text) ?? [];
  const bytes = Buffer.from(
    encoded.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  );
  return decodeText(bytes, { encoding: '', charset: charset.toLowerCase() });
}
