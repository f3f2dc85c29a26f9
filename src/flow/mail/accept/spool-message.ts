import type { BlobWriter } from '../../../platform/blobs/index.ts';
import type { World } from '../../../platform/world/index.ts';
import { BodyHasher } from '../../../protocol/dkim/index.ts';
import { ContentCheck, MimeScanner, type FilePart, type TextPart } from '../../../protocol/mime-read/index.ts';
import { MESSAGE_BLOB } from '../../../resources/emails/index.ts';

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
  /** Undefined where the body is a blob of `blobOwner`; accepting the message moves that to the email. */
  body: Buffer | undefined;
  blobOwner: string | undefined;
  read(start: number, end: number): Promise<Buffer>;
  /** Removes the blob, unless the message was accepted. */
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
    if (fault === undefined) await body.finish();
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
    blobOwner: body.owner(),
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
  finish(): Promise<void>;
  whole(): Buffer | undefined;
  owner(): string | undefined;
  read(start: number, end: number): Promise<Buffer>;
  discard(): Promise<void>;
}

/** Keeps the body in memory while it is small enough for a row of either kind, and in the blob store beyond that. */
function createBodySpool(world: World): BodySpool {
  const { inline_bytes: inlineBytes, row_bytes: rowBytes } = world.config.storage;
  const heldMax = Math.max(inlineBytes, rowBytes);
  const owner = world.ids.uuid();
  const key = `${owner}/${MESSAGE_BLOB}`;
  let held: Buffer[] = [];
  let size = 0;
  let writer: BlobWriter | undefined;
  const joined = (): Buffer => (held.length === 1 && held[0] ? held[0] : Buffer.concat(held));

  return {
    get size() {
      return size;
    },
    async add(piece) {
      if (piece.length === 0) return;
      size += piece.length;
      // Copied, since the piece may be a view of a buffer that is used again.
      if (!writer && size <= heldMax) return void held.push(Buffer.from(piece));
      writer ??= await world.blobs.write(key);
      for (const each of [...held, piece]) await writer.write(each);
      held = [];
    },
    async finish() {
      if (writer) return writer.commit();
      held = [Buffer.concat(held)];
    },
    whole: () => (writer ? undefined : joined()),
    owner: () => (writer ? owner : undefined),
    async read(start, end) {
      if (!writer) return joined().subarray(start, end);
      if (end <= start) return Buffer.alloc(0);
      const blob = await world.blobs.open(key, { start, end });
      return Buffer.concat(blob ? ((await blob.content.toArray()) as Buffer[]) : []);
    },
    async discard() {
      if (!writer) return;
      await writer.discard();
      await world.blobs.remove(owner);
    },
  };
}
