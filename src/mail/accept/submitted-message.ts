import type { BlobDigest, NewBlob, BlobSpool } from '../../platform/blobs/index.ts';
import type { World } from '../../platform/world.ts';
import type { ArcChain } from '../../protocol/arc.ts';
import type { Asked } from '../../protocol/dsn.ts';
import { formatDate, receivedField } from '../../protocol/mime/index.ts';
import { fileRow, type ContentRow, type FileRow } from '../contents/index.ts';
import { MESSAGE_BLOB, type MessageRow } from '../emails/index.ts';
import { createHash } from 'node:crypto';
import { decodeWords } from 'postal-mime';
import {
  fileName,
  readStructured,
  transferDecoder,
  ContentCheck,
  MimeScanner,
  type FilePart,
  type TextPart,
} from '../../protocol/mime-read/index.ts';
import { BodyHasher } from '../../protocol/dkim/index.ts';

/** A file within a message that a client composed, with its position in the message. */
export interface SubmittedFile {
  filename: string;
  contentType: string;
  contentDisposition: 'attachment' | 'inline';
  contentId: string | null;
  /** Decoded size in bytes. */
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
      size: await measureDecoded(spooled, part),
      start,
      end,
      encoding,
    });
  }
  return files;
}

const nameless = (type: string): string => (type === 'message/rfc822' ? 'message.eml' : 'attachment');

/** Returns the decoded size, which needs a first reading: it must be known before the file is sent. */
async function measureDecoded(spooled: Spooled, part: FilePart): Promise<number> {
  let size = 0;
  for await (const piece of decoded(spooled, part)) size += piece.length;
  return size;
}

/** Identifies the file by name, type and content, whatever boundaries and line lengths a library chose this time. */
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

/** A message that a client composed, unchanged: read through once, and kept in memory only if it is small. */
export interface Spooled {
  /** The headers without the empty line. */
  head: Buffer;
  /** Counted from the first byte of the body. */
  texts: TextPart[];
  files: FilePart[];
  bodyBytes: number;
  bodyHash: string;
  isEightBit: boolean;
  /** The reason why it cannot be sent as it is. */
  fault: string | undefined;
  /**
   * A line that is too long for some servers to relay unchanged; a forwarded message keeps it, because its signatures
   * cover it.
   */
  longLine?: string | undefined;
  /** Undefined if the body was too large for memory; accepting the message then stores it under a key of the email. */
  body: Buffer | undefined;
  /** Returns the digest of the stored body; undefined if the body was in memory. */
  keep(key: string): Promise<BlobDigest | undefined>;
  read(start: number, end: number): Promise<Buffer>;
  /** Discards the body, unless it was kept. */
  discard(): Promise<void>;
}

/** Reads content to its end; large bodies go to the blob store as they arrive. A failed read leaves no files. */
export async function spoolMessage(world: World, content: AsyncIterable<Buffer>): Promise<Spooled> {
  const scanner = new MimeScanner();
  const check = new ContentCheck();
  const hasher = new BodyHasher();
  const body = createBodySpool(world);
  let offset = 0;
  try {
    for await (const piece of content) {
      check.update(piece);
      // After a fault the remaining content is read, but not checked.
      if (check.fault === undefined && scanner.fault === undefined) {
        scanner.update(piece);
        const own = bodyIn(piece, offset, scanner.bodyStart);
        hasher.update(own);
        await body.add(own);
      }
      offset += piece.length;
    }
    check.end();
    scanner.end();
    const fault = check.fault ?? scanner.fault;
    if (fault === undefined) body.finish();
  } catch (error) {
    await body.discard();
    throw error;
  }
  const bodyStart = scanner.bodyStart ?? offset;
  const shift = (at: number): number => Math.max(0, at - bodyStart);
  return {
    head: scanner.head ?? Buffer.alloc(0),
    texts: scanner.texts.map((part) => ({
      ...part,
      headStart: shift(part.headStart),
      start: shift(part.start),
      end: shift(part.end),
    })),
    files: scanner.files.map((part) => ({ ...part, start: shift(part.start), end: shift(part.end) })),
    bodyBytes: body.size,
    bodyHash: hasher.digest(),
    isEightBit: check.isEightBit,
    fault: check.fault ?? scanner.fault,
    longLine: check.longLine,
    body: body.whole(),
    keep: body.keep,
    read: body.read,
    discard: body.discard,
  };
}

function bodyIn(piece: Buffer, offset: number, bodyStart: number | undefined): Buffer {
  if (bodyStart === undefined || bodyStart >= offset + piece.length) return piece.subarray(piece.length);
  return piece.subarray(Math.max(0, bodyStart - offset));
}

interface BodySpool {
  readonly size: number;
  add(piece: Buffer): Promise<void>;
  finish(): void;
  whole(): Buffer | undefined;
  keep(key: string): Promise<BlobDigest | undefined>;
  read(start: number, end: number): Promise<Buffer>;
  discard(): Promise<void>;
}

