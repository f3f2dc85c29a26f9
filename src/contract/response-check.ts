import type { ValidateFunction } from 'ajv';
import type { OpenAPIValidator } from 'openapi-backend';
import { resolveRef, type OpenApiDocument, type Operation, type ResponseObject } from './document.ts';

export interface Answer {
  status: number;
  /** The parsed JSON body; a string for any other media type. */
  body: unknown;
  headers: Record<string, string | string[] | number | undefined>;
}

/** Everything about an answer that the contract does not allow, in words; empty when it keeps the contract. */
export function checkResponse(
  document: OpenApiDocument,
  operation: Operation,
  validator: OpenAPIValidator,
  answer: Answer,
): string[] {
  const declared = operation.responses[String(answer.status)];
  const { operationId } = operation;
  if (!declared) {
    const known = Object.keys(operation.responses).join(', ');
    return [`${operationId} answered ${answer.status}, which it does not declare (declared: ${known})`];
  }
  const response = resolveRef(document, declared);
  const problems = [
    ...checkHeaders(document, response, validator, operationId, answer),
    ...checkMediaType(response, answer),
    ...checkBody(validator, operationId, answer),
    ...checkErrorName(response, answer),
  ];
  return problems.map((problem) => `${operationId} ${answer.status}: ${problem}`);
}

function checkHeaders(
  document: OpenApiDocument,
  response: ResponseObject,
  validator: OpenAPIValidator,
  operationId: string,
  answer: Answer,
): string[] {
  const present = new Map(Object.entries(answer.headers).map(([name, value]) => [name.toLowerCase(), value]));
  const missing = Object.entries(response.headers ?? {})
    .filter(([name, header]) => resolveRef(document, header).required && present.get(name) === undefined)
    .map(([name]) => `the header ${name} is missing`);
  const result = validator.validateResponseHeaders(Object.fromEntries(present), operationId, {
    statusCode: answer.status,
  });
  const malformed = (result.errors ?? []).map((error) => `${error.instancePath} ${error.message ?? 'is malformed'}`);
  return [...missing, ...malformed, ...checkRetryAfter(present.get('retry-after'), answer)];
}

/** retry-after promises that waiting helps, so it stands with rate_limit_exceeded and nowhere else. */
function checkRetryAfter(value: unknown, answer: Answer): string[] {
  const isRateLimit = answer.status === 429 && nameOf(answer.body) === 'rate_limit_exceeded';
  if (isRateLimit && value === undefined) return ['rate_limit_exceeded needs the header retry-after'];
  if (!isRateLimit && value !== undefined) return ['retry-after may stand with rate_limit_exceeded only'];
  return [];
}

function checkMediaType(response: ResponseObject, answer: Answer): string[] {
  const declared = Object.keys(response.content ?? {});
  const sent = String(answer.headers['content-type'] ?? '').split(';')[0] ?? '';
  // `*/*` says that the file's own type is answered.
  if (declared.includes(sent) || declared.includes('*/*')) return [];
  return [`content-type is "${sent}", not ${declared.join(' or ')}`];
}

function checkBody(validator: OpenAPIValidator, operationId: string, answer: Answer): string[] {
  const byStatus = validator.getStatusBasedResponseValidatorForOperation(operationId) as Record<
    string,
    ValidateFunction
  >;
  const validate = byStatus[answer.status];
  if (!validate || validate(answer.body)) return [];
  return (validate.errors ?? []).map((error) => {
    const extra = 'additionalProperty' in error.params ? ` (${String(error.params['additionalProperty'])})` : '';
    return `body${error.instancePath} ${error.message ?? 'is malformed'}${extra}`;
  });
}

function checkErrorName(response: ResponseObject, answer: Answer): string[] {
  const allowed = response['x-error-names'];
  if (!allowed) return [];
  const { statusCode } = answer.body as { statusCode?: unknown };
  const name = nameOf(answer.body);
  const problems: string[] = [];
  if (!allowed.includes(name)) problems.push(`the error name is "${name}", not ${allowed.join(' or ')}`);
  if (statusCode !== answer.status) problems.push(`statusCode is ${String(statusCode)}, not ${answer.status}`);
  return problems;
}

function nameOf(body: unknown): string {
  return typeof body === 'object' && body !== null && 'name' in body ? String(body.name) : '';
}
