import { countAsRecipients } from '../../mail/accept/index.ts';
import { Answered } from '../../tenancy/access/index.ts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  readRequirement,
  toCallerKind,
  resolveRef,
  type CallerKind,
  type Operation,
  type PageId,
  type OperationValidators,
  type Validators,
  type ValueId,
  type RequestParameters,
} from '../../contract/index.ts';
import { operations, type OperationCtx, type OperationCtxFor } from '../../operations.ts';
import { audited, describeActor, type AuditNote } from '../../tenancy/audit/index.ts';
import {
  changesOwnWork,
  mustLeaveWaitingMail,
  proposeCall,
  repeatsHeldCall,
  type Maker,
} from '../../features/identity/index.ts';
import { notFound, refuse, Refusal } from '../../platform/refusal.ts';
import {
  BeyondUnapproved,
  authorizeFields,
  countsAsRecipient,
  decideAdmission,
  asksForWriter,
  isBatch,
  computeEffect,
  type Actor,
  type BodyCheck,
  type Ctx,
} from '../../tenancy/access/index.ts';
import { readBearer, createBrowser } from './authenticators.ts';
import { checkBody, type ParsedBody } from './check-request.ts';
import type { HttpServices, PageCall } from './page.ts';
import { pages } from './pages.ts';
import { fetchCallFiles, reviewCall } from '../../features/identity/start.ts';
import type { World } from '../../platform/world.ts';
import { redactBody, redactTokens } from '../../tenancy/logs/index.ts';
import type { Caller } from './request-log.ts';

const DETAILS_BYTES = 2000;
const USER_AGENT_CHARS_MAX = 500;
/** Operations without an id that change the team of the caller. */
const CHANGES_TEAM = new Set(['renewArchive', 'switchTeam', 'updateTeam']);

/** The audit log's entry for a request: who called, from where, what was changed, and with which fields. */
function buildAuditNote(
  { operation }: OperationValidators,
  { request, caller, body, parameters }: CheckedRequest,
): AuditNote {
  if (!caller) throw new Error('an audited operation was called without a caller');
  // When the path begins with the team, the path parameter after it names the entry's target.
  const { team_id: inPath, ...below } = parameters.path;
  const named = namedIn(operation.operationId, below);
  // A switch is known to the team that is entered.
  const teamId = operation.operationId === 'switchTeam' ? String(inPath) : caller.teamId;
  return {
    team_id: teamId,
    action: operation['x-service-audit'] ?? '',
    subject_id: typeof named === 'string' ? named : CHANGES_TEAM.has(operation.operationId) ? teamId : null,
    ...describeActor(caller.actor),
    address: request.ip,
    user_agent: redactTokens(request.headers['user-agent'] ?? '').slice(0, USER_AGENT_CHARS_MAX),
    request_id: request.id,
    details: formatDetails(
      toGrantDetails(caller),
      request.method === 'GET' ? parameters.query : pickBodyFields(operation, body.value),
    ),
  };
}

/** Returns the part of the body that the audit log may contain. */
function pickBodyFields({ 'x-service-audit-fields': fields }: Operation, body: unknown): unknown {
  return fields ? pickFields(body, fields.body) : body;
}

const pickFields = (from: unknown, names: readonly string[]): Record<string, unknown> =>
  typeof from === 'object' && from !== null
    ? Object.fromEntries(Object.entries(from).filter(([name]) => names.includes(name)))
    : {};

/** Returns the details of the entry with the outcome of a call; undefined if the result has nothing for the audit log. */
function formatOutcome(operation: Operation, { caller, body }: CheckedRequest, result: unknown): string | undefined {
  const fields = operation['x-service-audit-fields'];
  if (!fields || !caller) return undefined;
  const outcome = pickFields(result, fields.result);
  if (!Object.values(outcome).some((count) => count !== 0)) return undefined;
  return formatDetails(toGrantDetails(caller), { ...pickFields(body.value, fields.body), ...outcome }) ?? undefined;
}

/** When the path begins with an inbox, the next path parameter is the target, or the call creates the target. */
function namedIn(operationId: string, { inbox, ...below }: Record<string, unknown>): unknown {
  const [named] = Object.values(below);
  return named ?? (operationId === 'createInboxLabel' ? undefined : inbox);
}

