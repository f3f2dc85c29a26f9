import type { Clock } from '../../../platform/clock/index.ts';
import type { MessageReading, ReadLimits } from '../../../protocol/read-message/index.ts';
import { createMessageThread } from './message-thread.ts';
import type { ReadOrder } from './reader-thread.ts';

export interface MessageReaders {
  /** Within bounds of time and memory, whatever it is; in turns of the parties that bring messages. */
  read(party: string, raw: Buffer): Promise<MessageReading>;
  close(): Promise<void>;
}

/** A line costs the parser up to 4 µs: these take longer than anybody should wait for who brings less. */
const LINES_MAX = 100_000;
/** A machine with much else to do gives a thread a part of each second: so many times the limit may go by. */
const PATIENCE = 6;

const NOTHING_KNOWN = { from: '', to: [], cc: [], bcc: [], replyTo: [], subject: '', messageId: '' };

export function createMessageReaders(options: { clock: Clock; readMs: number; limits: ReadLimits }): MessageReaders {
  const { clock, readMs, limits } = options;
  const startReader = () =>
    createMessageThread<ReadOrder, MessageReading>({
      url: new URL('./reader-thread.ts', import.meta.url),
      ...{ clock, limitMs: readMs, patience: PATIENCE, atOnce: 1 },
      late: (because) => ({ isRead: false, because, ...NOTHING_KNOWN }),
    });
  const [quick, slow] = [startReader(), startReader()];
  // What takes its time is read by one thread, in turns, and nothing else waits for it. The second is started when needed.
  const readerOf = (raw: Buffer): typeof quick => {
    if (hasManyLines(raw)) return slow;
    return quick.waiting() > 0 && slow.waiting() === 0 ? slow : quick;
  };
  return {
    read: (party, raw) => readerOf(raw).ask(party, { raw, limits }),
    close: async () => void (await Promise.all([quick.close(), slow.close()])),
  };
}

function hasManyLines(raw: Buffer): boolean {
  let lines = 0;
  for (let at = raw.indexOf(LF); at >= 0 && lines <= LINES_MAX; at = raw.indexOf(LF, at + 1)) lines++;
  return lines > LINES_MAX;
}

const LF = 10;
