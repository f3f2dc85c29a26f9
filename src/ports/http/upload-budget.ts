import type { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { refuse } from '../../platform/refusal/index.ts';

/** Bytes of each request that are not counted: nearly all mail is smaller. */
const FREE_BYTES = 64 * 1024;
/** So many bodies of the largest size may be in memory over all connections, and half as many of one team. */
const LARGEST_AT_ONCE = 6;

export interface UploadBudget {
  count(request: FastifyRequest, reply: FastifyReply, owner: string): void;
  /** What came of this body is out of memory, and so is what will: the rest of a refused one is read and dropped. */
  letGo(body: IncomingMessage): void;
}

/**
 * A body is in memory from its first byte until it is answered, so the total is bounded: an upload that would exceed
 * the bound is refused, and may be repeated.
 */
export function createUploadBudget(largestBytes: number): UploadBudget {
  const bytesMax = LARGEST_AT_ONCE * largestBytes;
  const bytesOf = new Map<string, number>();
  const releases = new WeakMap<IncomingMessage, () => void>();
  let total = 0;

  function add(owner: string, bytes: number): void {
    total += bytes;
    const taken = (bytesOf.get(owner) ?? 0) + bytes;
    if (taken === 0) bytesOf.delete(owner);
    else bytesOf.set(owner, taken);
  }

  function count({ raw }: FastifyRequest, reply: FastifyReply, owner: string): void {
    let bytes = 0;
    let counted = 0;
    /** Listens on the socket too: an answer that waits for an earlier one's end gets no `close` when the connection breaks. */
    const release = (): void => {
      reply.raw.off('close', release);
      raw.socket.off('close', release);
      raw.off('data', countChunk);
      add(owner, -counted);
      counted = 0;
    };
    const countChunk = (chunk: Buffer): void => {
      bytes += chunk.length;
      if (bytes <= FREE_BYTES) return;
      if (counted === 0) {
        reply.raw.on('close', release);
        raw.socket.on('close', release);
      }
      add(owner, bytes - FREE_BYTES - counted);
      counted = bytes - FREE_BYTES;
      if (total <= bytesMax && (bytesOf.get(owner) ?? 0) <= bytesMax / 2) return;
      release();
      // The error event fails the reading of the body; a body that is refused already has no reader, and no listener.
      if (raw.listenerCount('error') > 0) raw.emit('error', tooMany());
    };
    releases.set(raw, release);
    raw.on('data', countChunk);
  }

  return { count, letGo: (body) => releases.get(body)?.() };
}

const RETRY_AFTER_SECONDS = 5;

const tooMany = () =>
  refuse('service_unavailable', {
    say: `Too many large requests are under way just now; try again in ${RETRY_AFTER_SECONDS} seconds.`,
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
