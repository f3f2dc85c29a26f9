// RFC 5322 §2.1.1, without the CRLF.
export const lineBytesMax = 998;

const tab = 9;
const lf = 10;
const cr = 13;
const space = 32;
const del = 127;
/** "From " at the start of a line becomes ">From " when the message is written to an mbox, which breaks signatures. */
const from = Buffer.from('From ');

/**
 * Checks, piece by piece, whether content can be sent unencoded: ASCII, CRLF line ends, no overlong line, no line that
 * begins with "From ".
 */
export class SevenBitSurvey {
  #holds = true;
  #column = 0;
  /** The line matches "From " so far. */
  #isFrom = true;
  #afterCr = false;

  /** Returns false as soon as no further bytes can change the result. */
  push(bytes: Uint8Array): boolean {
    for (let at = 0; at < bytes.length && this.#holds; at += 1) this.#take(bytes[at]!);
    return this.#holds;
  }

  end(): boolean {
    return this.#holds && !this.#afterCr;
  }

  #take(byte: number): void {
    if (this.#afterCr !== (byte === lf)) this.#holds = false;
    else if (byte === lf) this.#beginLine();
    else if (byte === cr) this.#afterCr = true;
    else if (byte !== tab && (byte < space || byte >= del)) this.#holds = false;
    else this.#takeText(byte);
  }

  #takeText(byte: number): void {
    if (this.#isFrom) this.#isFrom = from[this.#column] === byte;
    this.#column += 1;
    if (this.#column > lineBytesMax || (this.#isFrom && this.#column === from.length)) this.#holds = false;
  }

  #beginLine(): void {
    this.#column = 0;
    this.#isFrom = true;
    this.#afterCr = false;
  }
}

/** Reports whether the bytes can be sent unencoded. */
export function isSevenBit(bytes: Uint8Array): boolean {
  const survey = new SevenBitSurvey();
  return survey.push(bytes) && survey.end();
}

/** Same as isSevenBit for content that is read in pieces. */
export async function surveySevenBit(content: AsyncIterable<Buffer>): Promise<boolean> {
  const survey = new SevenBitSurvey();
  for await (const bytes of content) if (!survey.push(bytes)) return false;
  return survey.end();
}
