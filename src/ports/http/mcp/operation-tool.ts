import type { Tool } from '@modelcontextprotocol/server';
import {
  resolveRef,
  type OpenApiDocument,
  type OperationValidators,
  type OrRef,
  type Parameter,
  type RequestParameters,
  type Schema,
  type ValueId,
  type Validators,
} from '../../../contract/index.ts';
import { refuse, Refusal } from '../../../platform/refusal.ts';
import { computeLeastEffect, isBatch, type Actor } from '../../../tenancy/access/index.ts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Answered } from '../../../tenancy/access/index.ts';
import { createRunner } from '../answerer.ts';
import { checkBody, checkIdempotencyKey, checkParameters } from '../check-request.ts';
import type { HttpServices } from '../page.ts';
import type { Caller } from '../request-log.ts';

/**
 * The operations that are tools by their own names. Editors accept 40 tools in all, and models choose worse among many:
 * with the two general tools, which reach everything else, this is the maximum. Everyday tasks of an assistant are
 * here; operations that delete something or set up a team have to be searched for first.
 */
export const CURATED = [
  // Sending, and finding out what happened to the mail.
  'sendEmail',
  'listEmails',
  'getEmail',
  'listEmailEvents',
  'listEmailAttempts',
  // Moving or canceling a scheduled email while there is time: an agent should not have to search for it.
  'updateEmail',
  'cancelEmail',
  // Replies to mail that was sent.
  'listReceivedEmails',
  'getReceivedEmail',
  'getEmailMetrics',
  // Text that is written with a person, and published once they like it.
  'listTemplates',
  'getTemplate',
  'createTemplate',
  'updateTemplate',
  'publishTemplate',
  // Finding contacts and reading what is known about them.
  'listContacts',
  'getContact',
  'createContact',
  'updateContact',
  // The audience of a campaign.
  'listSegments',
  'createSegment',
  'previewSegment',
  'listTopics',
  // A campaign from its draft to its report.
  'listBroadcasts',
  'getBroadcast',
  'createBroadcast',
  'updateBroadcast',
  'runBroadcastChecks',
  'sendBroadcast',
  'cancelBroadcast',
  // The conversations of an inbox, and an answer that is sent or left for a person.
  'listInboxThreads',
  'listInboxThreadEmails',
  'replyToInboxEmail',
  'createInboxDraft',
  // Events that start automations, and whether automations run. Designing one is work for a person with a graph on the
  // screen.
  'sendEvent',
  'listAutomations',
  'getAutomation',
  // The team whose name and address the mail shows.
  'getTeam',
] as const satisfies readonly ValueId[];

/** The header Idempotency-Key, as an argument. */
const KEY = 'idempotency_key';
/** A body that is no object is one argument. */
const BODY = 'body';

/** An operation of the contract as a tool: its parameters and the fields of its body are the arguments, side by side. */
export function buildTool(document: OpenApiDocument, operation: OperationValidators): Tool {
  const { operationId, operation: declared } = operation;
  return {
    name: operationId,
    title: declared.summary,
    description: describeTool(declared),
    inputSchema: buildInputSchema(document, operation),
    annotations: { title: declared.summary, ...buildAnnotations(operation) },
  };
}

export function buildAnnotations(entry: Pick<OperationValidators, 'method' | 'operation'>) {
  const { method, operation } = entry;
  const isIrrevocable = operation['x-service-irrevocable'] === true;
  return {
    readOnlyHint: computeLeastEffect(entry) === 'reads',
    destructiveHint: method === 'delete' || method === 'put' || method === 'patch' || isIrrevocable,
    idempotentHint: method !== 'post',
    openWorldHint: operation['x-service-reaches-people'] === true,
  };
}

/** Texts of the contract begin with what the operation does. The first sentence is whole, with what follows a colon. */
function describeTool({ summary, description, 'x-service-use': use }: OperationValidators['operation']): string {
  const [paragraph = ''] = description.trim().split(/\n\s*\n/);
  const text = paragraph.replaceAll(/\s+/g, ' ');
  const sentence = /^.+?\.(?=\s|$)/.exec(text)?.[0] ?? text;
  return `${summary}. ${sentence}${use ? ` Use for ${use.for}. Not for ${use.not}.` : ''}`;
}

