import type { BlobDigest, BlobSpool } from '../../platform/blobs/index.ts';
import type { World } from '../../platform/world/index.ts';
import { BodyHasher } from '../../protocol/dkim/index.ts';
import { ContentCheck, MimeScanner, type FilePart, type TextPart } from '../../protocol/mime-read/index.ts';

/** A message that a client composed, unchanged: read through once, and kept in memory only where it is small. */
export interface Spooled {
  /** The headers without the empty line. */
  head: Buffer;
  /** Counted from the first byte of the body. */
  texts: TextPart[];
  files: FilePart[];
  bodyBytes: number;
  bodyHash: string;
  isEightBit: boolean;
  /** Why it cannot be sent as it is. */
  fault: string | undefined;
  /** A line that not every server carries unchanged; a forwarded message keeps it, because its signatures cover it. */
  longLine?: string | undefined;
  /** Undefined where the body was too large for memory; accepting the message keeps it under a key of the email. */
  body: Buffer | undefined;
  /** Returns the digest of the stored body; undefined if the body was in memory. */
  keep(key: string): Promise<BlobDigest | undefined>;
  read(start: number, end: number): Promise<Buffer>;
  /** Lets go of the body, unless it was kept. */
  discard(): Promise<void>;
}

/** Reads content to its end; large bodies go to the blob store as they come. A failed read leaves nothing behind. */
export async function spoolMessage(world: World, content: AsyncIterable<Buffer>): Promise<Spooled> {
  const [scanner, check, hasher] = [new MimeScanner(), new ContentCheck(), new BodyHasher()];
  const body = createBodySpool(world);
  let offset = 0;
  try {
    for await (const piece of content) {
      check.update(piece);
      // After a fault the rest is read, but not looked at.
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
