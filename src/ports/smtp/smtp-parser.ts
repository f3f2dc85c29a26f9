import { SMTPStream } from 'smtp-server/lib/smtp-stream.js';

const LF = 10;
const CR = 13;
const DOT = 46;
/** Number of bytes that are kept until more arrive, because they may begin the end of the content. */
const TAIL_BYTES = 4;

/**
 * Extends the library's parser to remove the dots of a whole chunk in one pass. The library writes the text before each
 * stuffed dot separately, without waiting for the reader, and continues in the next turn of the event loop: 8 MB of
 * such lines took 25 seconds of processor time and hundreds of megabytes. The end of the content and the removed dots
 * are the same.
 */
export class SmtpParser extends SMTPStream {
  override _feedDataStream(chunk: Buffer, done: (error?: Error | null) => void): void {
    const tail = this._lastBytes;
    this._lastBytes = false;
    let input = tail && tail.length > 0 ? Buffer.concat([tail, chunk]) : chunk;
    if (this._atDataStart && input[0] === DOT) {
      if (input[1] === CR && input[2] === LF) return this._endDataMode(false, input.subarray(3), done);
      if (input[1] === DOT) {
        input = input.subarray(1);
        // The remaining dot is content, however the next bytes are split.
        this._atDataStart = false;
      }
    }
    const { content, read, isEnd } = unstuff(input);
    if (content.length > 0) this._countDataBytes(content.length);
    if (isEnd) return this._endDataMode(content, input.subarray(read), done);
    this._lastBytes = input.subarray(read);
    this.#write(content, done);
  }

  /** Calls `done` when the reader has room for more. */
  #write(content: Buffer, done: () => void): void {
    const stream = this._dataStream;
    if (content.length === 0 || !stream?.writable || stream.write(content) || stream.destroyed) return done();
    // A destroyed stream never drains, it only closes.
    const goOn = (): void => {
      stream.off('drain', goOn);
      stream.off('close', goOn);
      done();
    };
    stream.on('drain', goOn);
    stream.on('close', goOn);
  }
}

interface Unstuffed {
  content: Buffer;
  /** Number of input bytes that were read, including the end of the content. */
  read: number;
  isEnd: boolean;
}

/** Reads up to CRLF "." CRLF, or as far as the bytes are unambiguous. */
function unstuff(input: Buffer): Unstuffed {
  /**
   * The content, copied once a dot is removed from it: a piece for each dot would be an object for every three bytes.
   */
  let copy: Buffer | undefined;
  let copied = 0;
  let from = 0;
  const contentUpTo = (end: number): Buffer => {
    if (!copy) return input.subarray(0, end);
    return copy.subarray(0, copied + input.copy(copy, copied, from, end));
  };
  for (let at = 2; at < input.length - 2; at++) {
    if (input[at] !== DOT || input[at - 1] !== LF) continue;
    if (input[at - 2] === CR && input[at + 1] === CR && input[at + 2] === LF) {
      return { content: contentUpTo(at), read: at + 3, isEnd: true };
    }
    if (input[at + 1] !== DOT) continue;
    copy ??= Buffer.allocUnsafe(input.length);
    copied += input.copy(copy, copied, from, at);
    from = at + 1;
    at += 2;
  }
  const read = Math.max(from, input.length - TAIL_BYTES);
  return { content: contentUpTo(read), read, isEnd: false };
}

/** A path with a quoted local part; the library would end the path, or the local part, within the quotes. */
const QUOTED = /^([^<"]{0,40}<)("(?:[^"\\]|\\.)*")(@[^\s<>@"]+>.*)$/s;
const STAND_IN = 'quoted';
const CONTROL = /\p{Cc}/u;

/**
 * Replaces a quoted local part by a word (RFC 5321 §4.1.2), and returns a way to undo that; undefined if not needed.
 */
export function withoutQuotes(command: string): { command: string; restore(address: string): string } | undefined {
  const [, before = '', local = '', behind = ''] = QUOTED.exec(command) ?? [];
  if (!/[ @<>]/.test(local) || CONTROL.test(local)) return undefined;
  return {
    command: `${before}${STAND_IN}${behind}`,
    restore: (address) => local + address.slice(STAND_IN.length),
  };
}

/** RFC 3461 §4: any octet other than printable ASCII, "+" or "=" is "+" and two hexadecimal digits in capitals. */
const XTEXT = /^(?:[!-*,-<>-~]|\+[\dA-F]{2})*$/;
const HEX = /\+([\dA-F]{2})/g;
const NAME = /^[A-Z\d][A-Z\d-]*$/;

/**
 * The fault in the parameters of MAIL or RCPT as they were written. The library takes malformed xtext for plain text,
 * and a control character in any of them for a fault of the address.
 */
export function parameterFault(command: string): string | undefined {
  const text = withoutQuotes(command)?.command ?? command;
  const [, ...parameters] = text
    .slice(text.indexOf(':') + 1)
    .trim()
    .split(/\s+/);
  for (const parameter of parameters) {
    const [keyword = '', ...rest] = parameter.split('=');
    const name = keyword.toUpperCase();
    if (!NAME.test(name)) continue;
    const value = rest.join('=');
    if (hasOthers(value)) return `${name} contains characters other than printable ASCII`;
    const xtext = name === 'ENVID' ? value : name === 'ORCPT' ? value.slice(value.indexOf(';') + 1) : '';
    if (!XTEXT.test(xtext)) {
      return `${name} is not valid xtext; encode "+", "=" and everything that is not printable ASCII as "+" and two hexadecimal digits, as in +2B`;
    }
  }
  return undefined;
}

function hasOthers(value: string): boolean {
  const plain = value.replace(HEX, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
  return /\p{Cc}/u.test(plain);
}
