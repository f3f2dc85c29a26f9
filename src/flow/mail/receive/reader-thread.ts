/** Parses one message after the other; may be terminated at any time (`message-thread.ts`). */
import { parentPort } from 'node:worker_threads';
import { readMessage, type ReadLimits } from '../../../protocol/read-message/index.ts';
import { letGo } from './let-go.ts';
import type { Said } from './message-thread.ts';

export interface ReadOrder {
  raw: Uint8Array;
  limits: ReadLimits;
}

parentPort?.on('message', ({ id, order: { raw, limits } }: { id: number; order: ReadOrder }) => {
  void readMessage(raw, limits).then((reading) => {
    const buffers = reading.isRead ? new Set(reading.parts.map(({ content }) => content.buffer as ArrayBuffer)) : [];
    parentPort?.postMessage({ id, answer: reading } satisfies Said, [...buffers]);
    letGo(raw);
  });
});
