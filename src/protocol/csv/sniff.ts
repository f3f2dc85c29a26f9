export type Encoding = 'utf-8' | 'utf-16le' | 'utf-16be' | 'windows-1252';

/**
 * `isDamaged`: the text is UTF-8 except for some invalid bytes, such as a character that a tool cut in half. `sample`
 * is the beginning of the file; `isCut` is set if the file continues after it.
 */
export type Sniffed =
  | { ok: true; encoding: Encoding; isDamaged: boolean; sample: string; isCut: boolean }
  | { ok: false; fault: string };

export interface Sniffer {
  push(chunk: Uint8Array): void;
  end(): Sniffed;
}

const SAMPLE_BYTES = 64 * 1024;

/** Magic bytes of other formats that are often uploaded by mistake. */
const SIGNATURES: readonly (readonly [bytes: string, what: string])[] = [
  ['504b0304', 'an XLSX or another ZIP file; save it as CSV first'],
  ['d0cf11e0', 'an old Excel file (XLS); save it as CSV first'],
  ['25504446', 'a PDF'],
  ['1f8b', 'a gzip file; unpack it first'],
  ['89504e47', 'a PNG image'],
  ['ffd8ff', 'a JPEG image'],
  ['47494638', 'a GIF image'],
  ['7f454c46', 'a program'],
  ['7b5c727466', 'an RTF document; save it as CSV first'],
  ['377abcaf', 'a 7-Zip file; unpack it first'],
];

/**
 * Creates a sniffer that determines the format of a file as it is streamed; it only keeps the beginning of the file.
 */
export const createSniffer = (): Sniffer => new FileSniffer();

class FileSniffer implements Sniffer {
  readonly #head: Uint8Array[] = [];
  #headBytes = 0;
  #isCut = false;
  readonly #utf8 = new Utf8Detector();

  push(chunk: Uint8Array): void {
    const room = SAMPLE_BYTES - this.#headBytes;
    if (room > 0) {
      this.#head.push(chunk.slice(0, room));
      this.#headBytes += Math.min(chunk.length, room);
    }
    this.#isCut ||= chunk.length > room;
    this.#utf8.push(chunk);
  }

  end(): Sniffed {
    this.#utf8.end();
    const head = Buffer.concat(this.#head);
    if (head.length === 0) return { ok: false, fault: 'the file is empty' };
    const hex = head.subarray(0, 8).toString('hex');
    const signature = SIGNATURES.find(([bytes]) => hex.startsWith(bytes));
    if (signature) return { ok: false, fault: `the file is ${signature[1]}` };
    const isMarked = head.subarray(0, 3).toString('hex') === 'efbbbf';
    const encoding = detectUtf16(head) ?? (isMarked || this.#utf8.isMost() ? 'utf-8' : 'windows-1252');
    const isDamaged = encoding === 'utf-8' && !this.#utf8.isWhole();
    const sample = new TextDecoder(encoding).decode(head);
    const fault = textFault(sample, encoding);
    return fault === undefined ? { ok: true, encoding, isDamaged, sample, isCut: this.#isCut } : { ok: false, fault };
  }
}

/**
 * Counts valid and invalid UTF-8 sequences beyond ASCII: a file in another encoding hardly contains valid ones by
 * chance.
 */
class Utf8Detector {
  #decoder = new TextDecoder('utf-8', { fatal: true });
  #whole = 0;
  #broken = 0;

  push(chunk: Uint8Array): void {
    this.#count(chunk, true);
  }

  end(): void {
    this.#count(new Uint8Array(), false);
  }

  isWhole = (): boolean => this.#broken === 0;
  isMost = (): boolean => this.#broken === 0 || this.#whole > this.#broken;

  #count(chunk: Uint8Array, stream: boolean): void {
    if (this.#broken === 0) {
      try {
        this.#whole += chunk.length - this.#decoder.decode(chunk, { stream }).length;
        return;
      } catch {
        this.#decoder = new TextDecoder('utf-8');
      }
    }
    for (const [char] of this.#decoder.decode(chunk, { stream }).matchAll(/[^\0-\x7f]/gu)) {
      if (char === '\uFFFD') this.#broken++;
      else this.#whole++;
    }
    // The invalid bytes may have been at the end of the previous chunk.
    if (this.#broken === 0) this.#broken = 1;
  }
}

/** Detects UTF-16 by its byte order mark, or by every second byte being NUL, as in most tables. */
function detectUtf16(head: Buffer): Encoding | undefined {
  if (head[0] === 0xff && head[1] === 0xfe) return 'utf-16le';
  if (head[0] === 0xfe && head[1] === 0xff) return 'utf-16be';
  const pairs = Math.min(head.length >> 1, 1000);
  const nuls = [0, 0];
  for (let at = 0; at < pairs * 2; at++) if (head[at] === 0) nuls[at % 2] = (nuls[at % 2] ?? 0) + 1;
  const [even = 0, odd = 0] = nuls;
  if (odd > pairs * 0.6 && even === 0) return 'utf-16le';
  if (even > pairs * 0.6 && odd === 0) return 'utf-16be';
  return undefined;
}

function textFault(sample: string, encoding: Encoding): string | undefined {
  const start = sample.replace(/^\uFEFF/, '').trimStart();
  if (start === '') return 'the file is empty';
  if (/^(?:<!doctype html|<html|<head|<body|<table)/i.test(start)) return 'the file is an HTML page, not a CSV file';
  if (/^(?:<\?xml|<)/.test(start)) return 'the file is XML, not a CSV file';
  if (/^[[{]/.test(start)) return 'the file is JSON, not a CSV file';
  // Tables have no control characters except tabs and line ends; tolerate a few broken rows.
  const strange = start.match(/[\0-\x08\x0e-\x1f]/g)?.length ?? 0;
  const isBinary = strange > start.length * (encoding === 'windows-1252' ? 0.002 : 0.05);
  return isBinary ? 'the file is binary, not a CSV file' : undefined;
}

/**
 * Normalizes the line ends of a text that comes in pieces to line feeds; a CR at the end of a piece waits for the next
 * one.
 */
type RowEnds = (piece: string) => string;

/**
 * For files of unknown origin: normalizes every line end, including those in quoted values, wherever the quotes are.
 */
export function allEnds(): RowEnds {
  let endedInReturn = false;
  return (piece) => {
    const text = endedInReturn && piece.startsWith('\n') ? piece.slice(1) : piece;
    if (piece !== '') endedInReturn = piece.endsWith('\r');
    return fed(text);
  };
}

/**
 * For our exports, whose quotes are well-formed: normalizes only the line ends between rows, so that values are
 * unchanged.
 */
export function endsOutside(quote: string): RowEnds {
  let isInside = false;
  let held = '';
  return (piece) => {
    const text = held + piece;
    held = text.endsWith('\r') ? '\r' : '';
    const parts = text.slice(0, text.length - held.length).split(quote);
    const out = parts.map((part, i) => (isInside === (i % 2 === 0) ? part : fed(part)));
    if (parts.length % 2 === 0) isInside = !isInside;
    return out.join(quote);
  };
}

const fed = (text: string): string => (text.includes('\r') ? text.replaceAll(/\r\n?/g, '\n') : text);
