import type { FastifyReply, FastifyRequest } from 'fastify';
import type { OperationValidators, Validators } from '../../../contract/index.ts';
import { Answered, checksItsOwnBody } from '../../../operations/index.ts';
import type { Actor } from '../../../tenancy/access/index.ts';
import { runnerOf } from '../answerer.ts';
import { checkBody, checkIdempotencyKey, checkParameters } from '../check-request.ts';
import type { HttpServices } from '../page.ts';
import type { Caller } from '../request-log.ts';
import { refuse } from '../../../platform/refusal/index.ts';
import { callOf } from './operation-tool.ts';

/** Who calls, and the request that they call in. */
export interface Assistant {
  request: FastifyRequest;
  reply: FastifyReply;
  caller: Caller;
  actor: Extract<Actor, { kind: 'oauth_grant' }>;
}

export type CallOperation = (assistant: Assistant, operation: OperationValidators, given: unknown) => Promise<unknown>;

/** Calls an operation as its own route does: the same checks in the same order, the same entry in the audit log. */
export function createCallOperation(validators: Validators, services: HttpServices): CallOperation {
  const runners = new Map<string, ReturnType<typeof runnerOf>>();
  const runnerFor = (operation: OperationValidators): ReturnType<typeof runnerOf> => {
    const known = runners.get(operation.operationId) ?? runnerOf(operation, validators, services);
    runners.set(operation.operationId, known);
    return known;
  };
  return async ({ request, reply, caller }, operation, given) => {
    const { parameters, body: value } = callOf(services.document, operation, given);
    checkIdempotencyKey(keyIn(parameters.header['idempotency-key']));
    checkParameters(operation, parameters);
    // Any string of an argument may have come with an escape.
    const body = { value, hasEscapes: true };
    if (operation.method !== 'get' && !checksItsOwnBody.has(operation.operationId))
      checkBody(operation, body, parameters.path);
    const answer = await runnerFor(operation)({ request, reply, caller, body, parameters });
    return answer instanceof Answered ? (answer as Answered<unknown>).body : answer;
  };
}

function keyIn(given: unknown): string | undefined {
  if (given === undefined || typeof given === 'string') return given;
  throw refuse('invalid_idempotency_key', { say: 'idempotency_key must be a text.' });
}
