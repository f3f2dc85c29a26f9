/** Parses one message after the other; may be terminated at any time (`message-worker.ts`). */
import { parentPort } from 'node:worker_threads';
import { readMessage, type ReadLimits } from '../../protocol/read-message/index.ts';
import { collectAfter, freeMemory, readRaw, type ContentSource } from './message-content.ts';
import type { ThreadMessage } from './message-worker.ts';

export interface ReadOrder {
  source: ContentSource;
  limits: ReadLimits;
}

parentPort?.on('message', ({ id, order: { source, limits } }: { id: number; order: ReadOrder }) => {
  const raw = readRaw(source);
  const bytes = raw.length;
  void readMessage(raw, limits).then((reading) => {
    freeMemory(raw);
    const buffers = reading.isRead ? new Set(reading.parts.map(({ content }) => content.buffer as ArrayBuffer)) : [];
    parentPort?.postMessage({ id, answer: reading } satisfies ThreadMessage, [...buffers]);
    collectAfter(bytes);
  });
});
