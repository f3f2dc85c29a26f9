import type { ValidateFunction } from 'ajv';
import { resolveRef, type OpenApiDocument, type OperationEntry, type ResponseObject } from './document.ts';

export interface Answer {
  status: number;
  /** The parsed JSON body; a string for any other media type. */
  body: unknown;
  headers: Record<string, string | string[] | number | undefined>;
}

/** Returns the validator of the schema at a path of the document (`#/components/…`), compiled on first use. */
export type SchemaAt = (place: string) => ValidateFunction;

/** Lists every violation of the contract in a response; empty if there is none. */
export function checkResponse(
  document: OpenApiDocument,
  { operation, path, method }: OperationEntry,
  schemas: { body: SchemaAt; header: SchemaAt },
  answer: Answer,
): string[] {
  const declared = operation.responses[String(answer.status)];
  const { operationId } = operation;
  if (!declared) {
    const known = Object.keys(operation.responses).join(', ');
    return [`${operationId} answered ${answer.status}, which it does not declare (declared: ${known})`];
  }
  const place = formatPointer(declared, ['paths', path, method, 'responses', String(answer.status)]);
  const response = resolveRef(document, declared);
  const problems = [
    ...checkHeaders(document, response, (name) => `${place}/headers/${name}`, schemas.header, answer),
    ...checkMediaType(response, answer),
    ...checkBody(response, place, schemas.body, answer),
    ...checkErrorName(response, answer),
  ];
  return problems.map((problem) => `${operationId} ${answer.status}: ${problem}`);
}

/**
 * Same as checkResponse for a body alone, for a caller that has no more of the response; without a status it is checked
 * as a success.
 */
export function checkAnswer(
  document: OpenApiDocument,
  { operation, path, method }: OperationEntry,
  schemaAt: SchemaAt,
  { status, body }: { status?: number | undefined; body: unknown },
): string[] {
  const known = Object.keys(operation.responses);
  const code = status === undefined ? known.find((one) => one.startsWith('2')) : String(status);
  const declared = operation.responses[code ?? ''];
  if (code === undefined || !declared) return [`the status ${code} is not declared`];
  const place = formatPointer(declared, ['paths', path, method, 'responses', code]);
  return checkBody(resolveRef(document, declared), place, schemaAt, { status: Number(code), body, headers: {} });
}

/** Most responses are shared, so that their compiled schemas are shared as well. */
const formatPointer = (declared: object, path: readonly string[]): string =>
  '$ref' in declared
    ? String(declared.$ref)
    : `#/${path.map((key) => encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/')}`;

function checkHeaders(
  document: OpenApiDocument,
  response: ResponseObject,
  placed: (name: string) => string,
  schemaAt: SchemaAt,
  answer: Answer,
): string[] {
  const present = new Map(Object.entries(answer.headers).map(([name, value]) => [name.toLowerCase(), value]));
  const problems = Object.entries(response.headers ?? {}).flatMap(([name, header]) => {
    const value = present.get(name);
    if (value === undefined) return resolveRef(document, header).required ? [`the header ${name} is missing`] : [];
    const validate = schemaAt(`${'$ref' in header ? header.$ref : placed(name)}/schema`);
    // Wrapped in an object, so that Ajv can coerce the header's digits to the number that the schema requires.
    return validate({ value })
      ? []
      : (validate.errors ?? []).map((error) => `the header ${name} ${error.message ?? 'is malformed'}`);
  });
  return [...problems, ...checkRetryAfter(present.get('retry-after'), answer)];
}

/**
 * retry-after promises that waiting helps: rate_limit_exceeded always has it, service_unavailable if the time is known,
 * and no other error has it.
 */
function checkRetryAfter(value: unknown, answer: Answer): string[] {
  const isOfOauth = (answer.body as { error?: unknown } | null)?.error === 'invalid_request';
  const isRateLimit = answer.status === 429 && (readErrorName(answer.body) === 'rate_limit_exceeded' || isOfOauth);
  if (isRateLimit && value === undefined) return ['rate_limit_exceeded needs the header retry-after'];
  const isUnavailable = answer.status === 503 && readErrorName(answer.body) === 'service_unavailable';
  if (!isRateLimit && !isUnavailable && value !== undefined)
    return ['retry-after may stand with rate_limit_exceeded and service_unavailable only'];
  return [];
}

function checkMediaType(response: ResponseObject, answer: Answer): string[] {
  const declared = Object.keys(response.content ?? {});
  const sent = String(answer.headers['content-type'] ?? '').split(';')[0] ?? '';
  // `*/*` means that the response has the file's own type.
  if (declared.includes(sent) || declared.includes('*/*')) return [];
  // A response without content has no type.
  if (declared.length === 0 && sent === '') return [];
  return [`content-type is "${sent}", not ${declared.join(' or ')}`];
}

function checkBody(response: ResponseObject, place: string, schemaAt: SchemaAt, answer: Answer): string[] {
  if (!response.content?.['application/json']) return [];
  const validate = schemaAt(`${place}/content/application~1json/schema`);
  if (validate(answer.body)) return [];
  return (validate.errors ?? []).map((error) => {
    const extra = 'additionalProperty' in error.params ? ` (${String(error.params['additionalProperty'])})` : '';
    return `body${error.instancePath} ${error.message ?? 'is malformed'}${extra}`;
  });
}

function checkErrorName(response: ResponseObject, answer: Answer): string[] {
  const allowed = response['x-error-names'];
  if (!allowed) return [];
  const { statusCode } = answer.body as { statusCode?: unknown };
  const name = readErrorName(answer.body);
  const problems: string[] = [];
  if (!allowed.includes(name)) problems.push(`the error name is "${name}", not ${allowed.join(' or ')}`);
  if (statusCode !== answer.status) problems.push(`statusCode is ${String(statusCode)}, not ${answer.status}`);
  return problems;
}

function readErrorName(body: unknown): string {
  return typeof body === 'object' && body !== null && 'name' in body ? String(body.name) : '';
}
