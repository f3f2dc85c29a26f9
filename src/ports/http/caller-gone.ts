import type { FastifyReply, FastifyRequest } from 'fastify';

/** A signal that aborts when the caller's connection ends before the answer. Made only on request. */
export function whenCallerGone({ raw: { socket } }: FastifyRequest, reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  if (socket.destroyed) abort();
  socket.once('close', abort);
  reply.raw.once('finish', () => socket.off('close', abort));
  return controller.signal;
}
