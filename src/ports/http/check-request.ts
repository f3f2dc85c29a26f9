import { isUtf8 } from 'node:buffer';
import type { FastifyRequest } from 'fastify';
import type { OperationValidators, Problem, RequestParameters, Schema } from '../../contract/index.ts';
import { invalidFields, notFound, refuse, type Refusal } from '../../platform/refusal.ts';

/**
 * A body of a few megabytes can contain millions of objects, which take a hundred times its size once parsed. No
 * request needs that many values; lists of plain numbers, such as the bytes of a file, are not counted.
 */
const VALUES_MAX = 200_000;
/** A name costs many times a value: objects of many names are slow to make and check. The largest batch has some 20,000. */
const NAMES_MAX = 40_000;
const DEPTH_MAX = 64;
/** Smaller bodies are not scanned: their objects do no harm. */
const UNREAD_BYTES_MAX = 64 * 1024;

/**
 * Returns the reason why a JSON text is too complex to parse; undefined if it is not. One pass over the bytes, without
 * any allocation.
 */
export function complexityFault(bytes: Buffer): string | undefined {
  if (bytes.length <= UNREAD_BYTES_MAX) return undefined;
  let values = 0;
  let names = 0;
  let depth = 0;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i];
    if (byte === QUOTE) i = endOfString(bytes, i + 1);
    else if (byte === COMMA) values++;
    else if (byte === COLON) names++;
    else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) depth--;
    else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      values++;
      if (++depth > DEPTH_MAX) return `is nested more than ${DEPTH_MAX} levels deep`;
      if (byte === OPEN_LIST) i = endOfNumbers(bytes, i);
    }
    if (values > VALUES_MAX) return `contains more than ${VALUES_MAX} values`;
    if (names > NAMES_MAX) return `contains more than ${NAMES_MAX} fields`;
  }
  return undefined;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Bytes read one by one before the native search takes over: in a text full of quotes it would be called at each. */
const SHORT_TEXT = 256;

