import type { FastifyReply, FastifyRequest } from 'fastify';
import type { RequestParameters } from '../../contract/index.ts';
import type { ParsedBody } from './check-request.ts';
import type { Caller } from './request-log.ts';

/** A request that has passed every check, in its parts. */
export interface CheckedRequest {
  request: FastifyRequest;
  reply: FastifyReply;
  /** Undefined where the operation needs no credential. */
  caller: Caller | undefined;
  body: ParsedBody;
  parameters: RequestParameters;
}
