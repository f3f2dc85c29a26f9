import { createHash } from 'node:crypto';
import type { Mailbox } from '../address/index.ts';
import {
  formatDate,
  addressField,
  extraField,
  mustBeOneLine,
  subjectField,
  filenameParameters,
  type HeaderField,
} from './header-field.ts';
import { base64Lines, base64LinesLength, base64Stream } from './base64-lines.ts';
import { isSevenBit } from './seven-bit.ts';
import { encodeText } from './text-body.ts';

const types: Record<string, string> = {
  '7z': 'application/x-7z-compressed',
  aac: 'audio/aac',
  avif: 'image/avif',
  bmp: 'image/bmp',
  css: 'text/css',
  csv: 'text/csv',
  doc: 'application/msword',
  docx: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  eml: 'message/rfc822',
  epub: 'application/epub+zip',
  gif: 'image/gif',
  gz: 'application/gzip',
  heic: 'image/heic',
  htm: 'text/html',
  html: 'text/html',
  ico: 'image/vnd.microsoft.icon',
  ics: 'text/calendar',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  js: 'text/javascript',
  json: 'application/json',
  m4a: 'audio/mp4',
  md: 'text/markdown',
  mov: 'video/quicktime',
  mp3: 'audio/mpeg',
  mp4: 'video/mp4',
  odp: 'application/vnd.oasis.opendocument.presentation',
  ods: 'application/vnd.oasis.opendocument.spreadsheet',
  odt: 'application/vnd.oasis.opendocument.text',
  ogg: 'audio/ogg',
  pdf: 'application/pdf',
  png: 'image/png',
  ppt: 'application/vnd.ms-powerpoint',
  pptx: 'application/vnd.openxmlformats-officedocument.presentationml.presentation',
  rtf: 'application/rtf',
  svg: 'image/svg+xml',
  tar: 'application/x-tar',
  tif: 'image/tiff',
  tiff: 'image/tiff',
  tsv: 'text/tab-separated-values',
  txt: 'text/plain',
  vcf: 'text/vcard',
  wav: 'audio/wav',
  webm: 'video/webm',
  webp: 'image/webp',
  xls: 'application/vnd.ms-excel',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  xml: 'application/xml',
  zip: 'application/zip',
};

