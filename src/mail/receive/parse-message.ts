import { systemClock } from '../../platform/clock.ts';
import type { World } from '../../platform/world.ts';
import type { MessageReading } from '../../protocol/read-message/index.ts';
import { LINES_MAX, type MessageContent } from './message-content.ts';
import { createMessageThread } from './message-worker.ts';
import type { ReadOrder } from './reader-thread.ts';

export interface MessageParser {
  /** Parses any message within limits of time and memory, round robin by `tenant`, the source of the messages. */
  parseMessage(tenant: string, content: MessageContent): Promise<MessageReading>;
  close(): Promise<void>;
}

/** Real messages have a few dozen parts and a few kilobytes of headers. */
const LIMITS = { depthMax: 64, headerBytesMax: 512 * 1024, partsMax: 1000 };
/**
 * On a busy machine a thread gets a part of each second: the elapsed time may be this many times the limit of processor
 * time.
 */
const PATIENCE = 6;

const NOTHING_KNOWN = { from: '', to: [], cc: [], bcc: [], replyTo: [], subject: '', messageId: '' };

export function createMessageParser(world: World): MessageParser {
  const limitMs = world.config.receiving.read_seconds * 1000;
  const startReader = () =>
    createMessageThread<ReadOrder, MessageReading>({
      module: 'src/mail/receive/reader-thread.ts',
      clock: systemClock,
      limitMs,
      patience: PATIENCE,
      atOnce: 1,
      late: (because) => ({ isRead: false, because, ...NOTHING_KNOWN }),
    });
  const quick = startReader();
  const slow = startReader();
  // A line costs the parser up to 4 µs. Slow messages have one thread, so that quick ones never wait for them. Each thread starts with its first message.
  const chooseReader = ({ lines }: MessageContent): typeof quick => {
    if (lines > LINES_MAX) return slow;
    return quick.waiting() > 0 && slow.waiting() === 0 ? slow : quick;
  };
  return {
    parseMessage: (tenant, content) => chooseReader(content).ask(tenant, { source: content.source, limits: LIMITS }),
    close: async () => void (await Promise.all([quick.close(), slow.close()])),
  };
}
