import type { Tool } from '@modelcontextprotocol/server';
import {
  resolveRef,
  type OpenApiDocument,
  type OperationValidators,
  type OrRef,
  type RequestParameters,
  type Schema,
} from '../../../contract/index.ts';
import { refuse } from '../../../platform/refusal/index.ts';
import { leastEffectOf } from '../../../tenancy/access/index.ts';
import { IRREVOCABLE, REACHES_PEOPLE } from './curated.ts';

/** The header Idempotency-Key, as an argument. */
const KEY = 'idempotency_key';
/** A body that is no object is one argument. */
const BODY = 'body';

/** An operation of the contract as a tool: its parameters and the fields of its body are the arguments, side by side. */
export function toolOf(document: OpenApiDocument, operation: OperationValidators): Tool {
  const { operationId, operation: declared } = operation;
  return {
    name: operationId,
    title: declared.summary,
    description: `${declared.summary}. ${firstSentence(declared.description)}`,
    inputSchema: inputSchemaOf(document, operation),
    annotations: { title: declared.summary, ...annotationsOf(operation) },
  };
}

export function annotationsOf(entry: Pick<OperationValidators, 'method' | 'operationId' | 'operation'>) {
  const { method, operationId } = entry;
  return {
    readOnlyHint: leastEffectOf(entry) === 'reads',
    destructiveHint: method === 'delete' || method === 'put' || method === 'patch' || IRREVOCABLE.has(operationId),
    idempotentHint: method !== 'post',
    openWorldHint: REACHES_PEOPLE.has(operationId),
  };
}

/** Texts of the contract begin with what the operation does. */
const firstSentence = (text: string): string =>
  /^.+?[.:](?=\s|$)/s.exec(text.trim())?.[0].replaceAll(/\s+/g, ' ') ?? text.trim();

type Input = Tool['inputSchema'];

function inputSchemaOf(document: OpenApiDocument, operation: OperationValidators): Input {
  const properties: Record<string, Plain> = {};
  const required: string[] = [];
  for (const { name, in: place, schema, description, required: isRequired } of operation.parameters) {
    const argument = place === 'header' ? argumentOfHeader(name) : name;
    if (argument === undefined) continue;
    properties[argument] = { ...plain(document, schema), ...(description !== undefined && { description }) };
    if (isRequired) required.push(argument);
  }
  const body = bodySchemaOf(document, operation);
  if (body?.properties) {
    for (const [name, field] of Object.entries(body.properties)) properties[name] = plain(document, field);
    required.push(...(body.required ?? []));
  } else if (body) {
    properties[BODY] = plain(document, body);
    required.push(BODY);
  }
  return { type: 'object', properties, ...(required.length > 0 && { required }), additionalProperties: false };
}

const argumentOfHeader = (name: string): string | undefined => (name === 'Idempotency-Key' ? KEY : undefined);

function bodySchemaOf(document: OpenApiDocument, { operation }: OperationValidators): Schema | undefined {
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

export interface OperationCall {
  parameters: RequestParameters;
  body: unknown;
}

/** Where each argument belongs. Unknown ones go where the contract's checks name it. */
export function callOf(document: OpenApiDocument, operation: OperationValidators, given: unknown): OperationCall {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw refuse('validation_error', { status: 400, say: 'The arguments of a tool must be a JSON object.' });
  }
  const bodySchema = bodySchemaOf(document, operation);
  const placeOf = new Map(operation.parameters.map(({ name, in: place }) => [name, place]));
  const parts: Record<'path' | 'query' | 'body', [string, unknown][]> = { path: [], query: [], body: [] };
  const header: Record<string, unknown> = {};
  const takesKey = placeOf.has('Idempotency-Key');
  for (const [name, value] of Object.entries(given)) {
    const place = placeOf.get(name);
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
