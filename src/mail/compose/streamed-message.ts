import type { World } from '../../platform/world/index.ts';
import { isComposite, layOutMessage, surveySevenBit } from '../../protocol/mime/index.ts';
import type { MessageLayout, StoredContent } from '../../protocol/mime/index.ts';
import { DamagedContent, openContent } from '../contents/index.ts';
import { ATTACHMENT_BLOB, findBody, type AttachmentRow, type EmailRow } from '../emails/index.ts';
import type { OutboundMessage } from '../deliver/index.ts';
import type { GiveBack } from '../../platform/fair-share/index.ts';
import { attachmentOf, dateOf, messageInput, signedHead, withTextPart } from './message-input.ts';
import { hashPieces, streamed } from './pieces.ts';
import type { SigningDomain } from './signing-domains.ts';

export interface Sources {
  row: EmailRow;
  domain: SigningDomain;
  attachments: AttachmentRow[];
}

interface Limits {
  /** Waits for the memory of one reading of the message. */
  takeMemory(): Promise<GiveBack>;
  signal: AbortSignal;
}

/** Hashes and signs the message now, block by block; each reading makes it anew, to the same bytes. */
export async function streamedMessage(world: World, sources: Sources, limits: Limits): Promise<OutboundMessage> {
  const layOut = await layouts(world, sources);
  const { head, bodyHash, bodySize, needsSmtpUtf8 } = await sign(await layOut(), sources, limits.signal);

  const content = streamed({
    emailId: sources.row.id,
    head,
    bodyHash,
    bodySize,
    layOut: async () => (await layOut()).pieces,
    takeMemory: limits.takeMemory,
  });
  return { content, size: head.length + bodySize, needsSmtpUtf8 };
}

/** Lays the message out anew at each call, so that its texts are in memory only while it is read. */
async function layouts(
  world: World,
  { row, domain, attachments: rows }: Sources,
): Promise<() => Promise<MessageLayout>> {
  const attachments: ReturnType<typeof attachmentOf>[] = [];
  for (const each of rows) attachments.push(attachmentOf(each, await storedContent(world, each)));
  return async () => {
    const body = await withTextPart(world, row, await (await findBody(world, world.db, row.id))?.load());
    return layOutMessage(await messageInput(world, row, { domain, body, attachments }));
  };
}

async function sign(
  { headers, pieces, needsSmtpUtf8 }: MessageLayout,
  { row, domain }: Sources,
  signal: AbortSignal,
): Promise<{ head: Buffer; bodyHash: string; bodySize: number; needsSmtpUtf8: boolean }> {
  const { bodyHash, bodySize } = await hashPieces(pieces, signal);
  const head = await signedHead({ headers, bodyHash, keys: domain.keys, at: dateOf(row) });
  return { head, bodyHash, bodySize, needsSmtpUtf8 };
}

async function storedContent(world: World, row: AttachmentRow): Promise<StoredContent> {
  const read = (): AsyncIterable<Buffer> => blocksOf(world, ATTACHMENT_BLOB(row.email_id, row.id), row.size);
  const isSevenBit = isComposite(row.content_type) && (await surveySevenBit(read()));
  return { size: row.size, isSevenBit, read };
}

async function* blocksOf(world: World, key: string, size: number): AsyncGenerator<Buffer> {
  const stored = await openContent(world, key, { size: Number(size) });
  if (!stored) throw new DamagedContent(key, 'is missing');
  yield* stored.content as AsyncIterable<Buffer>;
}
