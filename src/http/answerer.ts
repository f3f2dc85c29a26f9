import type { FastifyReply } from 'fastify';
import { resolveRef, type OperationValidators, type Validators } from '../contract/index.ts';
import { Answered, operations, operatorOperations, publicOperations, type OperationCtx } from '../operations/index.ts';
import type { Store } from '../platform/store/index.ts';
import type { World } from '../platform/world/index.ts';
import type { Ctx, OperatorCtx } from '../resources/access/index.ts';
import { audited, type Audited } from '../resources/audit/index.ts';
import { whenCallerGone } from './caller-gone.ts';
import { checkBody } from './check-request.ts';
import type { CheckedRequest } from './checked-request.ts';
import type { HttpServices, PageCall } from './page.ts';
import { keyPages, publicPages } from './pages.ts';
import { noteOf } from './audit-note.ts';

export type Answerer = (checked: CheckedRequest) => unknown;

/**
 * Requests are checked against the contract at run time, per operation, which the compiler cannot follow: a request
 * that passed an operation's checks is a call of that operation. Only here are calls cast without the compiler's proof.
 */
type AnyCall = { path: unknown; query: unknown; header: unknown; body: unknown };
type Table<Run> = Readonly<Record<string, Run | undefined>>;
const byKey = operations as unknown as Table<(ctx: OperationCtx, call: AnyCall) => Promise<unknown>>;
const byOperator = operatorOperations as unknown as Table<(ctx: OperatorCtx, call: AnyCall) => Promise<unknown>>;
const byAnybody = publicOperations as unknown as Table<(services: HttpServices, call: AnyCall) => Promise<unknown>>;
const pagesByKey = keyPages as unknown as Table<(ctx: Ctx, page: PageCall, call: AnyCall) => unknown>;
const pagesByAnybody = publicPages as unknown as Table<(page: PageCall, call: AnyCall) => unknown>;

/** Makes the HTTP answerer of an operation; throws when the program has none for it. */
export function answererOf(operation: OperationValidators, validators: Validators, services: HttpServices): Answerer {
  const { operationId } = operation;
  const headerNames = operation.parameters.filter((parameter) => parameter.in === 'header').map(({ name }) => name);
  const callOf = ({ parameters: { path, query, header }, body }: CheckedRequest): AnyCall => ({
    path,
    query,
    header: Object.fromEntries(headerNames.map((name) => [name, header[name.toLowerCase()]])),
    body: body.value,
  });
  const auditOf = <Held extends Store>(ctx: { store: Held }, checked: CheckedRequest): Audited<Held> | undefined => {
    if (operation.operation['x-service-audit'] === undefined) return undefined;
    const audit = audited(ctx.store, noteOf(operation, checked));
    ctx.store = audit.store;
    return audit;
  };
  const run = byKey[operationId];
  if (run) {
    const send = senderOf(operation, services);
    return async (checked) => {
      const ctx = operationCtx(checked, validators, services);
      auditOf(ctx, checked);
      return send(checked.reply, await run(ctx, callOf(checked)));
    };
  }
  const runForOperator = byOperator[operationId];
  if (runForOperator) {
    const send = senderOf(operation, services);
    return async (checked) => {
      const ctx = { ...operatorCtx(checked, services), services };
      auditOf(ctx, checked);
      return send(checked.reply, await runForOperator(ctx, callOf(checked)));
    };
  }
  const runForAnybody = byAnybody[operationId];
  if (runForAnybody) {
    const send = senderOf(operation, services);
    return async (checked) => send(checked.reply, await runForAnybody(services, callOf(checked)));
  }
  const page = pagesByKey[operationId];
  if (page) {
    return async (checked) => {
      const ctx = ctxOf(checked, services);
      const audit = auditOf(ctx, checked);
      const answer = await page(ctx, pageCall(checked, services), callOf(checked));
      // A read makes no change whose transaction would hold the entry: it is there before the first byte is sent.
      if (checked.request.method === 'GET') await audit?.write();
      return answer;
    };
  }
  const pageForAnybody = pagesByAnybody[operationId];
  if (pageForAnybody) return (checked) => pageForAnybody(pageCall(checked, services), callOf(checked));
  throw new Error(`the contract has the operation ${operationId}, and nothing answers it`);
}

function operatorCtx({ request, caller }: CheckedRequest, { world }: HttpServices): OperatorCtx<World> {
  if (caller?.actor.kind !== 'operator') throw new Error('an operation of operators is reached by them alone');
  return { store: world, actor: caller.actor, requestId: request.id };
}

function ctxOf({ request, reply, caller }: CheckedRequest, { world }: HttpServices): Ctx<World> {
  if (!caller || caller.teamId === null) throw new Error('an operation that needs a team is never run without one');
  const whenGone = (): AbortSignal => whenCallerGone(request, reply);
  return { store: world, teamId: caller.teamId, actor: caller.actor, requestId: request.id, whenGone };
}

function operationCtx(checked: CheckedRequest, validators: Validators, services: HttpServices): OperationCtx {
  return {
    ...ctxOf(checked, services),
    services,
    checkBody(id, value) {
      const rules = validators.operations.get(id);
      if (rules) checkBody(rules, { ...checked.body, value });
    },
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
