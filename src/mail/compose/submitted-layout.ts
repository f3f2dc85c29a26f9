import { trackHtml } from './track-html.ts';
import type { World } from '../../platform/world.ts';
import { sealArc, type ArcChain } from '../../protocol/arc.ts';
import { signDkim } from '../../protocol/dkim/index.ts';
import { encodeText, type HeaderField, type Piece } from '../../protocol/mime/index.ts';
import { decodeText, readFields, type RawField, type TextPart } from '../../protocol/mime-read/index.ts';
import { contentParts, DamagedContent } from '../contents/index.ts';
import { findMessage, MESSAGE_BLOB, type EmailRow, type MessageRow } from '../emails/index.ts';
import type { OutboundMessage } from '../deliver/index.ts';
import type { Release } from '../../platform/limits/index.ts';
import { chooseDate, listReceiverHeaders } from './message-input.ts';
import { readBlocks, ContentChanged, hashPieces, streamed } from './pieces.ts';
import type { SigningDomain } from './signing-domains.ts';

/** A message that its client composed, ready to be signed. */
export interface SubmittedLayout {
  head: string;
  pieces: Piece[];
  /** The hash of the unchanged body; undefined if tracking has changed it. */
  bodyHash: string | undefined;
  needsSmtpUtf8: boolean;
  isEightBit: boolean;
  /** Set for a forwarded message: it is sealed with it, and not signed. */
  arcChain: ArcChain | null;
}

export async function mustFindMessage(world: World, row: EmailRow): Promise<MessageRow> {
  const message = await findMessage(world.db, row.id);
  if (!message) throw new Error(`the message of email ${row.id} is missing`);
  return message;
}

/** Returns the size of the HTML texts that tracking may change, which are in memory while the message is laid out. */
export const trackedBytes = (message: MessageRow, domain: SigningDomain): number =>
  domain.tracking ? htmlParts(message).reduce((sum, { start, end }) => sum + end - start, 0) : 0;

/**
 * Lays out the message byte for byte, after the headers for receivers; if its domain tracks, with other links in its HTML and
 * nothing else changed.
 */
export async function layOutSubmitted(
  world: World,
  row: EmailRow,
  { message, domain }: { message: MessageRow; domain: SigningDomain },
): Promise<SubmittedLayout> {
  const body = createBodyReader(world, message);
  const flags = {
    needsSmtpUtf8: message.needs_smtp_utf8 === 1,
    isEightBit: message.is_eight_bit === 1,
    arcChain: message.arc_chain,
  };
  const parts = domain.tracking ? htmlParts(message) : [];
  if (parts.length === 0)
    return {
      head: withReceiverHeaders(world, row, domain, message),
      pieces: [body(0, message.body_bytes)],
      bodyHash: message.body_hash,
      ...flags,
    };
  const pieces: Piece[] = [];
  let head = withReceiverHeaders(world, row, domain, message);
  let at = 0;
  for (const [index, part] of parts.entries()) {
    const tracked = await trackPart(world, { row, domain, part, isFirst: index === 0 }, (start, end) =>
      readPiece(body(start, end)),
    );
    if (!tracked) continue;
    const isWhole = part.headStart === part.start;
    if (isWhole) head = withEncoding(readHeadFields(Buffer.from(head)) ?? [], tracked.encoding);
    const partHead = isWhole
      ? Buffer.alloc(0)
      : await newPartHead(await readPiece(body(part.headStart, part.start)), tracked.encoding);
    pieces.push(body(at, part.headStart), partHead, ended(tracked.content, isWhole));
    at = part.end;
  }
  pieces.push(body(at, message.body_bytes));
  return { head, pieces: pieces.filter(({ length }) => length > 0), bodyHash: undefined, ...flags };
}

/** Puts the headers for receivers that the client did not write before its own. A sealed message is another author's, and stays as it is. */
function withReceiverHeaders(
  { config }: World,
  row: EmailRow,
  domain: SigningDomain,
  { head, arc_chain: arcChain }: MessageRow,
): string {
  if (arcChain !== null) return head;
  const written = new Set((readHeadFields(Buffer.from(head)) ?? []).map(({ lower }) => lower));
  const added = listReceiverHeaders(config.delivery, row, domain.name, written);
  return added.map(([name, value]) => `${name}: ${value}\r\n`).join('') + head;
}

interface Parts {
  row: EmailRow;
  domain: SigningDomain;
  signal: AbortSignal;
}

export async function wholeSubmitted(layOut: () => Promise<SubmittedLayout>, parts: Parts): Promise<OutboundMessage> {
  const { pieces, ...layout } = await layOut();
  const body: Buffer[] = [];
  for await (const block of readBlocks(pieces)) body.push(block);
  const size = body.reduce((sum, { length }) => sum + length, 0);
  const isInRow = pieces.every((piece) => Buffer.isBuffer(piece));
  const known = layout.bodyHash;
  const bodyHash = known !== undefined && isInRow ? known : (await hashPieces(body, parts.signal)).bodyHash;
  // The hash was made when the message was accepted.
  if (known !== undefined && bodyHash !== known) throw new ContentChanged(parts.row.id);
  const head = await signedHead(layout, bodyHash, parts);
  return { content: [head, ...body], size: head.length + size, ...pickFlags(layout) };
}

