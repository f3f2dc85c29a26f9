import PostalMime from 'postal-mime';
import { createBodyDecoder, type BodyDecoder } from './body-decoder.ts';

const TAB = 9;
const LF = 10;
const CR = 13;
const SPACE = 32;
const DASH = 45;
/** Maximum size of lines that are processed together. */
const RUN_BYTES = 64 * 1024;

/** Returns the end of the line that begins at `from`, after its LF. */
function endOfLine(raw: Buffer, from: number): number {
  const lf = raw.indexOf(LF, from);
  return lf < 0 ? raw.length : lf + 1;
}

/**
 * Returns the end of a run of lines from `from` on that contains no delimiter; if the first line is a delimiter, its
 * own end.
 */
function endOfLines(raw: Buffer, from: number, boundaries: readonly Uint8Array[]): number {
  const isDelimiter = (at: number): boolean => boundaries.some((boundary) => delimits(raw, at, boundary));
  if (isDelimiter(from)) return endOfLine(raw, from);
  const last = raw.lastIndexOf(LF, from + RUN_BYTES);
  const end = from + RUN_BYTES >= raw.length ? raw.length : last < from ? endOfLine(raw, from) : last + 1;
  if (boundaries.length === 0) return end;
  const run = raw.subarray(from, end);
  for (let lf = run.indexOf('\n--'); lf >= 0; lf = run.indexOf('\n--', lf + 3)) {
    if (isDelimiter(from + lf + 1)) return from + lf + 1;
  }
  return end;
}

/**
 * A delimiter is two hyphens, the boundary, two more hyphens for the last one, and nothing but spaces after that (RFC
 * 2046 §5.1.1).
 */
function delimits(raw: Buffer, start: number, boundary: Uint8Array): boolean {
  if (raw[start] !== DASH || raw[start + 1] !== DASH) return false;
  let at = start + 2;
  for (const byte of boundary) if (raw[at++] !== byte) return false;
  if (raw[at] === DASH && raw[at + 1] === DASH) at += 2;
  while (raw[at] === SPACE || raw[at] === TAB) at++;
  while (raw[at] === CR) at++;
  return at >= raw.length || raw[at] === LF;
}

/** Returns lines that end with LF alone, the last one without it. */
export function plainLines(raw: Buffer, from: number, end: number): Uint8Array<ArrayBuffer> {
  const lines = new Uint8Array(end - from);
  let to = 0;
  for (let at = from; at < end; at++) {
    const byte = raw[at] ?? 0;
    if (byte === LF) while (to > 0 && lines[to - 1] === CR) to--;
    lines[to++] = byte;
  }
  if (lines[to - 1] === LF) to--;
  else while (to > 0 && lines[to - 1] === CR) to--;
  return lines.subarray(0, to);
}

/** Members of postal-mime's parts that its types do not declare. */
interface Part {
  parentNode?: Part;
  childNodes: Part[];
  state: 'header' | 'body' | 'finished';
  contentType: { multipart: string | false; parsed: Structured };
  contentDisposition: { parsed: Structured };
  contentTransferEncoding: { encoding: string };
  contentDecoder: BodyDecoder | null;
  content: ArrayBuffer | null;
  decodeFlowedText(text: string, isDelSp: boolean): string;
  finalize(): Promise<void>;
}

interface Structured {
  value: string;
  params: Record<string, string | undefined>;
}

/**
 * Changes postal-mime in three ways: a part with a file name is a file, a body is read in runs of lines (each call
 * costs it some 15 µs) by our decoders, and format=flowed is decoded by RFC 3676. The version of postal-mime is pinned,
 * because the members overridden here are not part of its stable API.
 */
export class MessageParser extends PostalMime {
  declare root: Part;
  declare currentNode: Part;
  declare boundaries: { value: Uint8Array }[];
  declare av: Uint8Array;
  declare readPos: number;
  readonly #ourDecoders = new WeakSet<BodyDecoder>();

  /** Called after the last line was read, before the parts are sorted into texts and files. */
  async finalize(): Promise<void> {
    await this.root.finalize();
    for (const part of this.root.childNodes) asLeaf(part);
  }

