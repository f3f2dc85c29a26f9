import { gatherContent, type MessageContent, type ContentGatherer } from '../../mail/receive/index.ts';
import { createFairShare, createSemaphore } from '../../platform/limits/index.ts';
import type { World } from '../../platform/world.ts';
import { SmtpReply, temporaryTrouble, type Content } from './handler.ts';
import { createBareLineEnds } from '../../protocol/line-ends.ts';
import type { Clock } from '../../platform/clock.ts';

/** The space for messages while they come in and wait to be read, over all connections. */
interface ContentSpace {
  /** Reports whether a message of so many bytes would find room now. */
  fits(client: string, bytes: number): boolean;
  /** Returns the space of one message from `client`. */
  begin(client: string): MessageSpace;
}

interface MessageSpace {
  /**
   * Returns where the next bytes go: once a file is needed, all further bytes go to it; undefined when there is no more
   * room.
   */
  take(bytes: number): 'memory' | 'file' | undefined;
  release(): void;
}

/** Larger messages, which are few, go to a file. */
const IN_MEMORY_BYTES = 128 * 1024;

/**
 * Each client may use as much of the file space as it leaves to others, so that a client that keeps large messages open
 * blocks only its own. When the memory is used up, ordinary messages go to files too.
 */
export function createContentSpace({ memoryBytes, fileBytes }: Record<'memoryBytes' | 'fileBytes', number>) {
  const memory = { free: memoryBytes };
  const files = createFairShare(fileBytes);
  const space: ContentSpace = {
    fits: (client, bytes) => bytes <= IN_MEMORY_BYTES || files.fits(client, bytes),
    begin(client) {
      let held = 0;
      let filed = 0;
      return {
        take(bytes) {
          if (filed === 0 && held + bytes <= IN_MEMORY_BYTES && bytes <= memory.free) {
            memory.free -= bytes;
            held += bytes;
            return 'memory';
          }
          // The bytes held in memory move to the file as well.
          if (bytes === 0) return 'file';
          if (!files.fits(client, held + bytes)) return undefined;
          files.enter(client, held + bytes);
          filed += held + bytes;
          memory.free += held;
          held = 0;
          return 'file';
        },
        release() {
          memory.free += held;
          if (filed > 0) files.leave(client, filed);
          [held, filed] = [0, 0];
        },
      };
    },
  };
  return space;
}

/** Takes messages in, of many clients at a time, within `receiving.memory_bytes` and `receiving.spool_bytes`. */
interface Intake {
  /** Throws the refusal of a message that is announced as larger than there is room for. */
  mustFit(client: string, bytes: number): void;
  /**
   * Reads the content and has it processed; waits for its turn when it is large, unless the client `isGone` by then.
   */
  take<T>(from: Bringer, content: Content, carryOut: (message: MessageContent) => Promise<T>): Promise<T>;
}

interface Bringer {
  client: string;
  isGone(): boolean;
}

/**
 * The share of `receiving.memory_bytes` for ordinary messages; the remaining memory is for reading large ones, one
 * after the other if need be.
 */
const HELD_PART = 1 / 4;
/** The peak memory of reading and storing a message, as a multiple of its size. */
const READING_TAKES = 4;

export function createIntake(world: World): Intake {
  const { memory_bytes: memoryBytes, spool_bytes: fileBytes } = world.config.receiving;
  const space = createContentSpace({ memoryBytes: Math.floor(memoryBytes * HELD_PART), fileBytes });
  const turns = createSemaphore(Math.floor(memoryBytes * (1 - HELD_PART)));
  const limits = buildContentLimits(world);
  return {
    mustFit(client, bytes) {
      if (!space.fits(client, bytes)) throw tooMuch();
    },
    async take({ client, isGone }, content, carryOut) {
      const goal = { space: space.begin(client), gathered: gatherContent(world.blobs) };
      let endTurn: (() => void) | undefined;
      try {
        const message = await readContent(content, limits, goal);
        if (message.isFile) endTurn = await turns.acquire({ tenant: client, amount: message.bytes * READING_TAKES });
        if (isGone()) throw new SmtpReply(421, '4.4.2', 'The client disconnected before its message was accepted');
        return await carryOut(message);
      } finally {
        endTurn?.();
        await goal.gathered.discard();
        goal.space.release();
      }
    },
  };
}

