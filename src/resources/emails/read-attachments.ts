import { refuse } from '../../platform/refusal/index.ts';
import { contentIdFault, contentTypeFault, guessContentType } from '../../protocol/mime/index.ts';

export interface AttachmentInput {
  filename?: string;
  content?: string | { type: 'Buffer'; data: number[] };
  content_type?: string | null;
  content_id?: string | null;
}

export interface DraftAttachment {
  filename: string;
  contentType: string;
  contentId: string | null;
  content: Buffer;
}

const ATTACHMENTS_MAX = 100;
const FILENAME_BYTES_MAX = 255;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/;

export function readAttachments(inputs: AttachmentInput[]): DraftAttachment[] {
  if (inputs.length > ATTACHMENTS_MAX) {
    throw invalid('attachments', `attachments may hold at most ${ATTACHMENTS_MAX} entries; got ${inputs.length}.`);
  }
  return inputs.map((input, i) => readAttachment(input, `attachments.${i}`));
}

function readAttachment(input: AttachmentInput, path: string): DraftAttachment {
  const filename = input.filename ?? '';
  if (filename === '')
    throw invalid(`${path}.filename`, `${path}.filename is missing; name the file, such as "invoice.pdf".`);
  const fault = filenameFault(filename);
  if (fault) throw invalid(`${path}.filename`, `${path}.filename ${fault}`);
  if (input.content === undefined) {
    throw invalid(`${path}.content`, `${path}.content is missing; give the file's bytes in base64.`);
  }
  const contentType = input.content_type ?? guessContentType(filename);
  const typeFault = contentTypeFault(contentType);
  if (typeFault) throw invalid(`${path}.content_type`, `${path}.content_type: ${typeFault}`);
  const contentId = input.content_id ?? null;
  const idFault = contentId === null ? undefined : contentIdFault(contentId);
  if (idFault) throw invalid(`${path}.content_id`, `${path}.content_id: ${idFault}`);
  return { filename, contentType, contentId, content: readContent(input.content, `${path}.content`) };
}

function filenameFault(filename: string): string | undefined {
  const bytes = Buffer.byteLength(filename);
  if (bytes > FILENAME_BYTES_MAX) return `may have at most ${FILENAME_BYTES_MAX} bytes in UTF-8; got ${bytes}.`;
  if (/[\p{Cc}\u2028\u2029]/u.test(filename)) return 'must be one line without control characters.';
  return undefined;
}

/** Base64 text, with or without line breaks, or what JSON makes of a Node Buffer. */
function readContent(content: NonNullable<AttachmentInput['content']>, path: string): Buffer {
  if (typeof content !== 'string') {
    if (content.data.every((byte) => Number.isInteger(byte) && byte >= 0 && byte <= 255))
      return Buffer.from(content.data);
    throw invalid(path, `${path}.data must be a list of bytes from 0 to 255.`);
  }
  const bytes = decodeBase64(content);
  if (!bytes) throw invalid(path, `${path} must be base64.`);
  return bytes;
}

function decodeBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64');
  // Node's decoder skips what it does not know; what came in must be what went out again, line breaks apart.
  const compact = /\s/.test(text) ? text.replace(/\s+/g, '') : text;
  const padding = compact.endsWith('==') ? 2 : compact.endsWith('=') ? 1 : 0;
  if (bytes.length !== Math.floor(((compact.length - padding) * 3) / 4)) return undefined;
  return isBase64(compact) ? bytes : undefined;
}

const REGEXP_CHARS_MAX = 1 << 20;

/** In steps of whole groups of four: one match over tens of megabytes would overrun the expression's stack. */
function isBase64(text: string): boolean {
  for (let from = 0; from < text.length; from += REGEXP_CHARS_MAX) {
    const part = text.slice(from, from + REGEXP_CHARS_MAX);
    if (!BASE64.test(part)) return false;
    if (part.includes('=') && from + part.length < text.length) return false;
  }
  return true;
}

const invalid = (path: string, message: string) =>
  refuse('invalid_attachment', { say: message, errors: [{ path, message }] });