  readLine(): { bytes: Uint8Array; done: boolean } {
    const { av, readPos: from, currentNode: part } = this;
    if (part.state === 'body' && part.contentDecoder && !this.#ourDecoders.has(part.contentDecoder)) {
      part.contentDecoder = createBodyDecoder(part.contentTransferEncoding.encoding);
      this.#ourDecoders.add(part.contentDecoder);
    }
    const raw = Buffer.from(av.buffer, av.byteOffset, av.byteLength);
    const boundaries = this.boundaries.map(({ value }) => value);
    this.readPos = part.state === 'header' ? endOfLine(raw, from) : endOfLines(raw, from, boundaries);
    return { bytes: plainLines(raw, from, this.readPos), done: this.readPos >= raw.length };
  }

  async collectNode(part: Part, alternative: Part | false, related: boolean): Promise<void> {
    // The lines of a large text are not joined, because parsing it would take ten times its memory.
    if ((part.content?.byteLength ?? 0) > FLOWED_BYTES_MAX) part.contentType.parsed.params['format'] = '';
    part.decodeFlowedText = decodeFlowedText;
    await COLLECT.call(this, part, alternative, related);
    // The text has been converted to a string by now.
    if (part.contentType.multipart === false && this.isInlineTextNode(part)) part.content?.transfer(0);
  }

  isInlineTextNode(part: Part): boolean {
    const { value } = part.contentType.parsed;
    const isText = value === 'text/plain' || value === 'text/html';
    return isText && part.contentDisposition.parsed.value !== 'attachment' && !isNamedFile(part);
  }
}

const FLOWED_BYTES_MAX = 4 * 1024 * 1024;
const COLLECT = (PostalMime.prototype as unknown as Pick<MessageParser, 'collectNode'>).collectNode;

/** A multipart without any part still has a body. */
function asLeaf(part: Part): void {
  for (const child of part.childNodes) asLeaf(child);
  if (part.contentType.multipart === false || part.childNodes.length > 0) return;
  const isFile = part.contentDisposition.parsed.value === 'attachment' || hasTypeName(part) || hasFileName(part);
  part.contentType.multipart = false;
  part.contentType.parsed.value = isFile ? 'application/octet-stream' : 'text/plain';
}

/** Excludes the message itself, alternatives of a text, and the root to which related parts belong. */
function isNamedFile(part: Part): boolean {
  const { parentNode: parent } = part;
  if (!parent || parent.contentType.multipart === 'alternative') return false;
  if (parent.childNodes[0] !== part) return hasTypeName(part) || hasFileName(part);
  // Some programs give a name to the text at the beginning.
  return parent.contentType.multipart === 'mixed' && hasFileName(part);
}

const hasFileName = (part: Part): boolean => (part.contentDisposition.parsed.params['filename'] ?? '') !== '';
const hasTypeName = (part: Part): boolean => (part.contentType.parsed.params['name'] ?? '') !== '';

/**
 * Joins the lines of a text with `format=flowed` (RFC 3676 §4.1). Quote marks are removed before lines are joined,
 * lines of different quote depth are never joined, and a signature separator remains a line of its own. Each quoted
 * line of the result has its marks and one space.
 */
export function decodeFlowedText(text: string, isDelSp: boolean): string {
  const out: string[] = [];
  /** The quote depth of a line that ended with a soft break; undefined after a hard break. */
  let flowedDepth: number | undefined;
  for (let from = 0; from < text.length;) {
    const lf = text.indexOf('\n', from);
    const end = lf < 0 ? text.length : lf;
    const line = readLine(text.slice(from, text[end - 1] === '\r' ? end - 1 : end), isDelSp);
    const isJoined = flowedDepth === line.depth && !line.isSignature;
    if (flowedDepth !== undefined && !isJoined) out.push('\n');
    if (!isJoined && line.depth > 0) out.push('>'.repeat(line.depth), line.content === '' ? '' : ' ');
    out.push(line.content);
    flowedDepth = line.isFlowed ? line.depth : undefined;
    // A soft break at the end of the text joins nothing.
    if (lf >= 0 && (!line.isFlowed || lf === text.length - 1)) out.push('\n');
    from = end + 1;
  }
  return out.join('');
}

interface FlowedLine {
  depth: number;
  content: string;
  isFlowed: boolean;
  isSignature: boolean;
}

function readLine(line: string, isDelSp: boolean): FlowedLine {
  let depth = 0;
  while (line[depth] === '>') depth++;
  const unstuffed = line.slice(line[depth] === ' ' ? depth + 1 : depth);
  const isSignature = unstuffed === '-- ';
  const isFlowed = unstuffed.endsWith(' ') && !isSignature;
  return { depth, content: isFlowed && isDelSp ? unstuffed.slice(0, -1) : unstuffed, isFlowed, isSignature };
}