/** Keeps the body in memory while it is small enough for a row of either kind, and in the blob store beyond that. */
function createBodySpool(world: World): BodySpool {
  const { inline_bytes: inlineBytes, row_bytes: rowBytes } = world.config.storage;
  const heldMax = Math.max(inlineBytes, rowBytes);
  let held: Buffer[] = [];
  let size = 0;
  let spool: BlobSpool | undefined;
  const joined = (): Buffer => (held.length === 1 && held[0] ? held[0] : Buffer.concat(held));

  return {
    get size() {
      return size;
    },
    async add(piece) {
      if (piece.length === 0) return;
      size += piece.length;
      // Copied, since the piece may be a view of a buffer that is used again.
      if (!spool && size <= heldMax) return void held.push(Buffer.from(piece));
      spool ??= await world.blobs.spool(world.ids.uuid());
      for (const each of [...held, piece]) await spool.write(each);
      held = [];
    },
    finish() {
      if (!spool) held = [Buffer.concat(held)];
    },
    whole: () => (spool ? undefined : joined()),
    keep: async (key) => spool?.keep(key),
    read: async (start, end) => spool?.read({ start, end }) ?? joined().subarray(start, end),
    discard: async () => spool?.close(),
  };
}

/** A message that a client composed, complete except for the fields that its acceptance adds. */
export interface SubmittedMessage {
  spooled: Spooled;
  /** The kept headers, unchanged. */
  head: string;
  /** The Message-ID that the client wrote; null if it wrote none. */
  messageId: string | null;
  hasDate: boolean;
  needsSmtpUtf8: boolean;
  /** The protocol by which it arrived, as RFC 3848 names it; undefined if the head names the hop already. */
  protocol?: string;
  files: SubmittedFile[];
  /** Options that the client gave in the envelope in addition to the recipients (DSN, REQUIRETLS). */
  asked?: Asked | undefined;
  /** Set for a received message that is forwarded. */
  forwarded?: Passage;
}

/**
 * The way in which a message is forwarded: its return path, and the state of its ARC chain (null: it is signed instead
 * of sealed).
 */
export interface Passage {
  /** Null if bounces come to a return path of ours. */
  mailFrom: string | null;
  chain: ArcChain | null;
}

/**
 * Builds the row of a message. The trace header of our hop comes first, without the client: where an application runs
 * is not disclosed. An existing Date and Message-ID stay; missing ones are added after the other headers.
 */
export function messageRow(
  world: World,
  message: SubmittedMessage,
  { emailId, messageId, createdAt }: { emailId: string; messageId: string; createdAt: number },
): MessageRow {
  const { spooled, needsSmtpUtf8, protocol } = message;
  const at = new Date(createdAt);
  const trace =
    protocol === undefined ? '' : receivedField({ by: world.config.instance.host, protocol, id: emailId, at });
  const missing = listMissingFields(message, { messageId, at });
  const html = spooled.texts.filter(({ type, isSealed }) => type === 'text/html' && !isSealed);
  return {
    email_id: emailId,
    head: trace + message.head + missing.join(''),
    body: isInRow(world, spooled) ? (spooled.body?.toString('latin1') ?? null) : null,
    body_bytes: spooled.bodyBytes,
    body_hash: spooled.bodyHash,
    html_parts: html.length === 0 ? null : JSON.stringify(html),
    is_eight_bit: spooled.isEightBit ? 1 : 0,
    needs_smtp_utf8: needsSmtpUtf8 ? 1 : 0,
    arc_chain: message.forwarded?.chain ?? null,
  };
}

/** Lists the header fields that the client left out, which are added after its own. */
export const listMissingFields = (
  message: Pick<SubmittedMessage, 'messageId' | 'hasDate'>,
  { messageId, at }: { messageId: string; at: Date },
): string[] => [
  ...(message.messageId === null ? [`Message-ID: ${messageId}\r\n`] : []),
  ...(message.hasDate ? [] : [`Date: ${formatDate(at)}\r\n`]),
];

/**
 * Reports whether a body is in its message's row. A longer one is in a file; one that was too long for memory is a file
 * already.
 */
const isInRow = ({ config }: World, { bodyBytes }: Spooled): boolean => bodyBytes <= config.storage.inline_bytes;

export function messageContents(world: World, emailId: string, { spooled }: SubmittedMessage): NewBlob[] {
  if (!spooled.body || isInRow(world, spooled)) return [];
  return [{ key: `${emailId}/${MESSAGE_BLOB}`, content: spooled.body }];
}

/**
 * Stores the bodies that were too large for memory, before any row names them, and adds the rows that describe their files. A
 * body of several emails is stored for the first of them and linked for the others.
 */
export async function keepBodies(
  { blobs }: World,
  emails: readonly { message: SubmittedMessage | undefined; emailId: string; contents: (ContentRow | FileRow)[] }[],
): Promise<void> {
  const kept = new Map<Spooled, { key: string; digest: BlobDigest }>();
  for (const { message, emailId, contents } of emails) {
    if (!message || !isSpooled(message)) continue;
    const key = `${emailId}/${MESSAGE_BLOB}`;
    const first = kept.get(message.spooled);
    if (first) await blobs.linkAll([{ from: first.key, to: key }]);
    const digest = first?.digest ?? (await message.spooled.keep(key));
    if (!digest) continue;
    if (!first) kept.set(message.spooled, { key, digest });
    contents.push(fileRow(key, digest));
  }
}

export const isSpooled = ({ spooled }: SubmittedMessage): boolean => spooled.body === undefined;