/** An app acts as its user, so the grant it used is recorded along with the details of the request. */
const toGrantDetails = ({ actor }: Caller): object =>
  actor.kind === 'oauth_grant' ? { oauth_grant_id: actor.grantId } : {};

function formatDetails(grant: object, asked: unknown): string | null {
  const details = typeof asked === 'object' && asked !== null ? { ...grant, ...asked } : grant;
  if (Object.keys(details).length === 0) return null;
  return redactBody(details, { bytesMax: DETAILS_BYTES, bytes: JSON.stringify(details).length, isClipped: true });
}

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
  new Error(`no handler for the operation ${operationId} of the contract`);

/**
 * Throws when the program does not implement the operation. Called at the start, because answerers are made by their
 * first request.
 */
export function mustHaveAnswerer({ operationId }: Pick<OperationValidators, 'operationId'>): void {
  if (!isVerb(operationId)) throw unanswered(operationId);
}

/** Makes the HTTP answerer of an operation; throws when the program has none for it. */
export function createAnswerer(
  operation: OperationValidators,
  validators: Validators,
  services: HttpServices,
): Answerer {
  const run = createRunner(operation, validators, services);
  if (operation.operationId in pages) return (checked) => run(checked, pageCall(checked, services));
  const send = createSender(operation, services);
  return async (checked) => send(checked.reply, await run(checked));
}

/** Runs an operation for a checked request, with its entry in the audit log, and returns what the verb returns. */
export function createRunner(
  operation: OperationValidators,
  validators: Validators,
  services: HttpServices,
): (checked: CheckedRequest, page?: PageCall) => Promise<unknown> {
  const run = createApprovedRunner(operation, validators, services);
  const createCtx = contexts(validators, services)[toCallerKind(readRequirement(operation.operation))];
  return async (checked, page) => {
    if (checked.caller) authorizeFields(checked.caller.actor, operation.operation, checked.body.value);
    const held = await holdIfRequired(operation, checked, () => createCtx(checked));
    if ('answered' in held) return held.answered;
    try {
      if (!held.isCounted) return await run(checked, page);
      return await countAsRecipients(createCtx(checked) as Ctx, countItems(checked), () => run(checked, page));
    } catch (error) {
      // Only the transaction that counts the recipients of a day knows that these are too many to send without approval.
      const actor = checked.caller?.actor;
      if (!(error instanceof BeyondUnapproved) || actor?.kind !== 'oauth_grant') throw error;
      const { answered } = await holdCall(operation, checked, { ...(createCtx(checked) as Ctx), actor });
      return answered;
    }
  };
}

/** The same for a call that a person has approved: the limits of the app do not apply. */
function createApprovedRunner(
  operation: OperationValidators,
  validators: Validators,
  services: HttpServices,
): (checked: CheckedRequest, page?: PageCall) => Promise<unknown> {
  const { operationId } = operation;
  if (!isVerb(operationId)) throw unanswered(operationId);
  const answer = verbs[operationId];
  const createCtx = contexts(validators, services)[toCallerKind(readRequirement(operation.operation))];
  const readCall = callReader(operation);
  const isAudited = operation.operation['x-service-audit'] !== undefined;
  const isRead = operation.operation['x-service-effect'] === 'reads';
  return async (checked, page) => {
    const ctx = createCtx(checked);
    const audit = isAudited ? audited(ctx.store, buildAuditNote(operation, checked)) : undefined;
    if (audit) ctx.store = audit.store;
    const answered = await answer(ctx, readCall(checked), page);
    // A read makes no change whose transaction would include the entry, so the entry is written before the first byte
    // is sent.
    if (page && (isRead || checked.request.method === 'GET')) await audit?.write();
    const outcome = audit && formatOutcome(operation.operation, checked, answered);
    if (outcome !== undefined) await audit?.writeOutcome(outcome);
    return answered;
  };
}

