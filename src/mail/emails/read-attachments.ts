import type { SendEmailAttachment } from '../../contract/index.ts';
import { readHttpsUrl } from '../../protocol/https-url/index.ts';
import { refuse, type Refusal } from '../../platform/refusal/index.ts';
import { contentIdFault, contentTypeFault, guessContentType } from '../../protocol/mime/index.ts';

export interface DraftAttachment {
  filename: string;
  contentType: string;
  contentId: string | null;
  /** Empty until it has been fetched, where there is a source. */
  content: Buffer;
  /** A file that the blob store has under another key, instead of `content`. */
  stored?: { blob: string; size: number };
  /** Where the content has still to be fetched from. */
  source: URL | null;
  /** Where it stands in its email, for naming what is wrong with it: `attachments.0`. */
  field: string;
}

export const sizeOfFile = ({ content, stored }: Pick<DraftAttachment, 'content' | 'stored'>): number =>
  stored?.size ?? content.length;

const ATTACHMENTS_MAX = 100;
const FILENAME_BYTES_MAX = 255;

export function readAttachments(inputs: SendEmailAttachment[]): DraftAttachment[] {
  if (inputs.length > ATTACHMENTS_MAX) {
    throw invalidAttachment(
      'attachments',
      `attachments may hold at most ${ATTACHMENTS_MAX} entries; got ${inputs.length}.`,
    );
  }
  return inputs.map((input, i) => readAttachment(input, `attachments.${i}`));
}

function readAttachment(input: SendEmailAttachment, path: string): DraftAttachment {
  const filename = input.filename ?? '';
  if (filename === '')
    throw invalidAttachment(`${path}.filename`, `${path}.filename is missing; name the file, such as "invoice.pdf".`);
  const fault = filenameFault(filename);
  if (fault) throw invalidAttachment(`${path}.filename`, `${path}.filename ${fault}`);
  mustHaveOneSource(input, path);
  const contentType = input.content_type ?? guessContentType(filename);
  const typeFault = contentTypeFault(contentType);
  if (typeFault) throw invalidAttachment(`${path}.content_type`, `${path}.content_type: ${typeFault}`);
  const contentId = input.content_id ?? null;
  const idFault = contentId === null ? undefined : contentIdFault(contentId);
  if (idFault) throw invalidAttachment(`${path}.content_id`, `${path}.content_id: ${idFault}`);
  const content = input.content === undefined ? Buffer.alloc(0) : readContent(input.content, `${path}.content`);
  const source = input.path === undefined ? null : readSource(input.path, `${path}.path`);
  return { filename, contentType, contentId, content, source, field: path };
}

function mustHaveOneSource({ content, path: url }: SendEmailAttachment, path: string): void {
  if (content === undefined && url === undefined) {
    const say = `${path} has neither content nor path; give the file's bytes in base64 as content, or an https URL as path.`;
    throw invalidAttachment(`${path}.content`, say);
  }
  if (content === undefined || url === undefined) return;
  throw invalidAttachment(`${path}.path`, `${path} has both content and path; give only one of the two.`);
}

function readSource(text: string, path: string): URL {
  const url = readHttpsUrl(text);
  if (typeof url === 'string') throw invalidAttachment(path, `${path} ${url}`);
  return url;
}

function filenameFault(filename: string): string | undefined {
  const bytes = Buffer.byteLength(filename);
  if (bytes > FILENAME_BYTES_MAX) return `may have at most ${FILENAME_BYTES_MAX} bytes in UTF-8; got ${bytes}.`;
  if (/[\p{Cc}\u2028\u2029]/u.test(filename)) return 'must be one line without control characters.';
  return undefined;
}

/** Reads base64 text with or without line breaks, a list of bytes, or what JSON makes of a Node Buffer. */
function readContent(content: NonNullable<SendEmailAttachment['content']>, path: string): Buffer {
  if (typeof content !== 'string') {
    const isList = Array.isArray(content);
    const list = isList ? content : content.data;
    if (list.every((byte) => Number.isInteger(byte) && byte >= 0 && byte <= 255)) return Buffer.from(list);
    throw invalidAttachment(path, `${isList ? path : `${path}.data`} must be a list of bytes from 0 to 255.`);
  }
  if (/^data:/i.test(content)) {
    throw invalidAttachment(
      path,
      `${path} must be base64 alone; remove the prefix up to the comma ("data:…;base64,").`,
    );
  }
  const bytes = decodeBase64(content);
  if (!bytes) throw invalidAttachment(path, `${path} must be base64.`);
  return bytes;
}

/**
 * Node's decoder skips what it does not know, and then fewer bytes come out; it also takes the letters of base64url, and
 * those beyond Latin-1 for their low byte. A last letter with stray bits is taken, as other decoders do.
 */
function decodeBase64(text: string): Buffer | undefined {
  const compact = (/\s/.test(text) ? text.replace(/\s+/g, '') : text).replace(/={1,2}$/, '');
  if (compact.length % 4 === 1 || /[-_\u0100-\uffff]/.test(compact)) return undefined;
  const bytes = Buffer.from(compact, 'base64');
  return bytes.length === Math.floor((compact.length * 3) / 4) ? bytes : undefined;
}

export const invalidAttachment = (path: string, message: string, because?: unknown): Refusal =>
  refuse('invalid_attachment', { say: message, errors: [{ path, message }], because });
