import { mustBeOneLine } from './header-field.ts';

// Many readers decode an encoded word (RFC 2047) wherever it stands, and would show another name than was written.
const plainFilename = /^(?!.*=\?)[\x20-\x7e]{1,60}$/;
const unreserved = /[A-Za-z0-9._~-]/;
const segmentCharsMax = 60;

/**
 * The `filename` parameters of a Content-Disposition, each to stand on its own line. A name that is not short ASCII
 * is written twice: whole by RFC 2231, and as an ASCII likeness for readers that know only the plain parameter.
 */
export function filenameParameters(filename: string): string[] {
  mustBeOneLine('Content-Disposition', filename);
  const name = filename.toWellFormed();
  if (plainFilename.test(name)) return [`filename=${quote(name)}`];
  return [`filename=${quote(asciiLikeness(name))}`, ...extendedParameters(name)];
}

function extendedParameters(name: string): string[] {
  const segments: string[] = [];
  let segment = "UTF-8''";
  for (const char of name) {
    const written = percentEncode(char);
    if (segment.length + written.length > segmentCharsMax) {
      segments.push(segment);
      segment = '';
    }
    segment += written;
  }
  segments.push(segment);
  if (segments.length === 1) return [`filename*=${segment}`];
  return segments.map((part, index) => `filename*${index}*=${part}`);
}

function percentEncode(char: string): string {
  if (char.length === 1 && unreserved.test(char)) return char;
  let written = '';
  for (const byte of Buffer.from(char)) written += `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  return written;
}

function asciiLikeness(name: string): string {
  const ascii = name
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .replace(/[^\x20-\x7e]|(?<==)\?/gu, '_');
  if (ascii.length <= segmentCharsMax) return ascii;
  const dot = ascii.lastIndexOf('.');
  const extension = dot > 0 && ascii.length - dot <= 12 ? ascii.slice(dot) : '';
  return ascii.slice(0, segmentCharsMax - extension.length) + extension;
}

function quote(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`;
}
