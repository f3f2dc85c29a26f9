import { systemClock } from '../../../platform/clock/index.ts';
import type { World } from '../../../platform/world/index.ts';
import type { MessageReading } from '../../../protocol/read-message/index.ts';
import { createMessageThread } from './message-thread.ts';
import type { ReadOrder } from './reader-thread.ts';

export interface MessageParser {
  /** Parses any message within limits of time and memory, round robin by `party`, which brings the messages. */
  parseMessage(party: string, raw: Buffer): Promise<MessageReading>;
  close(): Promise<void>;
}

/** Real messages have a few dozen parts and a few kilobytes of headers. */
const LIMITS = { depthMax: 64, headerBytesMax: 512 * 1024, partsMax: 1000 };
/** A line costs the parser up to 4 µs: messages with more lines than this have a thread of their own. */
const LINES_MAX = 100_000;
/** On a busy machine a thread gets a part of each second: the limit of processor time may take so many times as long. */
const PATIENCE = 6;

const NOTHING_KNOWN = { from: '', to: [], cc: [], bcc: [], replyTo: [], subject: '', messageId: '' };

export function createMessageParser(world: World): MessageParser {
  const limitMs = world.config.receiving.read_seconds * 1000;
  const startReader = () =>
    createMessageThread<ReadOrder, MessageReading>({
      url: new URL('./reader-thread.ts', import.meta.url),
      ...{ clock: systemClock, limitMs, patience: PATIENCE, atOnce: 1 },
      late: (because) => ({ isRead: false, because, ...NOTHING_KNOWN }),
    });
  const [quick, slow] = [startReader(), startReader()];
  // Slow messages have one thread, so that quick ones never wait for them. Each thread starts with its first message.
  const readerOf = (raw: Buffer): typeof quick => {
    if (hasManyLines(raw)) return slow;
    return quick.waiting() > 0 && slow.waiting() === 0 ? slow : quick;
  };
  return {
    parseMessage: (party, raw) => readerOf(raw).ask(party, { raw, limits: LIMITS }),
    close: async () => void (await Promise.all([quick.close(), slow.close()])),
  };
}

function hasManyLines(raw: Buffer): boolean {
  let lines = 0;
  for (let at = raw.indexOf(LF); at >= 0 && lines <= LINES_MAX; at = raw.indexOf(LF, at + 1)) lines++;
  return lines > LINES_MAX;
}

const LF = 10;