/** Counts the people that a call may start mail to: those of a batch, or one. */
const countItems = ({ body: { value } }: CheckedRequest): number => (Array.isArray(value) ? value.length : 1);

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
      if (caller?.actor.kind !== 'session') throw new Error('an operation of users was called without a session');
      const browser = createBrowser(store, request, reply);
      return { store, actor: caller.actor, browser, requestId: request.id, services };
    },
    operator({ request, caller }) {
      if (caller?.actor.kind !== 'operator')
        throw new Error('an operation of operators was called without an operator');
      return { store, actor: caller.actor, requestId: request.id, services };
    },
    nobody: ({ request, reply }) => ({
      store,
      browser: createBrowser(store, request, reply),
      bearer: readBearer(request),
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
  findRequirement: (id) => readRequirement(knownOperation(validators, id).operation),
  describeOperation: (id) => validators.operations.get(id)?.operation.summary ?? id,
  async make(actor, { operationId, path, query, header, body: value }) {
    const parameters = { path: { ...path }, query: { ...query }, header: { ...header } };
    const checked = { request, reply, caller: { teamId, actor }, body: { value, hasEscapes: true }, parameters };
    const operation = knownOperation(validators, operationId);
    authorizeFields(actor, operation.operation, value);
    const answer = await createApprovedRunner(operation, validators, services)(checked);
    return answer instanceof Answered ? (answer as Answered<unknown>).body : answer;
  },
});

/** A call that an earlier version recorded may name an operation that no longer exists. */
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
  if (!caller || caller.teamId === null) throw new Error('an operation that needs a team was called without one');
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

/**
 * Sends a response with the first success status that the contract declares, unless the operation names another one.
 */
function createSender(
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

/** A request that has passed every check, in its parts. */
interface CheckedRequest {
  request: FastifyRequest;
  reply: FastifyReply;
  /** Undefined when the operation needs no credential. */
  caller: Caller | undefined;
  body: ParsedBody;
  parameters: RequestParameters;
}

/** Returns a signal that aborts when the caller's connection ends before the response. Made only on request. */
export function whenCallerGone({ raw: { socket } }: FastifyRequest, reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  if (socket.destroyed) abort();
  socket.once('close', abort);
  reply.raw.once('finish', () => socket.off('close', abort));
  return controller.signal;
}

/**
 * Keeps an app to the limits of its grant, whichever port it comes through: refuses calls beyond a limit, and holds
 * those that a person has to approve. Returns whether the items of a call that may proceed count as recipients of the app.
 */
async function holdIfRequired(
  operation: OperationValidators,
  { caller, body, parameters: { path, query, header } }: CheckedRequest,
  createCtx: () => OperationCtxFor[keyof OperationCtxFor],
): Promise<{ answered: unknown } | { isCounted: boolean }> {
  if (caller?.actor.kind !== 'oauth_grant') return { isCounted: false };
  const { actor } = caller;
  const { operationId, method } = operation;
  const checksItself = isBatch(operationId);
  if (checksItself) operation.variants.normalizeBody(body.value);
  const call = { operationId, path, query, header, body: body.value };
  const isOwn = asksForWriter(operation) && (await changesOwnWork({ ...(createCtx() as Ctx), actor }, call));
  const effect = computeEffect(operation, body.value, { isOwn });
  const admission = decideAdmission(actor.limits, effect);
  if (admission instanceof Refusal) throw admission;
  if (admission === 'may' && method === 'get') return { isCounted: false };
  const ctx = { ...(createCtx() as Ctx), actor: actor satisfies Actor };
  if (admission === 'may' && !(await repeatsHeldCall(ctx, call))) {
    if (actor.limits.approval !== 'none') await mustLeaveWaitingMail(ctx, call);
    return { isCounted: countsAsRecipient(actor.limits, effect) };
  }
  return holdCall(operation, { body, parameters: { path, query, header } }, ctx);
}

type AppCtx = Ctx & { actor: Extract<Actor, { kind: 'oauth_grant' }> };

/** Holds a call until a person approves it. */
async function holdCall(
  { operationId }: OperationValidators,
  { body, parameters: { path, query, header } }: Pick<CheckedRequest, 'body' | 'parameters'>,
  ctx: AppCtx,
): Promise<{ answered: unknown }> {
  const call = { operationId, path, query, header, body: body.value };
  if (Object.hasOwn(pages, operationId)) {
    throw refuse('invalid_permission', {
      say: 'This request needs the approval of a person (approval of its grant), but a request with a file cannot wait for it.',
    });
  }
  // A person only sees calls that can be made: in a batch that waits no entry is at fault, even if a permissive one
  // would send the others.
  if (isBatch(operationId)) (ctx as Ctx & BodyCheck).checkBody(operationId, body.value);
  const inWorld = ctx as typeof ctx & Ctx<World>;
  const { files } = await fetchCallFiles(inWorld, call);
  return proposeCall(inWorld, call, { files, review: (one, held) => reviewCall(inWorld, one, held) });
}
