import { readFields, readStructured } from './header-fields.ts';

/** A text of the body that a reader sees: not an attachment, and not in an enclosed message. */
export interface TextPart {
  type: 'text/plain' | 'text/html';
  /** Start of the part's own head; equal to `start` if its head is the message's. */
  headStart: number;
  /** Range of the encoded content, counted from the first byte of the message. */
  start: number;
  end: number;
  encoding: string;
  charset: string;
  /** The part is signed or encrypted, so changing any byte breaks its signature. */
  isSealed: boolean;
}

/** A file of the body: an attachment or anything else that is not shown as text. */
export interface FilePart {
  /** The header values as written; empty if the part has none. */
  contentType: string;
  disposition: string;
  contentId: string;
  encoding: string;
  start: number;
  end: number;
}

interface Multipart {
  boundary: string;
  isSealed: boolean;
}

interface OpenPart extends Omit<TextPart, 'end'> {}

const HEAD_BYTES_MAX = 256 * 1024;
const PART_HEAD_BYTES_MAX = 64 * 1024;
const PARTS_MAX = 1000;
const DEPTH_MAX = 50;
/** RFC 2046 §5.1.1: a boundary has at most 70 characters, so only the start of a line is examined. */
const LINE_START_MAX = 256;
const LF = 10;
const DASH = 45;
const NOTHING = Buffer.alloc(0);

/**
 * Finds the head and the texts of a message that comes in pieces, cut anywhere. It buffers heads and the start of a
 * line, never a body.
 */
export class MimeScanner {
  readonly texts: TextPart[] = [];
  readonly files: FilePart[] = [];
  #offset = 0;
  #lineStart = 0;
  #line: Buffer[] = [];
  #lineBytes = 0;
  #head: Buffer[] = [];
  #headBytes = 0;
  #headStart = 0;
  #isInHead = true;
  #stack: Multipart[] = [];
  #open: OpenPart | undefined;
  #openFile: Omit<FilePart, 'end'> | undefined;
  #parts = 0;
  #top: Buffer | undefined;
  #bodyStart: number | undefined;
  #fault: string | undefined;

  /** The head of the message without its empty line, as soon as it is complete. */
  get head(): Buffer | undefined {
    return this.#top;
  }

  /** Offset of the body. */
  get bodyStart(): number | undefined {
    return this.#bodyStart;
  }

  get fault(): string | undefined {
    return this.#fault;
  }

  update(piece: Buffer): void {
    let at = 0;
    while (at < piece.length) {
      at = this.#skipBody(piece, at);
      if (at === piece.length) return;
      const lf = piece.indexOf(LF, at);
      const end = lf < 0 ? piece.length : lf + 1;
      this.#keep(piece.subarray(at, end));
      this.#offset += end - at;
      at = end;
      if (lf >= 0) this.#endLine();
    }
  }

  /**
   * Returns the start of the next line that may be a boundary, or of the line that the end of the piece cuts. Examining
   * every line would make a message of empty lines cost a hundred times as much as others of its size.
   */
  #skipBody(piece: Buffer, at: number): number {
    if (this.#isInHead || this.#lineBytes > 0) return at;
    if (piece[at] === DASH && (at + 1 === piece.length || piece[at + 1] === DASH)) return at;
    const boundary = this.#stack.length > 0 ? piece.indexOf('\n--', at) : -1;
    const lf = boundary >= 0 ? boundary : piece.lastIndexOf(LF);
    if (lf < at) return at;
    this.#offset += lf + 1 - at;
    this.#lineStart = this.#offset;
    return lf + 1;
  }

