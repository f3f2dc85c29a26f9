import type { FastifyReply } from 'fastify';
import {
  accessOf,
  callerKindOf,
  resolveRef,
  type CallerKind,
  type PageId,
  type OperationValidators,
  type Validators,
  type ValueId,
} from '../../contract/index.ts';
import { Answered, operations, type OperationCtx, type OperationCtxFor } from '../../operations/index.ts';
import { audited } from '../../tenancy/audit/index.ts';
import type { Maker } from '../../features/identity/approvals/index.ts';
import { notFound } from '../../platform/refusal/index.ts';
import { mustReachNamed } from '../../tenancy/access/index.ts';
import { noteOf } from './audit-note.ts';
import { heldBack } from './held-back.ts';
import { bearerOf } from './authenticators.ts';
import { browserOf } from './browser.ts';
import { whenCallerGone } from './caller-gone.ts';
import { checkBody } from './check-request.ts';
import type { CheckedRequest } from './checked-request.ts';
import type { HttpServices, PageCall } from './page.ts';
import { pages } from './pages.ts';

export type Answerer = (checked: CheckedRequest) => unknown;

interface AnyCall {
  path?: unknown;
  query?: unknown;
  header?: unknown;
  body?: unknown;
}

/**
 * Any operation, as its route calls it. That the context and the call are those of this operation is checked against the
 * contract at run time, which the compiler cannot follow. It compares the parameters of a method in both directions, and so
 * takes each operation for a `Verb`: only here does a call reach an operation without the compiler's proof.
 */
interface Verb {
  answer(ctx: OperationCtxFor[CallerKind], call: AnyCall, page?: PageCall): unknown;
}
const verbs: Record<ValueId | PageId, Verb['answer']> = { ...operations, ...pages };
const isVerb = (id: string): id is ValueId | PageId => Object.hasOwn(verbs, id);

const unanswered = (operationId: string): Error =>
  new Error(`the contract has the operation ${operationId}, and nothing answers it`);

/** Throws when the program answers none of that name: asked at the start, because answerers are made by their first request. */
export function mustHaveAnswerer({ operationId }: Pick<OperationValidators, 'operationId'>): void {
  if (!isVerb(operationId)) throw unanswered(operationId);
}

/** Makes the HTTP answerer of an operation; throws when the program has none for it. */
export function answererOf(operation: OperationValidators, validators: Validators, services: HttpServices): Answerer {
  const run = runnerOf(operation, validators, services);
  if (operation.operationId in pages) return (checked) => run(checked, pageCall(checked, services));
  const send = senderOf(operation, services);
  return async (checked) => send(checked.reply, await run(checked));
}

/** Runs an operation for a request that was checked, with its entry in the audit log; answers what the verb does. */
export function runnerOf(
  operation: OperationValidators,
  validators: Validators,
  services: HttpServices,
): (checked: CheckedRequest, page?: PageCall) => Promise<unknown> {
  const run = unheldRunnerOf(operation, validators, services);
  const ctxOf = contexts(validators, services)[callerKindOf(accessOf(operation.operation))];
  return async (checked, page) => {
    if (checked.caller) mustReachNamed(checked.caller.actor, operation.operation, checked.body.value);
    const held = await heldBack(operation, checked, () => ctxOf(checked));
    return held ? held.answered : run(checked, page);
  };
}

/** The same for what a person has approved: no limit of an app is asked. */
function unheldRunnerOf(
  operation: OperationValidators,
  validators: Validators,
  services: HttpServices,
): (checked: CheckedRequest, page?: PageCall) => Promise<unknown> {
  const { operationId } = operation;
  if (!isVerb(operationId)) throw unanswered(operationId);
  const answer = verbs[operationId];
  const ctxOf = contexts(validators, services)[callerKindOf(accessOf(operation.operation))];
  const callOf = callReader(operation);
  const isAudited = operation.operation['x-service-audit'] !== undefined;
  return async (checked, page) => {
    const ctx = ctxOf(checked);
    const audit = isAudited ? audited(ctx.store, noteOf(operation, checked)) : undefined;
    if (audit) ctx.store = audit.store;
    const answered = await answer(ctx, callOf(checked), page);
    // A read makes no change whose transaction would hold the entry: it is there before the first byte is sent.
    if (page && checked.request.method === 'GET') await audit?.write();
    return answered;
  };
}