type Input = Tool['inputSchema'];

function buildInputSchema(document: OpenApiDocument, operation: OperationValidators): Input {
  const properties: Record<string, Plain> = {};
  const required: string[] = [];
  for (const parameter of operation.parameters) {
    const { schema, description, required: isRequired } = parameter;
    const argument = toArgument(parameter);
    if (argument === undefined) continue;
    const described = { ...plain(document, schema), ...(description !== undefined && { description }) };
    properties[argument] = parameter['x-is-list'] ? takeListsToo(described) : described;
    if (isRequired) required.push(argument);
  }
  const body = findBodySchema(document, operation);
  if (body?.properties) {
    const closed = operation.operation['x-service-not-by-apps'] ?? {};
    for (const [name, field] of Object.entries(body.properties))
      if (!Object.hasOwn(closed, name)) properties[name] = plain(document, field);
    required.push(...(body.required ?? []));
  } else if (body) {
    properties[BODY] = plain(document, body);
    required.push(BODY);
  }
  return { type: 'object', properties, ...(required.length > 0 && { required }), additionalProperties: false };
}

/** Parameters that help the command line, and that a model has no use for. */
const NO_ARGUMENTS: ReadonlySet<string> = new Set(['id_end']);

/** Parameters whose names do not show that they are ids. */
const ID_NAMES: Readonly<Record<string, string>> = { identifier: 'event_id', contact: 'contact_id' };

/** Returns the name of the argument for a parameter, if it has one. Every argument that identifies something ends with _id. */
function toArgument({ name, in: place }: Pick<Parameter, 'name' | 'in'>): string | undefined {
  if (place === 'header') return name === 'Idempotency-Key' ? KEY : undefined;
  if (place === 'path') return ID_NAMES[name] ?? (name.endsWith('_id') ? name : `${name}_id`);
  return NO_ARGUMENTS.has(name) ? undefined : (ID_NAMES[name] ?? name);
}

/** Lets a text with commas also be a list; what is said of texts does not apply to lists. */
const takeListsToo = (schema: Plain): Plain => ({
  ...schema,
  type: ['string', 'array'],
  items: { type: 'string' },
});

/** Returns a list as the text with commas that it stands for; any other value, and a list of other things, as it is. */
function joinList(value: unknown): unknown {
  if (!Array.isArray(value) || value.length === 0) return value;
  return value.every((one) => typeof one === 'string' && !one.includes(',')) ? value.join(',') : value;
}

function findBodySchema(document: OpenApiDocument, { operation }: OperationValidators): Schema | undefined {
  const media = operation.requestBody?.content['application/json'];
  return media && resolveRef<Schema>(document, media.schema);
}

type Plain = { [key: string]: Plain | Plain[] | string | number | boolean | string[] | null };

/** The schema without references, which many clients do not follow, and without the words of ours. */
function plain(document: OpenApiDocument, schema: OrRef<Schema>): Plain {
  const { 'x-message': message, ...words } = resolveRef<Schema>(document, schema);
  const described = message === undefined || 'description' in words ? words : { description: message, ...words };
  return Object.fromEntries(
    Object.entries(described)
      .filter(([word]) => !word.startsWith('x-') && word !== 'writeOnly')
      .map(([word, value]) => [word, plainWord(document, word, value)]),
  ) as Plain;
}

function plainWord(document: OpenApiDocument, word: string, value: unknown): unknown {
  switch (word) {
    case 'properties':
      return Object.fromEntries(
        Object.entries(value as Record<string, OrRef<Schema>>).map(([name, of]) => [name, plain(document, of)]),
      );
    case 'anyOf':
    case 'oneOf':
      return (value as OrRef<Schema>[]).map((one) => plain(document, one));
    case 'items':
    case 'additionalProperties':
    case 'if':
    case 'then':
    case 'else':
      return typeof value === 'object' && value !== null ? plain(document, value as OrRef<Schema>) : value;
    default:
      return value;
  }
}