function endOfString(bytes: Buffer, from: number): number {
  let i = from;
  while (i < bytes.length) {
    for (const end = Math.min(i + SHORT_TEXT, bytes.length); i < end; i += bytes[i] === BACKSLASH ? 2 : 1) {
      if (bytes[i] === QUOTE) return i;
    }
    const quote = bytes.indexOf(QUOTE, i);
    if (quote === -1) return bytes.length;
    let backslashes = 0;
    while (quote - backslashes > i && bytes[quote - backslashes - 1] === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return quote;
    i = quote + 1;
  }
  return i;
}

/** The last byte before the end of a list that holds nothing but whole numbers; the list's own bracket otherwise. */
function endOfNumbers(bytes: Buffer, bracket: number): number {
  let i = bracket + 1;
  for (let byte = bytes[i]; isDigit(byte) || byte === COMMA || isSpace(byte); byte = bytes[i]) i++;
  return bytes[i] === CLOSE_LIST ? i - 1 : bracket;
}

const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= 0x30 && byte <= 0x39;
const isSpace = (byte: number | undefined): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

const KEY_CHARS_MAX = 256;

/** Fault 6 of the order that `addOperation` documents. An absent header is no fault. */
export function checkIdempotencyKey(key: string | undefined): void {
  if (key === undefined || (key.length >= 1 && key.length <= KEY_CHARS_MAX)) return;
  throw refuse('invalid_idempotency_key', {
    say: `Idempotency-Key must be 1 to ${KEY_CHARS_MAX} characters long; got ${key.length}.`,
  });
}

/**
 * Fault 7: the first path, query or header parameter at fault. Operations reached by signed links respond with 404
 * instead.
 */
export function checkParameters(operation: OperationValidators, parameters: RequestParameters): void {
  const fault = parameterFault(operation, parameters);
  if (!fault) return lowerUuids(operation, parameters);
  const { 'x-link-to': linkTo } = operation.operation;
  throw linkTo === undefined ? fault : notFound(linkTo);
}

function parameterFault(operation: OperationValidators, parameters: RequestParameters): Refusal | undefined {
  for (const text of [...Object.values(parameters.path), ...Object.values(parameters.query)]) {
    // U+FFFD replaces escapes that are not UTF-8.
    if (typeof text === 'string' && (!isStorable(text) || text.includes('\uFFFD'))) {
      return refuse('invalid_parameter', {
        say: 'A path or query parameter contains a NUL character or is not UTF-8; write it percent-encoded in UTF-8.',
      });
    }
  }
  const repeated = operation.variants.dropPathIds(parameters.path, parameters.query, 'query');
  const first = repeated[0] ?? operation.checkParameters(parameters)?.[0];
  if (!first) return undefined;
  return refuse(first.kind === 'missing' ? 'missing_required_parameter' : 'invalid_parameter', {
    say: `${first.message}.`,
  });
}

/** RFC 9562 §4: UUIDs are read in either letter case; SQLite keeps them as text, in lower case. */
function lowerUuids(operation: OperationValidators, { path, query }: RequestParameters): void {
  for (const { name, in: place, schema } of operation.parameters) {
    const values = place === 'path' ? path : query;
    const value = values[name];
    if ((schema as Schema).format === 'uuid' && typeof value === 'string') values[name] = value.toLowerCase();
  }
}

export interface ParsedBody {
  value: unknown;
  /** True when the text has \u escapes: only they can produce a NUL or half a surrogate pair from JSON in UTF-8. */
  hasEscapes: boolean;
}

/** A body in another encoding than the declared one would be misread, or pass unchecked. */
export function codingFault({ headers }: FastifyRequest): Refusal | undefined {
  const coding = headers['content-encoding'];
  const isEmpty = headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0;
  if (coding === undefined || isEmpty || ['', 'identity'].includes(coding.trim().toLowerCase())) return undefined;
  return refuse('validation_error', {
    status: 415,
    say: `Content-Encoding must be left out or be identity; got ${JSON.stringify(coding.slice(0, 100))}. Send the body as it is.`,
  });
}

/** Fault 8: zero bytes are an empty body, whatever the media type is. */
export function parseBody(bytes: Buffer | undefined, contentType: string | undefined): ParsedBody {
  if (bytes === undefined || bytes.length === 0) return { value: {}, hasEscapes: false };
  if (!/^application\/json\s*(;|$)/i.test(contentType ?? '')) {
    throw badBody(
      `Content-Type must be application/json; got ${contentType ? JSON.stringify(contentType.slice(0, 100)) : 'none'}.`,
    );
  }
  const fault = complexityFault(bytes);
  if (fault !== undefined) throw badBody(`The request body ${fault}; split it into smaller requests.`);
  if (!isUtf8(bytes)) throw badBody('The request body must be JSON in UTF-8; it contains bytes that are not.');
  try {
    return { value: JSON.parse(bytes.toString('utf8')) as unknown, hasEscapes: bytes.includes('\\u') };
  } catch (error) {
    throw badBody(`The request body is not valid JSON: ${(error as Error).message.slice(0, 120)}`);
  }
}

/** The body as its operation expects it: a bare list stands for the one field that may be sent so. */
export function unwrapped(operation: OperationValidators, body: ParsedBody): ParsedBody {
  const field = operation.operation['x-bare-list'];
  return field === undefined || !Array.isArray(body.value) ? body : { ...body, value: { [field]: body.value } };
}

const badBody = (say: string) => refuse('validation_error', { status: 400, say });

/**
 * The last checks of a request: refuses missing required fields, and if there are none, all other fields at fault.
 * `path` holds the parameters of the path, whose ids a body may repeat.
 */
export function checkBody(
  operation: OperationValidators,
  { value: body, hasEscapes }: ParsedBody,
  path: RequestParameters['path'] = {},
): void {
  const repeated = operation.variants.dropPathIds(path, body, 'body');
  operation.variants.normalizeBody(body);
  refuseFields(operation.operation, body);
  const problems = operation.checkBody?.(body) ?? unexpectedFields(operation, body);
  for (const problem of repeated) {
    const same = problems.findIndex(({ path: at }) => at === problem.path);
    if (same === -1) problems.push(problem);
    else problems[same] = problem;
  }
  const missing = problems.filter((problem) => problem.kind === 'missing').map(({ path }) => path);
  if (missing.length > 0) throw refuse('missing_required_field', { say: describeMissing([...new Set(missing)]) });
  if (problems.length === 0 && hasEscapes) problems.push(...unstorable(body));
  if (problems.length > 0) throw invalidFields(problems.map(({ path, message }) => ({ path, message })));
}

const ALSO_MAX = 5;

/** The first is the fault; the others are named with it, so that the caller does not learn of them one call after another. */
function describeMissing([first, ...others]: string[]): string {
  if (others.length === 0) return `Missing required field: ${first}.`;
  const more = others.length > ALSO_MAX ? ` and ${others.length - ALSO_MAX} more` : '';
  return `Missing required field: ${first}. Also missing: ${others.slice(0, ALSO_MAX).join(', ')}${more}.`;
}

/** Fields that exist but that this operation may not change: a rule of the resource, not a fault of form. */
function refuseFields(operation: OperationValidators['operation'], body: unknown): void {
  const { 'x-refused-fields': refused, 'x-refused-as': name = 'validation_error' } = operation;
  if (refused === undefined || typeof body !== 'object' || body === null || Array.isArray(body)) return;
  const named = Object.keys(refused).find((field) => Object.hasOwn(body, field));
  if (named !== undefined) throw refuse(name, { status: 422, say: `${refused[named]}.` });
}

/** An operation without a body accepts an empty object, because clients send one. */
function unexpectedFields(operation: OperationValidators, body: unknown): Problem[] {
  if (operation.checkBody) return [];
  if (body === null || typeof body !== 'object' || Array.isArray(body)) {
    return [{ kind: 'malformed', path: '', message: 'this operation takes no body' }];
  }
  return Object.keys(body).map((name) => ({
    kind: 'unknown',
    path: name,
    message: `${name} is not a field of this operation`,
  }));
}

/** Not every database can store NUL, and none a lone surrogate: refused here, for all fields of all operations. */
function unstorable(body: unknown): Problem[] {
  const problems: Problem[] = [];
  const look = (value: unknown, path: string): void => {
    if (typeof value === 'string') {
      if (!isStorable(value)) {
        problems.push({
          kind: 'malformed',
          path,
          message: `${path} contains a NUL character or half of a surrogate pair; remove it`,
        });
      }
    } else if (Array.isArray(value)) {
      // A list of numbers is the bytes of a file; there may be millions.
      if (typeof value[0] !== 'number') value.forEach((item, i) => look(item, `${path}.${i}`));
    } else if (typeof value === 'object' && value !== null) {
      for (const [name, field] of Object.entries(value)) {
        const at = path === '' ? name : `${path}.${name}`;
        look(name, at);
        look(field, at);
      }
    }
  };
  look(body, '');
  return problems;
}

const isStorable = (text: string): boolean => !text.includes('\0') && text.isWellFormed();
