import type { Tool } from '@modelcontextprotocol/server';
import {
  resolveRef,
  type OpenApiDocument,
  type OperationValidators,
  type OrRef,
  type RequestParameters,
  type Schema,
  type ValueId,
  type Validators,
} from '../../../contract/index.ts';
import { refuse } from '../../../platform/refusal.ts';
import { computeLeastEffect, type Actor } from '../../../tenancy/access/index.ts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { checksItsOwnBody } from '../../../mail/operations.ts';
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
  // A campaign from its draft to its report; each step shows more before anything is sent.
  'listBroadcasts',
  'getBroadcast',
  'createBroadcast',
  'updateBroadcast',
  'previewBroadcast',
  'getBroadcastChecklist',
  'runBroadcastChecks',
  'testBroadcast',
  'sendBroadcast',
  'cancelBroadcast',
  'listBroadcastRecipients',
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
    description: `${declared.summary}. ${firstSentence(declared.description)}`,
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

/** Texts of the contract begin with what the operation does. */
const firstSentence = (text: string): string =>
  /^.+?[.:](?=\s|$)/s.exec(text.trim())?.[0].replaceAll(/\s+/g, ' ') ?? text.trim();

type Input = Tool['inputSchema'];

function buildInputSchema(document: OpenApiDocument, operation: OperationValidators): Input {
  const properties: Record<string, Plain> = {};
  const required: string[] = [];
  for (const { name, in: place, schema, description, required: isRequired } of operation.parameters) {
    const argument = place === 'header' ? argumentOfHeader(name) : name;
    if (argument === undefined) continue;
    properties[argument] = { ...plain(document, schema), ...(description !== undefined && { description }) };
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

const argumentOfHeader = (name: string): string | undefined => (name === 'Idempotency-Key' ? KEY : undefined);

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

/** Sorts the arguments into path, query, headers and body. Unknown ones go where the contract's checks report them. */
function buildCall(document: OpenApiDocument, operation: OperationValidators, given: unknown): OperationCall {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw refuse('validation_error', { status: 400, say: 'The arguments of a tool must be a JSON object.' });
  }
  const bodySchema = findBodySchema(document, operation);
  const places = new Map(operation.parameters.map(({ name, in: place }) => [name, place]));
  const parts: Record<'path' | 'query' | 'body', [string, unknown][]> = { path: [], query: [], body: [] };
  const header: Record<string, unknown> = {};
  const takesKey = places.has('Idempotency-Key');
  for (const [name, value] of Object.entries(given)) {
    const place = places.get(name);
    if (place === 'path' || place === 'query') parts[place].push([name, value]);
    else if (takesKey && name === KEY) header['idempotency-key'] = value;
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
  throw refuse('invalid_idempotency_key', { say: 'idempotency_key must be a string.' });
}
