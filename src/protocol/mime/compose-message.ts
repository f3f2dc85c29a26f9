import { createHash } from 'node:crypto';
import type { Mailbox } from '../address/index.ts';
import { attachmentPart, inlinePart, multipart, textPart } from './body-part.ts';
import type { Attachment, BodyPart } from './body-part.ts';
import { formatDate } from './date.ts';
import { addressField, extraField, mustBeOneLine, subjectField } from './header-field.ts';
import type { HeaderField } from './header-field.ts';
import { isStored, type Piece } from './piece.ts';

export type MessageInput = {
  from: Mailbox;
  to: readonly Mailbox[];
  cc?: readonly Mailbox[] | undefined;
  /** Never written; known here only so that a mail without visible recipients gets a To header. */
  bcc?: readonly Mailbox[] | undefined;
  replyTo?: readonly Mailbox[] | undefined;
  subject: string;
  date: Date;
  /** With or without its angle brackets. */
  messageId: string;
  html?: string | undefined;
  text?: string | undefined;
  headers?: readonly HeaderField[] | undefined;
  attachments?: readonly Attachment[] | undefined;
  /** Boundaries derive from it: the same input gives the same bytes. */
  boundarySeed: string;
};

/** A message whose attachments may still stand elsewhere. */
export type MessageLayout = {
  headers: HeaderField[];
  /** The body, piece after piece. */
  pieces: Piece[];
  /** A visible mailbox has a local part beyond ASCII, which no header encoding can express (RFC 6532). */
  needsSmtpUtf8: boolean;
};

export type ComposedMessage = Omit<MessageLayout, 'pieces'> & { body: Buffer };

/** For attachments that stand in memory, all of them. */
export function composeMessage(input: MessageInput): ComposedMessage {
  const { pieces, ...layout } = layOutMessage(input);
  const chunks = pieces.map((piece) => {
    if (isStored(piece)) throw new Error('stored content is laid out, not composed');
    return piece;
  });
  return { ...layout, body: chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks) };
}

export function layOutMessage(input: MessageInput): MessageLayout {
  const root = rootPart(input);
  const headers = [
    ...originatorFields(input),
    ...callerFields(input),
    ['MIME-Version', '1.0'] satisfies HeaderField,
    ...root.fields,
  ];
  return { headers, pieces: root.chunks, needsSmtpUtf8: anySmtpUtf8(input) };
}

function originatorFields(input: MessageInput): HeaderField[] {
  const fields: HeaderField[] = [addressField('From', [input.from])];
  if (input.to.length > 0) fields.push(addressField('To', input.to));
  else if (input.bcc !== undefined && input.bcc.length > 0) fields.push(['To', 'undisclosed-recipients:;']);
  if (input.cc !== undefined && input.cc.length > 0) fields.push(addressField('Cc', input.cc));
  if (input.replyTo !== undefined && input.replyTo.length > 0) fields.push(addressField('Reply-To', input.replyTo));
  fields.push(
    subjectField(input.subject),
    ['Message-ID', messageIdValue(input.messageId)],
    ['Date', formatDate(input.date)],
  );
  return fields;
}

// A second one of these would leave it to each reader which to believe (RFC 5322 §3.6).
const ownFields = new Set(['from', 'to', 'cc', 'bcc', 'subject', 'date', 'message-id', 'mime-version']);

function callerFields(input: MessageInput): HeaderField[] {
  const fields: HeaderField[] = [];
  for (const [name, value] of input.headers ?? []) {
    const lower = name.toLowerCase();
    if (ownFields.has(lower) || lower.startsWith('content-'))
      throw new Error(`the header ${name} is written by the composer: callers refuse it`);
    if (lower === 'reply-to' && (input.replyTo?.length ?? 0) > 0) continue;
    fields.push(extraField(name, value));
  }
  return fields;
}

function messageIdValue(messageId: string): string {
  mustBeOneLine('Message-ID', messageId);
  const value = messageId.startsWith('<') ? messageId : `<${messageId}>`;
  if (!/^<[!-;=?-~]+>$/.test(value))
    throw new Error('a message id is printable ASCII without spaces, in angle brackets');
  return value;
}

function anySmtpUtf8(input: MessageInput): boolean {
  const visible = [input.from, ...input.to, ...(input.cc ?? []), ...(input.replyTo ?? [])];
  return visible.some((mailbox) => mailbox.needsSmtpUtf8);
}

/** Text and HTML as alternatives, inline parts around the HTML only, everything else beside the whole. */
function rootPart(input: MessageInput): BodyPart {
  const { html, text, attachments = [] } = input;
  const textual = text !== undefined || html === undefined ? textPart('text/plain', text ?? '') : undefined;
  const markup = html === undefined ? undefined : textPart('text/html', html);
  const isInline = (attachment: Attachment): boolean => markup !== undefined && attachment.contentId !== undefined;
  const inline = attachments.filter(isInline).map(inlinePart);
  const beside = attachments.filter((attachment) => !isInline(attachment)).map(attachmentPart);
  const leaves = [textual, markup, ...inline, ...beside].filter((part) => part !== undefined);
  if (leaves.length === 1) return withFinalBreak(leaves[0]!);
  const boundary = boundaryFor(input.boundarySeed, leaves);
  let body = markup ?? textual!;
  if (inline.length > 0) body = multipart('related; type="text/html"', `${boundary}c`, [body, ...inline]);
  if (textual !== undefined && markup !== undefined) body = multipart('alternative', `${boundary}b`, [textual, body]);
  return beside.length === 0 ? body : multipart('mixed', `${boundary}a`, [body, ...beside]);
}

/**
 * "=_" occurs neither in quoted-printable nor in base64, so only 7bit parts can hold the boundary by accident or intent.
 * Stored content is not searched for it: the seed is made after the content was given.
 */
function boundaryFor(seed: string, leaves: readonly BodyPart[]): string {
  for (let round = 0; ; round += 1) {
    const digest = createHash('sha256').update(`${round}:${seed}`).digest('hex');
    const boundary = `=_${digest.slice(0, 28)}`;
    const holds = (chunk: Piece): boolean => !isStored(chunk) && chunk.includes(boundary);
    const occurs = leaves.some((leaf) => leaf.isSevenBit && leaf.chunks.some(holds));
    if (!occurs) return boundary;
  }
}

/** DATA ends with CRLF "." CRLF, so the last line of a message is always ended. */
function withFinalBreak(part: BodyPart): BodyPart {
  const last = part.chunks.at(-1);
  if (
    last !== undefined &&
    !isStored(last) &&
    last.length > 1 &&
    last[last.length - 2] === 13 &&
    last[last.length - 1] === 10
  )
    return part;
  return { ...part, chunks: [...part.chunks, Buffer.from('\r\n')] };
}