interface OperationCall {
  parameters: RequestParameters;
  body: unknown;
}

/**
 * Sorts the arguments into path, query, headers and body. Unknown ones go where the contract's checks report them. Names
 * of the contract are accepted too, as many programs know them.
 */
function buildCall(document: OpenApiDocument, operation: OperationValidators, given: unknown): OperationCall {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw refuse('validation_error', { status: 400, say: 'The arguments of a tool must be a JSON object.' });
  }
  const bodySchema = findBodySchema(document, operation);
  const places = new Map<string, Parameter>();
  for (const parameter of operation.parameters) places.set(parameter.name, parameter);
  for (const parameter of operation.parameters) places.set(toArgument(parameter) ?? parameter.name, parameter);
  const parts: Record<'path' | 'query' | 'body', [string, unknown][]> = { path: [], query: [], body: [] };
  const header: Record<string, unknown> = {};
  const takesKey = places.has('Idempotency-Key');
  for (const [name, value] of Object.entries(given)) {
    const parameter = places.get(name);
    if (parameter?.in === 'path' || parameter?.in === 'query') {
      parts[parameter.in].push([parameter.name, parameter['x-is-list'] ? joinList(value) : value]);
    } else if (takesKey && name === KEY) header['idempotency-key'] = value;
    else parts[bodySchema ? 'body' : 'query'].push([name, value]);
  }
  const fields = Object.fromEntries(parts.body);
  const isWhole = bodySchema !== undefined && bodySchema.properties === undefined;
  return {
    parameters: { path: Object.fromEntries(parts.path), query: Object.fromEntries(parts.query), header },
    body: isWhole ? fields[BODY] : fields,
  };
}

/** The caller, and the request that contains the message. */
export interface Assistant {
  request: FastifyRequest;
  reply: FastifyReply;
  caller: Caller;
  actor: Extract<Actor, { kind: 'oauth_grant' }>;
  /** Set if the team makes more requests than its rate limit allows: nothing may be called. */
  limited?: Refusal;
}

export type CallOperation = (assistant: Assistant, operation: OperationValidators, given: unknown) => Promise<unknown>;

/** Calls an operation as its own route does: the same checks in the same order, the same entry in the audit log. */
export function createCallOperation(validators: Validators, services: HttpServices): CallOperation {
  const runners = new Map<string, ReturnType<typeof createRunner>>();
  const runnerFor = (operation: OperationValidators): ReturnType<typeof createRunner> => {
    const known = runners.get(operation.operationId) ?? createRunner(operation, validators, services);
    runners.set(operation.operationId, known);
    return known;
  };
  return async ({ request, reply, caller }, operation, given) => {
    const { parameters, body: value } = buildCall(services.document, operation, given);
    checkIdempotencyKey(keyIn(parameters.header['idempotency-key']));
    checkArguments(operation, parameters);
    // Any string of an argument may have come with an escape.
    const body = { value, hasEscapes: true };
    if (operation.method !== 'get' && !isBatch(operation.operationId)) checkBody(operation, body, parameters.path);
    const answer = await runnerFor(operation)({ request, reply, caller, body, parameters });
    return answer instanceof Answered ? (answer as Answered<unknown>).body : answer;
  };
}

/** Checks the parameters like HTTP does, and names them as the arguments are named. */
function checkArguments(operation: OperationValidators, parameters: RequestParameters): void {
  try {
    checkParameters(operation, parameters);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const { errorName, status, message, errors } = error;
    const renamed = operation.parameters.find(
      (parameter) => parameter.in === 'path' && new RegExp(`\\b${parameter.name}\\b`).test(message),
    );
    const argument = renamed && toArgument(renamed);
    if (argument === undefined || argument === renamed?.name) throw error;
    const say = message.replace(new RegExp(`\\b${renamed?.name}\\b`), argument);
    throw refuse(errorName, { status, say, ...(errors && { errors }) });
  }
}

function keyIn(given: unknown): string | undefined {
  if (given === undefined || typeof given === 'string') return given;
  throw refuse('invalid_idempotency_key', { say: 'idempotency_key must be a string.' });
}