function callReader({ parameters: declared }: OperationValidators): (checked: CheckedRequest) => AnyCall {
  const headerNames = declared.filter((parameter) => parameter.in === 'header').map(({ name }) => name);
  return ({ parameters: { path, query, header }, body }) => ({
    path,
    query,
    header: Object.fromEntries(headerNames.map((name) => [name, header[name.toLowerCase()]])),
    body: body.value,
  });
}

type Contexts = { [Kind in CallerKind]: (checked: CheckedRequest) => OperationCtxFor[Kind] };

function contexts(validators: Validators, services: HttpServices): Contexts {
  const { world: store } = services;
  return {
    team: (checked) => teamCtx(checked, validators, services),
    user({ request, reply, caller }) {
      if (caller?.actor.kind !== 'session') throw new Error('an operation of users is reached by them alone');
      const browser = browserOf(store, request, reply);
      return { store, actor: caller.actor, browser, requestId: request.id, services };
    },
    operator({ request, caller }) {
      if (caller?.actor.kind !== 'operator') throw new Error('an operation of operators is reached by them alone');
      return { store, actor: caller.actor, requestId: request.id, services };
    },
    nobody: ({ request, reply }) => ({
      store,
      browser: browserOf(store, request, reply),
      bearer: bearerOf(request),
      requestId: request.id,
      whenGone: () => whenCallerGone(request, reply),
      services,
    }),
  };
}

/** An approved call is made within the request that approves it, as the app whose call it is. */
const makerFor = (
  { request, reply }: Pick<CheckedRequest, 'request' | 'reply'>,
  teamId: string,
  { validators, services }: { validators: Validators; services: HttpServices },
): Maker => ({
  accessOf: (id) => accessOf(knownOperation(validators, id).operation),
  summaryOf: (id) => validators.operations.get(id)?.operation.summary ?? id,
  async make(actor, { operationId, path, query, header, body: value }) {
    const parameters = { path: { ...path }, query: { ...query }, header: { ...header } };
    const checked = { request, reply, caller: { teamId, actor }, body: { value, hasEscapes: true }, parameters };
    const operation = knownOperation(validators, operationId);
    mustReachNamed(actor, operation.operation, value);
    const answer = await unheldRunnerOf(operation, validators, services)(checked);
    return answer instanceof Answered ? (answer as Answered<unknown>).body : answer;
  },
});

/** One of an earlier version may be there no more. */
function knownOperation(validators: Validators, id: string): OperationValidators {
  const operation = validators.operations.get(id);
  if (!operation) throw notFound(`Operation ${id}`);
  return operation;
}

function teamCtx(
  { request, reply, caller, body }: CheckedRequest,
  validators: Validators,
  services: HttpServices,
): OperationCtx {
  if (!caller || caller.teamId === null) throw new Error('an operation that needs a team is never run without one');
  return {
    store: services.world,
    teamId: caller.teamId,
    actor: caller.actor,
    requestId: request.id,
    whenGone: () => whenCallerGone(request, reply),
    services,
    checkBody(id, value) {
      const rules = validators.operations.get(id);
      if (rules) checkBody(rules, { ...body, value });
    },
    maker: makerFor({ request, reply }, caller.teamId, { validators, services }),
  };
}

const pageCall = ({ request, reply }: CheckedRequest, services: HttpServices): PageCall => ({
  services,
  reply,
  accept: request.headers.accept ?? '',
});

/** Sends an answer under the first success the contract declares, unless the operation names another status. */
function senderOf(
  { operation }: OperationValidators,
  { document }: HttpServices,
): (reply: FastifyReply, answer: unknown) => unknown {
  const [status, success] = Object.entries(operation.responses).find(([code]) => code.startsWith('2')) ?? [];
  if (!status || !success) throw new Error(`${operation.operationId} declares no success`);
  const isText = 'text/plain' in (resolveRef(document, success).content ?? {});
  return (reply, answer) => {
    const { status: code, body } =
      answer instanceof Answered ? (answer as Answered<unknown>) : { status: Number(status), body: answer };
    reply.code(code);
    if (isText) reply.type('text/plain; charset=utf-8');
    return body;
  };
}
