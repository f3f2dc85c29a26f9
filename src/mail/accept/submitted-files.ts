import { createHash } from 'node:crypto';
import { decodeWords } from 'postal-mime';
import { fileName, readStructured, transferDecoder, type FilePart } from '../../protocol/mime-read/index.ts';
import type { Spooled } from './spool-message.ts';

/** A file within a message that a client composed, and where in the message it can be read from. */
export interface SubmittedFile {
  filename: string;
  contentType: string;
  contentDisposition: 'attachment' | 'inline';
  contentId: string | null;
  /** In bytes, decoded. */
  size: number;
  /** Counted from the first byte of the body. */
  start: number;
  end: number;
  encoding: string;
}

const PIECE_BYTES = 256 * 1024;
const TYPE_FORM = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/;

export async function readFiles(spooled: Spooled): Promise<SubmittedFile[]> {
  const files: SubmittedFile[] = [];
  for (const part of spooled.files) {
    const { value } = readStructured(part.contentType);
    const contentType = TYPE_FORM.test(value) ? value : 'application/octet-stream';
    const contentId = part.contentId.trim().replace(/^<(.*)>$/s, '$1');
    const { start, end, encoding } = part;
    files.push({
      filename: fileName(part.disposition, part.contentType, decodeWords) ?? nameless(contentType),
      contentType,
      contentDisposition: readStructured(part.disposition).value === 'inline' ? 'inline' : 'attachment',
      contentId: /^[\x21-\x7e]{1,250}$/.test(contentId) ? contentId : null,
      size: await sizeOf(spooled, part),
      start,
      end,
      encoding,
    });
  }
  return files;
}

const nameless = (type: string): string => (type === 'message/rfc822' ? 'message.eml' : 'attachment');

/** The decoded size, which needs a first reading: it must be known before the file is sent. */
async function sizeOf(spooled: Spooled, part: FilePart): Promise<number> {
  let size = 0;
  for await (const piece of decoded(spooled, part)) size += piece.length;
  return size;
}

/** Identifies the file by name, type and content, whatever boundaries and line lengths a library wrote around it this time. */
export async function identify(spooled: Spooled, file: SubmittedFile): Promise<readonly string[]> {
  const hash = createHash('sha256');
  for await (const piece of decoded(spooled, file)) hash.update(piece);
  return [file.filename, file.contentType, hash.digest('hex')];
}

async function* decoded(
  spooled: Spooled,
  { start, end, encoding }: Pick<FilePart, 'start' | 'end' | 'encoding'>,
): AsyncGenerator<Uint8Array> {
  const decoder = transferDecoder(encoding);
  for (let at = start; at < end; at += PIECE_BYTES) {
    yield decoder.update(await spooled.read(at, Math.min(end, at + PIECE_BYTES)));
  }
  yield decoder.end();
}
