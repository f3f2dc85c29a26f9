/** The other side of `message-reader.ts`: reads one message after the other, and may be ended at any time. */
import { parentPort } from 'node:worker_threads';
import { readMessage, type ReadLimits } from '../../protocol/read-message/index.ts';

export interface ReadOrder {
  id: number;
  raw: Uint8Array;
  limits: ReadLimits;
}

parentPort?.on('message', ({ id, raw, limits }: ReadOrder) => {
  void readMessage(raw, limits).then((reading) => {
    const buffers = reading.isRead ? new Set(reading.parts.map(({ content }) => content.buffer as ArrayBuffer)) : [];
    parentPort?.postMessage({ id, reading }, [...buffers]);
  });
});
