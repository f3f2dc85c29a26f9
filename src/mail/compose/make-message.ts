import type { World } from '../../platform/world.ts';
import {
  composeMessage,
  isComposite,
  layOutMessage,
  surveySevenBit,
  type MessageLayout,
  type StoredContent,
} from '../../protocol/mime/index.ts';
import { readContents, DamagedContent, openContent } from '../contents/index.ts';
import {
  listEmailAttachments,
  createBodyFinder,
  ATTACHMENT_BLOB,
  findBody,
  type EmailRow,
  type StoredBody,
  type AttachmentRow,
} from '../emails/index.ts';
import type { OutboundMessage } from '../deliver/index.ts';
import { createFairShare, type FairShare, type Release } from '../../platform/limits/index.ts';
import { toAttachment, chooseDate, messageInput, signedHead, withTextPart } from './message-input.ts';
import type { SigningDomain } from './signing-domains.ts';
import {
  layOutSubmitted,
  mustFindMessage,
  streamedSubmitted,
  trackedBytes,
  wholeSubmitted,
  type SubmittedLayout,
} from './submitted-layout.ts';
import { hashPieces, streamed } from './pieces.ts';

export interface Made {
  message: OutboundMessage;
  /** Releases the memory that is reserved for it. */
  release: Release;
}

export type MakeMessage = (row: EmailRow, domain: SigningDomain, signal: AbortSignal) => Promise<Made>;

const MIB = 1024 * 1024;

/**
 * Memory for messages that are kept as they were made: ordinary mail under way, and attachments as far as there is
 * room.
 */
const KEPT_BYTES_TOTAL = 96 * MIB;
/** The largest message that is kept, of about 200 KB of content: reading and encoding a smaller one again costs more. */
const KEPT_BYTES_MAX = MIB / 2;
/** Memory for larger messages while they are signed and sent. */
const WORKING_BYTES_TOTAL = 96 * MIB;
/** Messages hashed at one time: hashing blocks the event loop, which other mail needs too. */
const HASHING_MAX = 4;

/**
 * Creates the maker of messages. An ordinary message is made once and kept, in memory that large ones never take. A
 * large one is hashed and signed once, and made again, block by block, by each connection that sends it: nothing large
 * is in memory for a receiver that has not asked for it. When a team's share is used up, its mail is made in the second
 * way, or waits for its own.
 */
export function createMakeMessage(world: World): MakeMessage {
  const kept = createFairShare(KEPT_BYTES_TOTAL);
  const working = createFairShare(WORKING_BYTES_TOTAL);
  const hashing = createFairShare(HASHING_MAX);
  const loadBody = createBodyFinder(world);

  return async (row, domain, signal) => {
    if (domain.fault !== undefined)
      throw new Error(`the keys of ${domain.name} cannot be used`, { cause: domain.fault });
    if (row.has_message === 1) return makeSubmitted(row, domain, signal);
    const attachments = row.attachment_count > 0 ? await listEmailAttachments(world.db, [row.id]) : [];
    const body = await loadBody(row.id);
    const sources = { row, domain, attachments };
    const { whole, streamed } = weigh(sources, body);
    const release = whole > KEPT_BYTES_MAX ? undefined : kept.tryAcquire(row.team_id, whole);
    if (release) return keep(sources, body, release);
    const takeMemory = (): Promise<Release> => working.acquire(row.team_id, streamed);
    return holding([takeMemory, () => takeTurn(hashing, row)], async () => ({
      message: await streamedMessage(world, sources, { takeMemory, signal }),
      release: () => undefined,
    }));
  };

  /**
   * Makes a message that a client composed: its size is known before it is laid out, and without tracking so is its
   * hash.
   */
  async function makeSubmitted(row: EmailRow, domain: SigningDomain, signal: AbortSignal): Promise<Made> {
    const stored = await mustFindMessage(world, row);
    const layOut = (): Promise<SubmittedLayout> => layOutSubmitted(world, row, { message: stored, domain });
    const texts = trackedBytes(stored, domain) * TRACKED_FACTOR;
    const whole = HEAD_BYTES + stored.head.length + stored.body_bytes + texts;
    const release = whole > KEPT_BYTES_MAX ? undefined : kept.tryAcquire(row.team_id, whole);
    const parts = { row, domain, signal };
    if (release) return releaseOnFailure(release, () => wholeSubmitted(layOut, parts));
    const streamed = HEAD_BYTES + stored.head.length + BLOCKS_BYTES + texts * TEXT_FACTOR;
    const takeMemory = (): Promise<Release> => working.acquire(row.team_id, streamed);
    return holding([takeMemory, () => takeTurn(hashing, row)], async () => ({
      message: await streamedSubmitted(layOut, parts, takeMemory),
      release: () => undefined,
    }));
  }

  function keep(sources: Sources, body: StoredBody | undefined, release: Release): Promise<Made> {
    return releaseOnFailure(release, () => wholeMessage(world, sources, body));
  }
}