  end(): void {
    if (this.#lineBytes > 0) this.#endLine();
    if (this.#isInHead) this.#endHead(this.#offset);
    this.#close(this.#offset);
  }

  #keep(bytes: Buffer): void {
    // In a body, only a line that may be a boundary is examined.
    const isBodyText = !this.#isInHead && (this.#lineBytes === 0 ? bytes[0] !== DASH : this.#line.length === 0);
    if (isBodyText) {
      this.#lineBytes += bytes.length;
      return;
    }
    const max = this.#isInHead ? HEAD_BYTES_MAX : LINE_START_MAX;
    // Copy the bytes, so that they do not keep the much larger piece in memory.
    if (this.#lineBytes < max) this.#line.push(Buffer.from(bytes.subarray(0, max - this.#lineBytes)));
    this.#lineBytes += bytes.length;
  }

  #endLine(): void {
    const line = this.#line.length < 2 ? (this.#line[0] ?? NOTHING) : Buffer.concat(this.#line);
    const start = this.#lineStart;
    const bytes = this.#lineBytes;
    [this.#line, this.#lineBytes, this.#lineStart] = [[], 0, this.#offset];
    if (this.#isInHead) this.#headLine(line, bytes);
    else if (this.#stack.length > 0 && line[0] === DASH && line[1] === DASH) this.#maybeBoundary(line, start);
  }

  #headLine(line: Buffer, bytes: number): void {
    const isEmpty = bytes <= 2 && line.toString('latin1').trim() === '';
    if (isEmpty) return this.#endHead(this.#offset);
    // A boundary ends a head that has no empty line.
    if (this.#top && line[0] === DASH && line[1] === DASH && this.#boundaryAt(line) >= 0) {
      this.#endHead(this.#lineStart - bytes);
      return this.#maybeBoundary(line, this.#lineStart - bytes);
    }
    this.#headBytes += bytes;
    const max = this.#top ? PART_HEAD_BYTES_MAX : HEAD_BYTES_MAX;
    if (this.#headBytes > max) this.#fault ??= `its headers have more than ${max} bytes`;
    else this.#head.push(line);
  }

  #endHead(bodyStart: number): void {
    const head = Buffer.concat(this.#head);
    const headStart = this.#headStart;
    [this.#head, this.#headBytes, this.#isInHead] = [[], 0, false];
    const isTop = this.#top === undefined;
    if (isTop) [this.#top, this.#bodyStart] = [head, bodyStart];
    const fields = readFields(head);
    // The reader of the message reports faults in its head.
    const found = 'fault' in fields ? [] : fields;
    const field = (name: string): string => found.find(({ lower }) => lower === name)?.value ?? '';
    const { value: type, parameters } = readStructured(field('content-type') || 'text/plain');
    const isSealed = this.#stack.some((multipart) => multipart.isSealed);
    const boundary = parameters.get('boundary') ?? '';
    if (type.startsWith('multipart/') && boundary !== '' && this.#stack.length < DEPTH_MAX) {
      const seals = type === 'multipart/signed' || type === 'multipart/encrypted';
      this.#stack.push({ boundary, isSealed: isSealed || seals });
      return;
    }
    const isText = type === 'text/plain' || type === 'text/html';
    const disposition = field('content-disposition');
    const encoding = field('content-transfer-encoding').trim().toLowerCase();
    if (!isText || readStructured(disposition).value === 'attachment') {
      const contentType = field('content-type');
      const contentId = field('content-id');
      this.#openFile = { contentType, disposition, contentId, encoding, start: bodyStart };
      return;
    }
    this.#open = {
      type,
      headStart: isTop ? bodyStart : headStart,
      start: bodyStart,
      encoding,
      charset: (parameters.get('charset') ?? '').toLowerCase(),
      isSealed,
    };
  }

  #boundaryAt(line: Buffer): number {
    const text = line.toString('latin1').trimEnd().slice(2);
    return this.#stack.findLastIndex(({ boundary }) => text === boundary || text === `${boundary}--`);
  }

  #maybeBoundary(line: Buffer, start: number): void {
    const at = this.#boundaryAt(line);
    const multipart = this.#stack[at];
    if (!multipart) return;
    // The line end before a boundary belongs to it (RFC 2046 §5.1.1).
    this.#close(start - 2);
    const isLast = line.toString('latin1').trimEnd().slice(2) !== multipart.boundary;
    this.#stack.length = isLast ? at : at + 1;
    if (isLast) return;
    if (++this.#parts > PARTS_MAX) {
      this.#fault ??= `it has more than ${PARTS_MAX} parts`;
      this.#stack = [];
      return;
    }
    [this.#isInHead, this.#headStart] = [true, this.#offset];
  }

  #close(end: number): void {
    if (this.#open) this.texts.push({ ...this.#open, end: Math.max(end, this.#open.start) });
    if (this.#openFile) this.files.push({ ...this.#openFile, end: Math.max(end, this.#openFile.start) });
    [this.#open, this.#openFile] = [undefined, undefined];
  }
}