/** The destination of a message as it comes in. */
interface ContentGoal {
  space: MessageSpace;
  gathered: ContentGatherer;
}

/**
 * Reads the content of a message to its end and returns it byte for byte; the caller discards the gathered bytes and
 * releases their space. Refused content is read to its end too, because the client does not listen before, but it is
 * not stored; content that stops arriving is given up.
 */
async function readContent(
  content: Content,
  { bytesMax, ...pace }: ContentLimits,
  { space, gathered }: ContentGoal,
): Promise<MessageContent> {
  const lineEnds = createBareLineEnds();
  let size = 0;
  let hasNul = false;
  let refusal: SmtpReply | undefined;
  const refuse = async (reply: SmtpReply): Promise<void> => {
    refusal ??= reply;
    await gathered.discard();
    space.release();
  };
  let fault: { error: unknown } | undefined;
  const rate = watchRate(pace, () => content.destroy());
  try {
    for await (const piece of content as AsyncIterable<Buffer>) {
      size += piece.length;
      rate.came(piece.length);
      lineEnds.see(piece);
      hasNul ||= piece.includes(0);
      if (refusal) continue;
      const to = size > bytesMax ? undefined : space.take(piece.length);
      if (to === undefined) await refuse(size > bytesMax ? tooLarge(bytesMax) : tooMuch());
      else {
        await gathered.add(piece, to).catch((error: unknown) => {
          fault = { error };
          return refuse(temporaryTrouble(error));
        });
      }
    }
  } catch {
    await refuse(new SmtpReply(421, '4.4.2', 'The content arrived too slowly or incompletely; send the message again'));
  } finally {
    rate.stop();
  }
  if (fault) throw fault.error;
  const bare = lineEnds.found();
  if (!refusal && bare)
    await refuse(
      new SmtpReply(
        550,
        '5.6.11',
        `The content has a ${bare} without its ${bare === 'LF' ? 'CR' : 'LF'}; end lines with CRLF`,
      ),
    );
  if (!refusal && hasNul) {
    await refuse(
      new SmtpReply(550, '5.6.0', 'The content has a NUL byte, which mail cannot contain; encode it as base64'),
    );
  }
  if (refusal) throw refusal;
  return gathered.finish();
}

const tooMuch = (): SmtpReply => new SmtpReply(452, '4.3.1', 'Too much mail is coming in; try again in a minute');

const tooLarge = (bytesMax: number): SmtpReply =>
  new SmtpReply(552, '5.3.4', `The message exceeds the limit of ${bytesMax} bytes; send a smaller message, or a link`);

export interface ContentLimits {
  clock: Clock;
  /** Content must arrive at `bytesPerSecond`, and may fall behind by this time. */
  timeoutMs: number;
  bytesPerSecond: number;
  bytesMax: number;
}

export const buildContentLimits = ({ clock, config: { smtp } }: World): ContentLimits => ({
  clock,
  timeoutMs: smtp.content_timeout_seconds * 1000,
  bytesPerSecond: smtp.content_bytes_per_second,
  bytesMax: smtp.message_bytes,
});

/**
 * Calls `tooSlow` once when fewer bytes have arrived than required by then. Credit is at most `timeoutMs`: content that
 * arrived fast at first does not pay for hours of silence.
 */
export function watchRate(
  { clock, timeoutMs, bytesPerSecond }: Omit<ContentLimits, 'bytesMax'>,
  tooSlow: () => void,
): { came(bytes: number): void; stop(): void } {
  let deadline = clock.now() + timeoutMs;
  let cancel = (): void => undefined;
  const look = (): void => {
    const left = deadline - clock.now();
    if (left <= 0) tooSlow();
    else cancel = clock.timer(left, look);
  };
  look();
  return {
    came: (bytes) => void (deadline = Math.min(clock.now() + timeoutMs, deadline + (bytes / bytesPerSecond) * 1000)),
    stop: () => cancel(),
  };
}
