import { base64Lines } from './base64-lines.ts';
import { contentIdFault, contentTypeFault } from './content-type.ts';
import type { HeaderField } from './header-field.ts';
import { filenameParameters } from './parameter.ts';
import { isStored, storedPiece, type Piece, type StoredContent } from './piece.ts';
import { isSevenBit } from './seven-bit.ts';
import { encodeText } from './text-body.ts';

export type Attachment = {
  filename: string;
  contentType: string;
  /** With an HTML body the part is shown inside it as `cid:<contentId>`. */
  contentId?: string | undefined;
  content: Buffer | StoredContent;
};

export type BodyPart = {
  fields: HeaderField[];
  chunks: Piece[];
  /** The content stands there as it was given. */
  isSevenBit: boolean;
  endsWithBreak: boolean;
};

export function textPart(type: 'text/plain' | 'text/html', text: string): BodyPart {
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

export function attachmentPart(attachment: Attachment): BodyPart {
  return filePart(attachment, 'attachment');
}

export function inlinePart(attachment: Attachment): BodyPart {
  return filePart(attachment, 'inline');
}

export function multipart(subtype: string, boundary: string, parts: readonly BodyPart[]): BodyPart {
  const chunks: Piece[] = [];
  let lead = '';
  for (const part of parts) {
    let head = `${lead}--${boundary}\r\n`;
    for (const [name, value] of part.fields) head += `${name}: ${value}\r\n`;
    chunks.push(Buffer.from(`${head}\r\n`, 'latin1'), ...part.chunks);
    // The break before a boundary belongs to the boundary (RFC 2046 §5.1.1): text needs one of its own, base64 brings it.
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
    if (fault !== undefined) throw new Error(`callers refuse a bad content id: ${fault}`);
    fields.push(['Content-ID', `<${attachment.contentId.replace(/^<|>$/g, '')}>`]);
  }
  return { fields, chunks: [encoded(attachment.content, asIs)], isSevenBit: asIs, endsWithBreak: !asIs };
}

function encoded(content: Attachment['content'], asIs: boolean): Piece {
  if (isStored(content)) return storedPiece(content, asIs ? '7bit' : 'base64');
  return asIs ? content : base64Lines(content);
}

/** Whether it matters for content of this type that it is seven-bit. */
export const isComposite = (contentType: string): boolean => /^(?:message|multipart)\//i.test(contentType);

/** Composite types may not be base64 (RFC 2045 §6.4): they travel as they are, or as bytes without a type. */
function transferType(attachment: Attachment): { type: string; isSevenBit: boolean } {
  const fault = contentTypeFault(attachment.contentType);
  if (fault !== undefined) throw new Error(`callers refuse a bad content type: ${fault}`);
  const type = attachment.contentType
    .replace(/[ \t]*;[ \t]*$/, '')
    .replace(/[ \t]*;[ \t]*(?=[^"]*(?:"[^"]*"[^"]*)*$)/g, ';\r\n ');
  if (!isComposite(type)) return { type, isSevenBit: false };
  const { content } = attachment;
  if (isStored(content) ? content.isSevenBit : isSevenBit(content)) return { type, isSevenBit: true };
  return { type: 'application/octet-stream', isSevenBit: false };
}
