import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  accessOf,
  type AnswerOf,
  type CallOf,
  type OperationValidators,
  type Validators,
  type ValueId,
} from '../../../contract/index.ts';
import { Answered } from '../../../operations/index.ts';
import { refuse, Refusal } from '../../../platform/refusal/index.ts';
import { mustReach } from '../../../tenancy/access/index.ts';
import { runnerOf } from '../answerer.ts';
import type { Authenticator } from '../authenticators.ts';
import { cookieOf } from '../browser.ts';
import { checkBody, checkParameters } from '../check-request.ts';
import type { HttpServices } from '../page.ts';
import type { RateLimit } from '../rate-limit.ts';
import type { PageCtx, SignedIn } from './page.ts';

export interface PeoplePageParts {
  services: HttpServices;
  validators: Validators;
  authenticators: readonly Authenticator[];
  rateLimit: RateLimit;
}

/** A session that has ended is none: its person signs in again. */
export async function whoIsSignedIn(
  authenticators: readonly Authenticator[],
  { headers }: FastifyRequest,
): Promise<SignedIn | undefined> {
  for (const one of authenticators) {
    const secret = 'cookie' in one ? cookieOf(headers.cookie, one.cookie) : undefined;
    if (secret === undefined) continue;
    const identity = await one.identify(secret).catch((error: unknown) => {
      if (error instanceof Refusal) return undefined;
      throw error;
    });
    if (identity?.actor.kind === 'session') return { ...identity, actor: identity.actor };
  }
  return undefined;
}

/** Asked before a page offers what would be refused. */
export const createWhyNot =
  ({ validators }: Pick<PeoplePageParts, 'validators'>) =>
  (session: SignedIn | undefined): PageCtx['whyNot'] =>
  (id) => {
    const operation = validators.operations.get(id)?.operation;
    if (!operation || !session) return undefined;
    try {
      mustReach(session.actor, accessOf(operation));
      return undefined;
    } catch (error) {
      if (error instanceof Refusal) return error;
      throw error;
    }
  };

/** The operations of the API, as a page calls them. */
export function createCalls({ validators, services }: PeoplePageParts) {
  const runners = new Map<string, ReturnType<typeof runnerOf>>();
  const runnerFor = (operation: OperationValidators): ReturnType<typeof runnerOf> => {
    const known = runners.get(operation.operationId) ?? runnerOf(operation, validators, services);
    runners.set(operation.operationId, known);
    return known;
  };
  return (request: FastifyRequest, reply: FastifyReply, session: SignedIn | undefined): PageCtx['call'] =>
    async <Id extends ValueId>(id: Id, given: CallOf<Id>) => {
      const call: { path?: object; query?: object; body?: unknown } = given as object;
      const operation = validators.operations.get(id);
      if (!operation) throw new Error(`the contract has no operation ${id}`);
      if (request.method !== 'POST' && operation.method !== 'get') throw new Error(`a GET must not call ${id}`);
      const access = accessOf(operation.operation);
      const caller = access.permission === 'none' ? undefined : session;
      if (access.permission !== 'none') {
        if (!session) throw refuse('missing_api_key', { say: 'Sign in first.' });
        mustReach(session.actor, access);
      }
      const parameters = { path: { ...(call.path ?? {}) }, query: { ...(call.query ?? {}) }, header: {} };
      checkParameters(operation, parameters);
      const body = { value: call.body ?? {}, hasEscapes: true };
      if (operation.method !== 'get') checkBody(operation, body);
      const answer = await runnerFor(operation)({ request, reply, caller, body, parameters });
      return (answer instanceof Answered ? answer.body : answer) as AnswerOf<Id>;
    };
}