const contentTypeShape =
  /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(?:[ \t]*;[ \t]*[\w!#$&^.+*'%-]+=(?:[\w!#$&^.+*'%/:=?@-]+|"(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\[\x20-\x7e])*"))*[ \t]*;?$/;
const contentIdShape = /^<?[!-;=?-~]+>?$/;

/** Guesses the media type from a file name; `application/octet-stream` if it is unknown. */
export function guessContentType(filename: string): string {
  const extension = filename.slice(filename.lastIndexOf('.') + 1).toLowerCase();
  return Object.hasOwn(types, extension) ? (types[extension] ?? '') : 'application/octet-stream';
}

export function contentTypeFault(contentType: string): string | undefined {
  if (contentType.length <= 255 && contentTypeShape.test(contentType)) return undefined;
  return `The content type ${JSON.stringify(contentType.slice(0, 80))} is not a media type; write type/subtype such as application/pdf, in at most 255 characters.`;
}

export function contentIdFault(contentId: string): string | undefined {
  if (contentId.length <= 255 && contentIdShape.test(contentId)) return undefined;
  return `The content id ${JSON.stringify(contentId.slice(0, 80))} may hold 1 to 255 printable ASCII characters without spaces or angle brackets, such as logo@example.com.`;
}

export type MessageInput = {
  from: Mailbox;
  to: readonly Mailbox[];
  cc?: readonly Mailbox[] | undefined;
  /** Never written; used only so that a mail without visible recipients gets a To header. */
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
  /** Boundaries derive from it, so that the same input gives the same bytes. */
  boundarySeed: string;
};

/** A message whose attachments may not be in memory. */
export type MessageLayout = {
  headers: HeaderField[];
  /** The body, in pieces. */
  pieces: Piece[];
  /** A visible mailbox has a non-ASCII local part, which no header encoding can express (RFC 6532). */
  needsSmtpUtf8: boolean;
};

export type ComposedMessage = Omit<MessageLayout, 'pieces'> & { body: Buffer };

/** Composes a message whose attachments are all in memory. */
export function composeMessage(input: MessageInput): ComposedMessage {
  const { pieces, ...layout } = layOutMessage(input);
  const chunks = pieces.map((piece) => {
    if (isStored(piece)) throw new Error('an attachment to compose is not in memory');
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

// If one of these occurred twice, each reader would choose which to believe (RFC 5322 §3.6).
const ownFields = new Set(['from', 'to', 'cc', 'bcc', 'subject', 'date', 'message-id', 'mime-version']);

function callerFields(input: MessageInput): HeaderField[] {
  const fields: HeaderField[] = [];
  for (const [name, value] of input.headers ?? []) {
    const lower = name.toLowerCase();
    if (ownFields.has(lower) || lower.startsWith('content-'))
      throw new Error(`the header ${name} was given, which the composer writes`);
    if (lower === 'reply-to' && (input.replyTo?.length ?? 0) > 0) continue;
    fields.push(extraField(name, value));
  }
  return fields;
}

function messageIdValue(messageId: string): string {
  mustBeOneLine('Message-ID', messageId);
  const value = messageId.startsWith('<') ? messageId : `<${messageId}>`;
  if (!/^<[!-;=?-~]+>$/.test(value))
    throw new Error('the message id is not printable ASCII without spaces in angle brackets');
  return value;
}

function anySmtpUtf8(input: MessageInput): boolean {
  const visible = [input.from, ...input.to, ...(input.cc ?? []), ...(input.replyTo ?? [])];
  return visible.some((mailbox) => mailbox.needsSmtpUtf8);
}

/** Builds text and HTML as alternatives, inline parts around the HTML only, and everything else next to the whole. */
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
 * "=_" occurs neither in quoted-printable nor in base64, so only 7bit parts can contain the boundary by accident or
 * intent. Stored content is not searched for it: the seed is created after the content was submitted.
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

/** DATA ends with CRLF "." CRLF, so the last line of a message always has a line end. */
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

export type Attachment = {
  filename: string;
  contentType: string;
  /** With an HTML body the part is shown inside it as `cid:<contentId>`. */
  contentId?: string | undefined;
  content: Buffer | StoredContent;
};

type BodyPart = {
  fields: HeaderField[];
  chunks: Piece[];
  /** The content is included unencoded. */
  isSevenBit: boolean;
  endsWithBreak: boolean;
};

function textPart(type: 'text/plain' | 'text/html', text: string): BodyPart {
  const { encoding, content } = encodeText(text);
  return {
    fields: [
      ['Content-Type', `${type}; charset=utf-8`],
      ['Content-Transfer-Encoding', encoding],
    ],
    chunks: [content],
    isSevenBit: encoding === '7bit',
    endsWithBreak: encoding === 'base64',
  };
}

function attachmentPart(attachment: Attachment): BodyPart {
  return filePart(attachment, 'attachment');
}

function inlinePart(attachment: Attachment): BodyPart {
  return filePart(attachment, 'inline');
}

function multipart(subtype: string, boundary: string, parts: readonly BodyPart[]): BodyPart {
  const chunks: Piece[] = [];
  let lead = '';
  for (const part of parts) {
    let head = `${lead}--${boundary}\r\n`;
    for (const [name, value] of part.fields) head += `${name}: ${value}\r\n`;
    chunks.push(Buffer.from(`${head}\r\n`, 'latin1'), ...part.chunks);
    // The break before a boundary belongs to the boundary (RFC 2046 §5.1.1): text needs an extra one, base64 ends with
    // one.
    lead = part.endsWithBreak ? '' : '\r\n';
  }
  chunks.push(Buffer.from(`${lead}--${boundary}--\r\n`, 'latin1'));
  return {
    fields: [['Content-Type', `multipart/${subtype};\r\n boundary="${boundary}"`]],
    chunks,
    isSevenBit: false,
    endsWithBreak: true,
  };
}

function filePart(attachment: Attachment, disposition: 'attachment' | 'inline'): BodyPart {
  const { type, isSevenBit: asIs } = transferType(attachment);
  const parameters = attachment.filename === '' ? [] : filenameParameters(attachment.filename);
  const fields: HeaderField[] = [
    ['Content-Type', type],
    ['Content-Transfer-Encoding', asIs ? '7bit' : 'base64'],
    ['Content-Disposition', [disposition, ...parameters].join(';\r\n ')],
  ];
  if (attachment.contentId !== undefined) {
    const fault = contentIdFault(attachment.contentId);
    if (fault !== undefined) throw new Error(`invalid content id: ${fault}`);
    fields.push(['Content-ID', `<${attachment.contentId.replace(/^<|>$/g, '')}>`]);
  }
  return { fields, chunks: [encoded(attachment.content, asIs)], isSevenBit: asIs, endsWithBreak: !asIs };
}

function encoded(content: Attachment['content'], asIs: boolean): Piece {
  if (isStored(content)) return storedPiece(content, asIs ? '7bit' : 'base64');
  return asIs ? content : base64Lines(content);
}

/** Reports whether content of this type must not be encoded, so that it matters whether it is seven-bit. */
export const isComposite = (contentType: string): boolean => /^(?:message|multipart)\//i.test(contentType);

/** Composite types must not be base64 (RFC 2045 §6.4): they are sent unencoded, or as bytes with a generic type. */
function transferType(attachment: Attachment): { type: string; isSevenBit: boolean } {
  const fault = contentTypeFault(attachment.contentType);
  if (fault !== undefined) throw new Error(`invalid content type: ${fault}`);
  const type = attachment.contentType
    .replace(/[ \t]*;[ \t]*$/, '')
    .replace(/[ \t]*;[ \t]*(?=[^"]*(?:"[^"]*"[^"]*)*$)/g, ';\r\n ');
  if (!isComposite(type)) return { type, isSevenBit: false };
  const { content } = attachment;
  if (isStored(content) ? content.isSevenBit : isSevenBit(content)) return { type, isSevenBit: true };
  return { type: 'application/octet-stream', isSevenBit: false };
}

/** Content that is not in memory; every read returns the same bytes. */
export interface StoredContent {
  size: number;
  /** The result of `surveySevenBit`; only used if the content must not be encoded. */
  isSevenBit: boolean;
  read(): AsyncIterable<Buffer>;
}

/** A part of a body that is read and encoded when the message is read. */
interface StoredPiece {
  length: number;
  read(): AsyncIterable<Buffer>;
}

/** The building blocks of bodies. */
export type Piece = Buffer | StoredPiece;

function storedPiece(content: StoredContent, encoding: '7bit' | 'base64'): StoredPiece {
  if (encoding === '7bit') return { length: content.size, read: () => content.read() };
  return { length: base64LinesLength(content.size), read: () => base64Stream(content.read()) };
}

const isStored = <T>(content: Buffer | T): content is T => !Buffer.isBuffer(content);
