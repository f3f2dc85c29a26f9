import { isAscii } from 'node:buffer';

const NUL = 0;
const LF = 10;
const CR = 13;

/**
 * Checks a message, piece by piece, for content that must not be sent. A CR or LF alone ends no line, but some
 * receivers treat it as a line end and would read what follows as commands or as another message (SMTP smuggling; RFC
 * 5321 §2.3.8).
 */
export class ContentCheck {
  #isAscii = true;
  #line = 1;
  #endsInCr = false;
  #fault: string | undefined;
  #longLine: string | undefined;
  /** Length of the current line so far. */
  #lineBytes = 0;

  update(piece: Buffer): void {
    if (this.#isAscii && !isAscii(piece)) this.#isAscii = false;
    if (this.#fault === undefined && piece.length > 0) this.#check(piece);
  }

  end(): void {
    if (this.#endsInCr) this.#fault ??= bare('CR', this.#line);
    this.#endLine(this.#lineBytes);
  }

  get isEightBit(): boolean {
    return !this.#isAscii;
  }

  /** The fault and the line it is in. */
  get fault(): string | undefined {
    return this.#fault;
  }

  /**
   * The first line that is longer than SMTP allows: some servers break such lines, which breaks signatures, and others
   * reject them.
   */
  get longLine(): string | undefined {
    return this.#longLine;
  }

  #endLine(bytes: number): void {
    this.#lineBytes = 0;
    if (bytes > LINE_BYTES_MAX) this.#longLine ??= tooLong(this.#line, bytes);
  }

  #check(piece: Buffer): void {
    if (piece.includes(NUL)) {
      this.#fault = 'it has a NUL byte, which mail cannot carry';
      return;
    }
    if (this.#endsInCr && piece[0] !== LF) {
      this.#fault = bare('CR', this.#line);
      return;
    }
    let cr = this.#endsInCr ? -1 : piece.indexOf(CR);
    let start = 0;
    for (let lf = piece.indexOf(LF); ; lf = piece.indexOf(LF, lf + 1)) {
      if (lf < 0) break;
      if (cr !== lf - 1 || (lf === 0 && !this.#endsInCr)) {
        this.#fault = cr >= 0 && cr < lf ? bare('CR', this.#line) : bare('LF', this.#line);
        return;
      }
      this.#endLine(this.#lineBytes + lf - start - 1);
      start = lf + 1;
      this.#line++;
      cr = piece.indexOf(CR, lf + 1);
      if (cr < 0) cr = piece.length;
    }
    this.#lineBytes += piece.length - start;
    this.#endsInCr = piece[piece.length - 1] === CR;
    // Only the very last byte of a piece may be a CR that waits for its LF.
    if (cr >= 0 && cr < piece.length - 1) this.#fault = bare('CR', this.#line);
  }
}

/** RFC 5321 §4.5.3.1.6, without the CRLF. */
const LINE_BYTES_MAX = 998;

const tooLong = (line: number, bytes: number): string =>
  `line ${line} has ${bytes} bytes, and SMTP carries ${LINE_BYTES_MAX}; encode its part as quoted-printable or base64, or fold the header`;

const bare = (what: 'CR' | 'LF', line: number): string =>
  `line ${line} has a ${what} that is not part of a CRLF; end every line with CRLF`;
