import PostalMime from 'postal-mime';
import { endOfLine, endOfLines, plainLines } from './body-lines.ts';
import { createBodyDecoder, type BodyDecoder } from './body-decoder.ts';
import { decodeFlowedText } from './flowed-text.ts';

/** What postal-mime has of a part, and is not in its types. */
interface Part {
  parentNode?: Part;
  childNodes: Part[];
  state: 'header' | 'body' | 'finished';
  contentType: { multipart: string | false; parsed: Structured };
  contentDisposition: { parsed: Structured };
  contentTransferEncoding: { encoding: string };
  contentDecoder: BodyDecoder | null;
  content: ArrayBuffer | null;
  decodeFlowedText(text: string, isDelSp: boolean): string;
  finalize(): Promise<void>;
}

interface Structured {
  value: string;
  params: Record<string, string | undefined>;
}

/**
 * Changes postal-mime in three ways: a part with a file name is a file, a body is read in runs of lines (each call costs it some
 * 15 µs) by decoders of ours, and format=flowed is decoded by RFC 3676. Its version is pinned: what is changed here is not what it
 * promises to keep.
 */
export class MessageParser extends PostalMime {
  declare root: Part;
  declare currentNode: Part;
  declare boundaries: { value: Uint8Array }[];
  declare av: Uint8Array;
  declare readPos: number;
  readonly #ourDecoders = new WeakSet<BodyDecoder>();

  /** Called when the last line was read, before the parts are sorted into texts and files. */
  async finalize(): Promise<void> {
    await this.root.finalize();
    for (const part of this.root.childNodes) asLeaf(part);
  }

  readLine(): { bytes: Uint8Array; done: boolean } {
    const { av, readPos: from, currentNode: part } = this;
    if (part.state === 'body' && part.contentDecoder && !this.#ourDecoders.has(part.contentDecoder)) {
      part.contentDecoder = createBodyDecoder(part.contentTransferEncoding.encoding);
      this.#ourDecoders.add(part.contentDecoder);
    }
    const raw = Buffer.from(av.buffer, av.byteOffset, av.byteLength);
    const boundaries = this.boundaries.map(({ value }) => value);
    this.readPos = part.state === 'header' ? endOfLine(raw, from) : endOfLines(raw, from, boundaries);
    return { bytes: plainLines(raw, from, this.readPos), done: this.readPos >= raw.length };
  }

  async collectNode(part: Part, alternative: Part | false, related: boolean): Promise<void> {
    // The lines of a large text are not joined, because parsing it would take ten times its memory.
    if ((part.content?.byteLength ?? 0) > FLOWED_BYTES_MAX) part.contentType.parsed.params['format'] = '';
    part.decodeFlowedText = decodeFlowedText;
    await COLLECT.call(this, part, alternative, related);
    // A text is a string by now.
    if (part.contentType.multipart === false && this.isInlineTextNode(part)) part.content?.transfer(0);
  }

  isInlineTextNode(part: Part): boolean {
    const { value } = part.contentType.parsed;
    const isText = value === 'text/plain' || value === 'text/html';
    return isText && part.contentDisposition.parsed.value !== 'attachment' && !isNamedFile(part);
  }
}

const FLOWED_BYTES_MAX = 4 * 1024 * 1024;
const COLLECT = (PostalMime.prototype as unknown as Pick<MessageParser, 'collectNode'>).collectNode;

/** A multipart in which no part was found has a body all the same. */
function asLeaf(part: Part): void {
  for (const child of part.childNodes) asLeaf(child);
  if (part.contentType.multipart === false || part.childNodes.length > 0) return;
  const isFile = part.contentDisposition.parsed.value === 'attachment' || typeNameOf(part) || fileNameOf(part);
  part.contentType.multipart = false;
  part.contentType.parsed.value = isFile ? 'application/octet-stream' : 'text/plain';
}

/** Not the message itself, nor one of several forms of a text, nor what the parts beside it belong to. */
function isNamedFile(part: Part): boolean {
  const { parentNode: parent } = part;
  if (!parent || parent.contentType.multipart === 'alternative') return false;
  if (parent.childNodes[0] !== part) return typeNameOf(part) || fileNameOf(part);
  // Some programs name the type of the text that they begin with.
  return parent.contentType.multipart === 'mixed' && fileNameOf(part);
}

const fileNameOf = (part: Part): boolean => (part.contentDisposition.parsed.params['filename'] ?? '') !== '';
const typeNameOf = (part: Part): boolean => (part.contentType.parsed.params['name'] ?? '') !== '';