async function releaseOnFailure(release: Release, make: () => Promise<OutboundMessage>): Promise<Made> {
  try {
    return { message: await make(), release };
  } catch (error) {
    release();
    throw error;
  }
}

const takeTurn = (turns: FairShare, row: EmailRow): Promise<Release> => turns.acquire(row.team_id, 1);

/** Acquires one after the other, runs `work`, and releases all of it. */
async function holding<T>(takes: (() => Promise<Release>)[], work: () => Promise<T>): Promise<T> {
  const [take, ...others] = takes;
  if (!take) return work();
  const release = await take();
  try {
    return await holding(others, work);
  } finally {
    release();
  }
}

const HEAD_BYTES = 8 * 1024;
/** Base64 adds a third, and the content itself is held at the same time while the message is made. */
const MAKING_FACTOR = 2.4;
/** A block of an attachment as it is read, as it is encoded, and as it waits for the socket. */
const BLOCKS_BYTES = MIB / 2;
/** A text as it is stored, as a string, as bytes and as it is encoded. */
const TEXT_FACTOR = 5;
/** Tracked links are longer. */
const TRACKED_FACTOR = 2;

/** Estimates the memory of a message if all of it is made at once, and if its attachments are streamed. */
function weigh({ row, domain, attachments }: Sources, body?: StoredBody): { whole: number; streamed: number } {
  const files = attachments.reduce((sum, attachment) => sum + attachment.size, 0);
  const html = (body?.htmlBytes ?? 0) * (domain.tracking ? TRACKED_FACTOR : 1);
  // A missing text is made from the HTML and is never longer than it.
  const texts = html + (body?.textBytes || body?.htmlBytes || 0);
  const head = HEAD_BYTES + (row.headers?.length ?? 0);
  return { whole: head + (texts + files) * MAKING_FACTOR, streamed: head + BLOCKS_BYTES + texts * TEXT_FACTOR };
}

async function wholeMessage(world: World, sources: Sources, body?: StoredBody): Promise<OutboundMessage> {
  const { row, domain, attachments: rows } = sources;
  const contents = await readContents(
    world,
    row.id,
    rows.map(({ id }) => id),
  );
  const attachments = rows.map((each, i) => toAttachment(each, contents[i] ?? Buffer.alloc(0)));
  const composed = composeMessage(
    await messageInput(world, row, { domain, body: await withTextPart(world, row, await body?.load()), attachments }),
  );
  const { headers, needsSmtpUtf8 } = composed;
  const head = await signedHead({ headers, body: composed.body, keys: domain.keys, at: chooseDate(row) });
  return { content: [head, composed.body], size: head.length + composed.body.length, needsSmtpUtf8 };
}

interface Sources {
  row: EmailRow;
  domain: SigningDomain;
  attachments: AttachmentRow[];
}

interface Limits {
  /** Waits for the memory of one reading of the message. */
  takeMemory(): Promise<Release>;
  signal: AbortSignal;
}

/** Hashes and signs the message now, block by block; each reading makes the same bytes again. */
async function streamedMessage(world: World, sources: Sources, limits: Limits): Promise<OutboundMessage> {
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
  const attachments: ReturnType<typeof toAttachment>[] = [];
  for (const each of rows) attachments.push(toAttachment(each, await storedContent(world, each)));
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
  const head = await signedHead({ headers, bodyHash, keys: domain.keys, at: chooseDate(row) });
  return { head, bodyHash, bodySize, needsSmtpUtf8 };
}

async function storedContent(world: World, row: AttachmentRow): Promise<StoredContent> {
  const read = (): AsyncIterable<Buffer> => readStoredBlocks(world, ATTACHMENT_BLOB(row.email_id, row.id), row.size);
  const isSevenBit = isComposite(row.content_type) && (await surveySevenBit(read()));
  return { size: row.size, isSevenBit, read };
}

async function* readStoredBlocks(world: World, key: string, size: number): AsyncGenerator<Buffer> {
  const stored = await openContent(world, key, { size: Number(size) });
  if (!stored) throw new DamagedContent(key, 'is missing');
  yield* stored.content as AsyncIterable<Buffer>;
}