/** Hashes the body if tracking changed it; each connection that sends it reads it anew. */
export async function streamedSubmitted(
  layOut: () => Promise<SubmittedLayout>,
  parts: Parts,
  takeMemory: () => Promise<Release>,
): Promise<OutboundMessage> {
  const { pieces, ...layout } = await layOut();
  const known = layout.bodyHash;
  const { bodyHash, bodySize } =
    known === undefined
      ? await hashPieces(pieces, parts.signal)
      : { bodyHash: known, bodySize: pieces.reduce((sum, { length }) => sum + length, 0) };
  const head = await signedHead(layout, bodyHash, parts);
  const content = streamed({
    emailId: parts.row.id,
    head,
    bodyHash,
    bodySize,
    layOut: async () => (await layOut()).pieces,
    takeMemory,
  });
  return { content, size: head.length + bodySize, ...pickFlags(layout) };
}

const pickFlags = ({ needsSmtpUtf8, isEightBit }: Pick<SubmittedLayout, 'needsSmtpUtf8' | 'isEightBit'>) => ({
  needsSmtpUtf8,
  isEightBit,
});

type Head = Pick<SubmittedLayout, 'head' | 'arcChain'>;

/** Signatures or a seal, headers, and the empty line: everything up to the body. */
async function signedHead({ head, arcChain }: Head, bodyHash: string, { row, domain }: Parts): Promise<Buffer> {
  const fields = readHeadFields(Buffer.from(head)) ?? [];
  const headers = fields.map(({ name, value }): HeaderField => [name, value]);
  const at = chooseDate(row);
  if (arcChain === null) {
    return Buffer.from(`${await signDkim({ headers, bodyHash, keys: domain.keys, at })}${head}\r\n`);
  }
  // RFC 8617 has no other algorithm.
  const key = domain.keys.find(({ algorithm }) => algorithm === 'rsa-sha256');
  const seal = key && arcChain !== 'unsealed' ? await sealArc({ headers, bodyHash, key, at, chain: arcChain }) : '';
  return Buffer.from(`${seal}${head}\r\n`);
}

const htmlParts = ({ html_parts: parts }: MessageRow): TextPart[] =>
  parts === null ? [] : (JSON.parse(parts) as TextPart[]);

/** Reads a range of the body, on demand if it is not in the row. */
function createBodyReader(
  world: World,
  { body, body_bytes: bytes, email_id: id }: MessageRow,
): (start: number, end: number) => Piece {
  if (body !== null) return (start, end) => Buffer.from(body.slice(start, end), 'latin1');
  const part = contentParts(world, `${id}/${MESSAGE_BLOB}`, Number(bytes));
  return (start, end) => ({
    length: end - start,
    async *read() {
      if (end <= start) return;
      const content = await part({ start, end });
      if (!content) throw new DamagedContent(`${id}/${MESSAGE_BLOB}`, 'is missing');
      yield* content as AsyncIterable<Buffer>;
    },
  });
}

async function readPiece(piece: Piece): Promise<Buffer> {
  const blocks: Buffer[] = [];
  for await (const block of readBlocks([piece])) blocks.push(block);
  return Buffer.concat(blocks);
}

interface Tracked {
  row: EmailRow;
  domain: SigningDomain;
  part: TextPart;
  isFirst: boolean;
}

/**
 * Tracks the links of a part; undefined leaves it as it is, for instance if its head cannot take another encoding. Only
 * the first part gets a pixel, so that one view of a message is one open.
 */
async function trackPart(
  world: World,
  { row, domain, part, isFirst }: Tracked,
  read: (start: number, end: number) => Promise<Buffer>,
): Promise<ReturnType<typeof encodeText> | undefined> {
  if (!domain.tracking) return undefined;
  if (part.headStart !== part.start && !readHeadFields(await read(part.headStart, part.start))) return undefined;
  const html = decodeText(await read(part.start, part.end), part);
  const links = { ...domain.tracking, opens: domain.tracking.opens && isFirst };
  const { id: emailId, domain_id: domainId, team_id: teamId } = row;
  const tracked = await trackHtml.call(world, { emailId, domainId, teamId }, html, links);
  return tracked === html ? undefined : encodeText(isUnicode(part.charset) ? tracked : escaped(tracked));
}

const isUnicode = (charset: string): boolean => ['utf-8', 'utf8'].includes(charset);

/** The part keeps its charset: HTML can write every character in ASCII. */
const escaped = (html: string): string => html.replace(/[^\0-\x7f]/gu, (char) => `&#${char.codePointAt(0)};`);

/** Reads the fields of a head, which may end in its empty line. */
function readHeadFields(head: Buffer): RawField[] | undefined {
  const end =
    head.length >= 2 && head.subarray(-4).toString('latin1').endsWith('\r\n\r\n') ? head.length - 2 : head.length;
  const fields = readFields(head.toString('latin1') === '\r\n' ? Buffer.alloc(0) : head.subarray(0, end));
  return 'fault' in fields ? undefined : fields;
}

function withEncoding(fields: readonly RawField[], encoding: string): string {
  const others = fields.filter(({ lower }) => lower !== 'content-transfer-encoding');
  return `${others.map(({ raw }) => raw).join('')}Content-Transfer-Encoding: ${encoding}\r\n`;
}

const newPartHead = async (head: Buffer, encoding: string): Promise<Buffer> =>
  Buffer.from(`${withEncoding(readHeadFields(head) ?? [], encoding)}\r\n`);

/** Ends the last line of a message; before a boundary, the line end is there already. */
function ended(content: Buffer, isWhole: boolean): Buffer {
  const hasEnd = content.subarray(-2).toString('latin1') === '\r\n';
  return isWhole && !hasEnd ? Buffer.concat([content, Buffer.from('\r\n')]) : content;
}
