import type { BlobDigest, NewBlob } from '../../platform/blobs/index.ts';
import type { World } from '../../platform/world/index.ts';
import type { ArcChain } from '../../protocol/arc/index.ts';
import type { Asked } from '../../protocol/dsn/index.ts';
import { formatDate, receivedField } from '../../protocol/mime/index.ts';
import { fileRow, type ContentRow, type FileRow } from '../contents/index.ts';
import { MESSAGE_BLOB, type MessageRow } from '../emails/index.ts';
import type { Spooled } from './spool-message.ts';
import type { SubmittedFile } from './submitted-files.ts';

/** A message that a client composed, ready to be sent except for what its acceptance adds. */
export interface SubmittedMessage {
  spooled: Spooled;
  /** The headers that are kept, unchanged. */
  head: string;
  /** As the client wrote it; null if it wrote none. */
  messageId: string | null;
  hasDate: boolean;
  needsSmtpUtf8: boolean;
  /** The protocol by which it came, as RFC 3848 names it; undefined where the head names the hop already. */
  protocol?: string;
  files: SubmittedFile[];
  /** What the client asked for in the envelope beside the recipients (DSN, REQUIRETLS). */
  asked?: Asked | undefined;
  /** Set for a received message that is forwarded. */
  forwarded?: Passage;
}

/**
 * How a message is forwarded: its return path, and the state of its ARC chain (null: it is signed instead of sealed).
 */
export interface Passage {
  /** Null where bounces come to a return path of ours. */
  mailFrom: string | null;
  chain: ArcChain | null;
}

/**
 * The trace header of our hop comes first, without the client: where an application runs is not disclosed. An existing
 * Date and Message-ID stay; missing ones are added behind the other headers.
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

/** The header fields that the client left out, as they stand behind its own. */
export const listMissingFields = (
  message: Pick<SubmittedMessage, 'messageId' | 'hasDate'>,
  { messageId, at }: { messageId: string; at: Date },
): string[] => [
  ...(message.messageId === null ? [`Message-ID: ${messageId}\r\n`] : []),
  ...(message.hasDate ? [] : [`Date: ${formatDate(at)}\r\n`]),
];

/** A short body is in its message's row, a longer one in a file; one that was too long for memory is a file already. */
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
