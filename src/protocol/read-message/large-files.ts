import { MimeScanner, transferDecoder, type FilePart } from '../mime-read/index.ts';

/** Files of at least this size are decoded in place, because the parser holds what it decodes three times over. */
const LARGE_BYTES = 1024 * 1024;
const WINDOW_BYTES = 1024 * 1024;
const CR = 13;
const LF = 10;
const EQUALS = 61;

/** A message in which a word replaces each large file. */
export interface Lightened {
  raw: Buffer;
  /** Puts the files back in the place of the words; returns false unless each word is there unchanged exactly once. */
  restore(parts: { content: Uint8Array }[]): boolean;
}

/**
 * Returns undefined unless the message has a large file in the plain form that programs write, so that the result never
 * differs from the parser's.
 */
export function withoutLargeFiles(raw: Buffer): Lightened | undefined {
  if (raw.length < LARGE_BYTES) return undefined;
  const scanner = new MimeScanner();
  scanner.update(raw);
  scanner.end();
  if (scanner.fault !== undefined) return undefined;
  const files = scanner.files
    .filter((file) => isLarge(raw, file))
    .map((file, i) => ({ file, word: formatPlaceholder(i) }));
  if (files.length === 0) return undefined;
  const pieces: Buffer[] = [];
  let at = 0;
  for (const { file, word } of files) {
    pieces.push(raw.subarray(at, file.start), Buffer.from(word.toString('base64')));
    at = file.end;
  }
  pieces.push(raw.subarray(at));
  return {
    raw: Buffer.concat(pieces),
    restore(parts) {
      const found = files.map(({ file, word }) => ({ file, of: parts.filter(({ content }) => word.equals(content)) }));
      if (found.some(({ of }) => of.length !== 1)) return false;
      for (const { file, of } of found) for (const part of of) part.content = decoded(raw, file);
      return true;
    },
  };
}

const formatPlaceholder = (i: number): Buffer => Buffer.from(`A large file, number ${i}, is put here.`);

function isLarge(raw: Buffer, { contentType, encoding, start, end }: FilePart): boolean {
  if (encoding !== 'base64' || end - start < LARGE_BYTES || /^\s*(?:text|message|multipart)\//i.test(contentType)) {
    return false;
  }
  const isCut = end === raw.length || (raw[end] === CR && raw[end + 1] === LF);
  return isCut && isPlainBase64(raw, start, end);
}

const BASE64 = new Uint8Array(256);
for (const mark of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/') BASE64[mark.charCodeAt(0)] = 1;

/** Reports whether the lines are base64 in groups of four, padded only at the end. */
function isPlainBase64(raw: Buffer, start: number, end: number): boolean {
  let chars = 0;
  let padding = 0;
  for (let at = start; at < end; at++) {
    const byte = raw[at] ?? 0;
    if (byte === CR || byte === LF) continue;
    if (byte === EQUALS) padding++;
    else if (padding > 0 || BASE64[byte] !== 1) return false;
    chars++;
  }
  return padding <= 2 && chars % 4 === 0;
}

/** Decodes into a separate buffer, so that it can be transferred to another thread. */
function decoded(raw: Buffer, { encoding, start, end }: FilePart): Buffer {
  const decoder = transferDecoder(encoding);
  const whole = Buffer.allocUnsafeSlow(Math.ceil((end - start) / 4) * 3);
  let size = 0;
  for (let at = start; at < end; at += WINDOW_BYTES) {
    size += decoder.update(raw.subarray(at, Math.min(end, at + WINDOW_BYTES))).copy(whole, size);
  }
  size += decoder.end().copy(whole, size);
  return whole.subarray(0, size);
}
