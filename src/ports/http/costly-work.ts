import type { FastifyRequest, FastifyReply } from 'fastify';
import { nextTurn, pauseFor } from '../../platform/clock.ts';
import { createSemaphore, type Semaphore } from '../../platform/limits/index.ts';
import { callerGone } from '../../tenancy/access/index.ts';
import type { IncomingMessage } from 'node:http';
import { refuse } from '../../platform/refusal.ts';

/** All callers without a key share this name: counted by address, one caller could appear as any number of them. */
export const ANYBODY = 'anybody';
/** Smaller bodies are not delayed, as they do not block the event loop for long. */
export const COSTLY_BYTES = 64 * 1024;

/**
 * Each object of a body, such as an email of a batch, is parsed, checked and stored on its own: it counts as this many
 * bytes.
 */
const BYTES_AN_OBJECT = 1024;
const OBJECT = '{'.charCodeAt(0);

/** Storing a larger body blocks others as well, so its turn lasts until the response is ready … */
const LARGE_BYTES = 1024 * 1024;
/** … but not for long: its attachments may have to be fetched from elsewhere. */
const ANSWERED_MS_MAX = 250;

const RESTS_PER_WORK = 2;
/** Shorter work is over before a rest would be. */
const WORTH_A_REST_MS = 2;
const PAGES_WAITING_MAX = 16;

/**
 * Runs work that blocks the event loop (large bodies, and pages for people without a key) one task after the other, round
 * robin by team, and for a third of the time at most, however much there is.
 */
export const createCostlyExecutor = (): Semaphore =>
  createSemaphore(1, ({ tookMs }) => (tookMs < WORTH_A_REST_MS ? nextTurn() : pauseFor(tookMs * RESTS_PER_WORK)));

/** Reports whether too many pages are waiting; a further page is then refused and has to be opened again later. */
export const arePagesOverloaded = (executor: Semaphore): boolean => executor.countWaiting(ANYBODY) >= PAGES_WAITING_MAX;

/**
 * Reads a body and begins its response; in the executor if the body is large or holds many objects. The executor covers
 * synchronous work, such as an operation's own checks; the response is awaited after it.
 */
export async function beginAnswer(
  executor: Semaphore,
  { request, teamId }: { request: FastifyRequest; teamId: string | null | undefined },
  begin: () => unknown,
): Promise<unknown> {
  const body = Buffer.isBuffer(request.body) ? request.body : undefined;
  const bytes = body?.length ?? 0;
  if (!body || !isCostly(body)) return begin();
  const beginInTurn = async (): Promise<{ answering: unknown }> => {
    if (request.raw.socket.destroyed) throw callerGone();
    const begun = { answering: begin() };
    if (bytes > LARGE_BYTES) await Promise.race([Promise.allSettled([begun.answering]), pauseFor(ANSWERED_MS_MAX)]);
    return begun;
  };
  const { answering } = await executor.run(beginInTurn, { tenant: teamId ?? ANYBODY });
  return answering;
}

/**
 * Returns whether a body is costly. Braces inside texts count as well, because a body with thousands of them is not
 * small.
 */
function isCostly(body: Buffer): boolean {
  let cost = body.length;
  for (let at = body.indexOf(OBJECT); at >= 0 && cost <= COSTLY_BYTES; at = body.indexOf(OBJECT, at + 1)) {
    cost += BYTES_AN_OBJECT;
  }
  return cost > COSTLY_BYTES;
}

/** Bytes of each request that are not counted: nearly all mail is smaller. */
const FREE_BYTES = 64 * 1024;
/** Limit for all connections together, as a multiple of the largest body; one team may use half of it. */
const LARGEST_AT_ONCE = 6;

export interface UploadBudget {
  count(request: FastifyRequest, reply: FastifyReply, owner: string): void;
  /**
   * Stops counting the body of a refused request: its bytes so far are no longer in memory, and the remaining ones are
   * read and dropped.
   */
  release(body: IncomingMessage): void;
}

/**
 * Limits the memory of all bodies together. A body is in memory from its first byte until the response is sent, so an
 * upload that would exceed the limit is refused, and may be repeated.
 */
export function createUploadBudget(largestBytes: number): UploadBudget {
  const bytesMax = LARGEST_AT_ONCE * largestBytes;
  const bytesByOwner = new Map<string, number>();
  const releases = new WeakMap<IncomingMessage, () => void>();
  let total = 0;

  function add(owner: string, bytes: number): void {
    total += bytes;
    const taken = (bytesByOwner.get(owner) ?? 0) + bytes;
    if (taken === 0) bytesByOwner.delete(owner);
    else bytesByOwner.set(owner, taken);
  }

  function count({ raw }: FastifyRequest, reply: FastifyReply, owner: string): void {
    let bytes = 0;
    let counted = 0;
    /**
     * Listens on the socket too: a response that waits for an earlier one to end gets no `close` when the connection
     * breaks.
     */
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
      if (total <= bytesMax && (bytesByOwner.get(owner) ?? 0) <= bytesMax / 2) return;
      release();
      // The error event fails the reading of the body; a body that is refused already has no reader, and no listener.
      if (raw.listenerCount('error') > 0) raw.emit('error', tooMany());
    };
    releases.set(raw, release);
    raw.on('data', countChunk);
  }

  return { count, release: (body) => releases.get(body)?.() };
}

const RETRY_AFTER_SECONDS = 5;

const tooMany = () =>
  refuse('service_unavailable', {
    say: `Too many large requests are being processed; try again in ${RETRY_AFTER_SECONDS} seconds.`,
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
