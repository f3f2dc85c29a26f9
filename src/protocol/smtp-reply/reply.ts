export type Reply = {
  code: number;
  /** The enhanced status code (RFC 3463), when the peer gave one that agrees with the code. */
  enhanced?: string;
  /** The texts of the lines, without the code and the enhanced code. */
  lines: string[];
};

export type ReplyLine = { code: number; isLast: boolean; enhanced?: string; text: string };

export type ReplyFaultKind = 'malformed' | 'line_too_long' | 'too_many_lines' | 'too_many_replies' | 'code_changed';

/** The peer broke the protocol: nothing more that it says on this connection can be trusted. */
export class MalformedReply extends Error {
  readonly kind: ReplyFaultKind;
  /** The beginning of the line at fault. The message does not quote it, because it may name a recipient. */
  readonly quote: string | undefined;

  constructor(kind: ReplyFaultKind, message: string, quote?: string) {
    super(message);
    this.name = 'MalformedReply';
    this.kind = kind;
    this.quote = quote;
  }
}

const lineShape = /^([2-5][0-9]{2})(?:([ -])(.*))?$/s;
// RFC 2034 §4: at the start of the text, its class the first digit of the code.
const enhancedShape = /^([245]\.[0-9]{1,3}\.[0-9]{1,3})(?:[ \t]+|$)/;

/** Reads one line of a reply (RFC 5321 §4.2) without its line end; undefined when it is none. */
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

/** The whole reply on one line, as events and logs show it. */
export function replyText(reply: Reply): string {
  const words = [String(reply.code), reply.enhanced, ...reply.lines.map((line) => line.trim())];
  return words.filter((word) => word !== undefined && word !== '').join(' ');
}
