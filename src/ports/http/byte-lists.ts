import { nextTurn } from '../../platform/clock.ts';

/**
 * Clients of some languages write a file as a JSON list of its bytes. JSON.parse makes millions of values of it and blocks
 * the event loop for most of a second, so long lists of bytes are read from the text before it is parsed, in slices between
 * which other calls have their turn.
 */
export interface CutText {
  /** The text with a string in the place of each list. */
  bytes: Buffer;
  /** The lists that were cut out, by these strings. */
  lists: ReadonlyMap<string, Buffer>;
}

/** Shorter texts are parsed within a millisecond, and so are lists of fewer characters. */
const TEXT_BYTES_MIN = 64 * 1024;
const LIST_CHARS_MIN = 4096;
/** Characters that are read in one step. */
const SLICE = 256 * 1024;

export const mayHoldByteLists = (bytes: Buffer | undefined): bytes is Buffer =>
  bytes !== undefined && bytes.length > TEXT_BYTES_MIN;

/** Cuts long lists of bytes out of a JSON text. Whatever is not such a list stays for the parser and its errors. */
export async function cutByteLists(bytes: Buffer): Promise<CutText> {
  const lists = new Map<string, Buffer>();
  const kept: Buffer[] = [];
  let mark = 'bytes';
  while (bytes.includes(`"${mark} `)) mark += '_';
  let copiedTo = 0;
  let pauseAt = SLICE;
  for (let i = 0; i < bytes.length; i++) {
    if (i >= pauseAt) {
      await nextTurn();
      pauseAt = i + SLICE;
    }
    if (bytes[i] === QUOTE) i = findEndOfString(bytes, i + 1);
    else if (bytes[i] === OPEN_LIST && isDigit(bytes[i + 1])) {
      const list = await readByteList(bytes, i + 1);
      if (list === undefined || list.end - i < LIST_CHARS_MIN) continue;
      const name = `${mark} ${lists.size}`;
      lists.set(name, list.content);
      kept.push(bytes.subarray(copiedTo, i), Buffer.from(`"${name}"`));
      copiedTo = list.end + 1;
      i = list.end;
      pauseAt = i + SLICE;
    }
  }
  if (lists.size === 0) return { bytes, lists };
  return { bytes: Buffer.concat([...kept, bytes.subarray(copiedTo)]), lists };
}

/** Reads the numbers after a bracket up to the closing one; undefined when one of them is not a byte. */
async function readByteList(bytes: Buffer, from: number): Promise<{ content: Buffer; end: number } | undefined> {
  const chunks: Buffer[] = [];
  for (let at = from; ;) {
    // A byte takes two characters at least.
    const chunk = Buffer.allocUnsafe(SLICE / 2 + 1);
    const read = readSlice(bytes, at, chunk);
    if (read === undefined) return undefined;
    chunks.push(chunk.subarray(0, read.count));
    if (read.isOver) return { content: Buffer.concat(chunks), end: read.at };
    at = read.at;
    await nextTurn();
  }
}

/** Reads numbers into `chunk` until it is full or the list ends. */
function readSlice(
  bytes: Buffer,
  from: number,
  chunk: Buffer,
): { count: number; at: number; isOver: boolean } | undefined {
  let at = from;
  let count = 0;
  while (count < chunk.length) {
    while (isSpace(bytes[at])) at++;
    const begin = at;
    let value = 0;
    for (let byte = bytes[at]; isDigit(byte) && at - begin < 3; byte = bytes[++at]) value = value * 10 + byte - ZERO;
    const isByte = at > begin && value <= 255 && (bytes[begin] !== ZERO || at === begin + 1);
    if (!isByte) return undefined;
    chunk[count++] = value;
    while (isSpace(bytes[at])) at++;
    if (bytes[at] === CLOSE_LIST) return { count, at, isOver: true };
    if (bytes[at] !== COMMA) return undefined;
    at++;
  }
  return { count, at, isOver: false };
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const ZERO = 0x30;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;

const isDigit = (byte: number | undefined): byte is number => byte !== undefined && byte >= 0x30 && byte <= 0x39;
const isSpace = (byte: number | undefined): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

/** Returns the position of the quote that ends a string, or the end of the text if there is none. */
function findEndOfString(bytes: Buffer, from: number): number {
  for (let quote = bytes.indexOf(QUOTE, from); quote !== -1; quote = bytes.indexOf(QUOTE, quote + 1)) {
    let backslashes = 0;
    while (quote - backslashes > from && bytes[quote - backslashes - 1] === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return quote;
  }
  return bytes.length;
}

/** Puts lists into a parsed value in the place of their strings, as Buffers. */
export function placeByteLists(value: unknown, lists: CutText['lists']): void {
  replaceInside(value, (item) => (typeof item === 'string' ? lists.get(item) : undefined));
}

/** Turns Buffers that no field of the operation takes into the lists of numbers that were sent. */
export function restoreByteLists(value: unknown): void {
  replaceInside(value, (item) => (Buffer.isBuffer(item) ? [...item] : undefined));
}

function replaceInside(value: unknown, replace: (item: unknown) => unknown): void {
  if (typeof value !== 'object' || value === null || Buffer.isBuffer(value)) return;
  const fields = value as Record<string, unknown>;
  for (const [name, item] of Object.entries(fields)) {
    const other = replace(item);
    if (other !== undefined) {
      // `__proto__` is a name like any other to JSON.
      Object.defineProperty(fields, name, { value: other, writable: true, enumerable: true, configurable: true });
    } else if (typeof item === 'object' && !(Array.isArray(item) && typeof item[0] === 'number')) {
      replaceInside(item, replace);
    }
  }
}
