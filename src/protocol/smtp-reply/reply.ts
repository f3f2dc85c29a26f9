import { isUtf8 } from 'node:buffer';

export type Reply = {
  code: number;
  /** The enhanced status code (RFC 3463), if the peer sent one that agrees with the code. */
  enhanced?: string;
  /** The texts of the lines, without the code and the enhanced code. */
  lines: string[];
};

export type ReplyLine = { code: number; isLast: boolean; enhanced?: string; text: string };

export type ReplyFaultKind = 'malformed' | 'line_too_long' | 'too_many_lines' | 'too_many_replies' | 'code_changed';

/** The peer broke the protocol: nothing it sends on this connection from now on can be trusted. */
export class MalformedReply extends Error {
  readonly kind: ReplyFaultKind;
  /** The beginning of the invalid line. The message does not quote it, because it may name a recipient. */
  readonly quote: string | undefined;

  constructor(kind: ReplyFaultKind, message: string, quote?: string) {
    super(message);
    this.name = 'MalformedReply';
    this.kind = kind;
    this.quote = quote;
  }
}

const lineShape = /^([2-5][0-9]{2})(?:([ -])(.*))?$/s;
// RFC 2034 §4: at the start of the text, with the first digit of the code as its class.
const enhancedShape = /^([245]\.[0-9]{1,3}\.[0-9]{1,3})(?:[ \t]+|$)/;

/** Parses one line of a reply (RFC 5321 §4.2) without its line end; undefined if it is invalid. */
export function parseReplyLine(line: string): ReplyLine | undefined {
  const match = lineShape.exec(line);
  if (!match) return undefined;
  const code = Number(match[1]);
  const isLast = match[2] !== '-';
  const text = match[3] ?? '';
  const enhancedMatch = enhancedShape.exec(text);
  const enhanced = enhancedMatch?.[1];
  if (enhancedMatch === null || enhanced === undefined || enhanced[0] !== line[0]) return { code, isLast, text };
  return { code, isLast, enhanced, text: text.slice(enhancedMatch[0].length) };
}

/** Formats the whole reply on one line, as events and logs show it. */
export function replyText(reply: Reply): string {
  const words = [String(reply.code), reply.enhanced, ...reply.lines.map((line) => line.trim())];
  return words.filter((word) => word !== undefined && word !== '').join(' ');
}

// RFC 5321 §4.5.3.1.5 promises 512; real servers send longer ones.
const lineBytesMax = 4096;
const linesMax = 256;
// Replies in one chunk of the stream: RSET, MAIL, DATA and each of fifty recipients have a reply.
const repliesMax = 128;

const lf = 10;
const cr = 13;
// Characters that could move a cursor, end a log line or reorder text where the reply is shown.
const unsafe = /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/gu;

/** Cuts a byte stream into replies; a line may end in CRLF or in LF alone. */
export class ReplyParser {
  #rest: Buffer[] = [];
  #restBytes = 0;
  #reply: Reply | undefined;
  #fault: MalformedReply | undefined;

  /** The reason why the stream cannot be read further; set as soon as it is known. */
  get fault(): MalformedReply | undefined {
    return this.#fault;
  }

  /** A reply has begun but is not complete. */
  get isWithinReply(): boolean {
    return this.#restBytes > 0 || this.#reply !== undefined;
  }

  /**
   * Returns the replies that `chunk` completes. Throws `MalformedReply` if the stream is broken, but first returns the
   * replies completed before the fault: with pipelining one of them may be the reply to the final dot.
   */
  push(chunk: Buffer): Reply[] {
    if (this.#fault) throw this.#fault;
    const replies: Reply[] = [];
    try {
      this.#read(chunk, replies);
    } catch (error) {
      if (!(error instanceof MalformedReply)) throw error;
      this.#fault = error;
      if (replies.length === 0) throw error;
    }
    return replies;
  }

  #read(chunk: Buffer, replies: Reply[]): void {
    let start = 0;
    for (let end = chunk.indexOf(lf); end >= 0; end = chunk.indexOf(lf, start)) {
      const reply = this.#takeLine(this.#lineUpTo(chunk.subarray(start, end)));
      if (reply && replies.length === repliesMax) {
        throw new MalformedReply('too_many_replies', `more than ${repliesMax} replies came at once`);
      }
      if (reply) replies.push(reply);
      start = end + 1;
    }
    if (start < chunk.length) this.#keep(Buffer.from(chunk.subarray(start)));
  }

  #lineUpTo(tail: Buffer): string {
    this.#keep(tail);
    const bytes = this.#rest.length === 1 ? tail : Buffer.concat(this.#rest, this.#restBytes);
    this.#rest = [];
    this.#restBytes = 0;
    const line = bytes.at(-1) === cr ? bytes.subarray(0, -1) : bytes;
    return safeText(line);
  }

  #keep(part: Buffer): void {
    this.#rest.push(part);
    this.#restBytes += part.length;
    if (this.#restBytes > lineBytesMax) {
      throw new MalformedReply('line_too_long', `a reply line is longer than ${lineBytesMax} bytes`);
    }
  }

  #takeLine(text: string): Reply | undefined {
    const line = parseReplyLine(text);
    if (!line) {
      const quote = JSON.stringify(text.slice(0, 80));
      throw new MalformedReply('malformed', 'a reply line does not start with a code from 200 to 599', quote);
    }
    const reply = (this.#reply ??= { code: line.code, lines: [] });
    if (reply.code !== line.code) {
      throw new MalformedReply(
        'code_changed',
        `a reply changes its code from ${reply.code} to ${line.code} between two lines`,
      );
    }
    if (reply.lines.length === linesMax)
      throw new MalformedReply('too_many_lines', `a reply has more than ${linesMax} lines`);
    reply.lines.push(line.text);
    if (line.enhanced !== undefined) reply.enhanced ??= line.enhanced;
    if (!line.isLast) return undefined;
    this.#reply = undefined;
    return reply;
  }
}

function safeText(bytes: Buffer): string {
  return bytes
    .toString(isUtf8(bytes) ? 'utf8' : 'latin1')
    .replace(/\t/g, ' ')
    .replace(unsafe, '?');
}

const dot = Buffer.from('.');
// Searched after every LF, not only after CRLF: if a peer takes a bare LF for a line end, an unstuffed dot would end
// the message there and let the remainder pass as commands.
const lineStartDot = Buffer.from('\n.');

/**
 * RFC 5321 §4.5.2: doubles a dot that starts a line. The parts share the body's memory; without such a dot the only
 * part is the body itself.
 */
export function dotStuff(body: Buffer): Buffer[] {
  const parts: Buffer[] = [];
  if (body[0] === 46) parts.push(dot);
  let start = 0;
  for (let at = body.indexOf(lineStartDot); at >= 0; at = body.indexOf(lineStartDot, at + 2)) {
    parts.push(body.subarray(start, at + 1), dot);
    start = at + 1;
  }
  parts.push(start === 0 ? body : body.subarray(start));
  return parts;
}
