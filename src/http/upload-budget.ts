import type { FastifyReply, FastifyRequest } from 'fastify';
import { refuse } from '../platform/refusal/index.ts';

/** What every request may hold, whoever else holds how much: nearly all mail is smaller. */
const FREE_BYTES = 64 * 1024;
/** The largest bodies that there may be, this many at a time over all connections, and half as many of one team. */
const LARGEST_AT_ONCE = 6;

/**
 * A body is in memory from its first byte until its answer, so what all of them hold is bounded: an upload that would
 * pass the bound is refused, and may be repeated.
 */
export function createUploadBudget(
  largestBytes: number,
): (request: FastifyRequest, reply: FastifyReply, owner: string) => void {
  const bytesMax = LARGEST_AT_ONCE * largestBytes;
  const bytesOf = new Map<string, number>();
  let total = 0;

  function add(owner: string, bytes: number): void {
    total += bytes;
    const taken = (bytesOf.get(owner) ?? 0) + bytes;
    if (taken === 0) bytesOf.delete(owner);
    else bytesOf.set(owner, taken);
  }

  return ({ raw }, reply, owner) => {
    let bytes = 0;
    let counted = 0;
    /** An answer that waits for an earlier one's end is not told that the connection broke. */
    const release = (): void => {
      reply.raw.off('close', release);
      raw.socket.off('close', release);
      raw.off('data', count);
      add(owner, -counted);
      counted = 0;
    };
    const count = (chunk: Buffer): void => {
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
      // Whoever collects the body hears of it in this way; a body that is refused already is collected by nobody.
      if (raw.listenerCount('error') > 0) raw.emit('error', tooMany());
    };
    raw.on('data', count);
  };
}

const tooMany = () =>
  refuse('service_unavailable', { say: 'Too many large requests are under way just now; try again in a few seconds.' });
