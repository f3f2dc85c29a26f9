import type { Clock } from '../../../platform/clock/index.ts';
import type { MessageReading, ReadLimits } from '../../../protocol/read-message/index.ts';
import { createMessageThread } from './message-thread.ts';
import type { ReadOrder } from './reader-thread.ts';

export interface MessageReaders {
  /** Within bounds of time and memory, whatever it is; in turns of the parties that bring messages. */
  read(party: string, raw: Buffer): Promise<MessageReading>;
  close(): Promise<void>;
}

/** So that a message that takes its time does not hold up all others; the second thread is started when it is needed. */
const READERS = 2;

const NOTHING_KNOWN = { from: '', to: [], cc: [], bcc: [], replyTo: [], subject: '', messageId: '' };

export function createMessageReaders(options: { clock: Clock; readMs: number; limits: ReadLimits }): MessageReaders {
  const { clock, readMs, limits } = options;
  const readers = Array.from({ length: READERS }, () =>
    createMessageThread<ReadOrder, MessageReading>({
      url: new URL('./reader-thread.ts', import.meta.url),
      ...{ clock, limitMs: readMs, atOnce: 1 },
      late: (because) => ({ isRead: false, because, ...NOTHING_KNOWN }),
    }),
  );
  return {
    read: (party, raw) =>
      readers.reduce((least, one) => (one.waiting() < least.waiting() ? one : least)).ask(party, { raw, limits }),
    close: async () => void (await Promise.all(readers.map((reader) => reader.close()))),
  };
}
