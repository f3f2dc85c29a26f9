import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { OpenAPIValidator, ValidationContext, type Document, type Operation } from 'openapi-backend';
import { createClientVariants, type ClientVariants } from './client-variants.ts';
import { listOperations, resolveRef, type OpenApiDocument, type OperationEntry, type Schema } from './document.ts';
import { describeProblems, type Problem } from './problems.ts';
import { checkAnswer, checkResponse, type Answer, type SchemaAt } from './response-check.ts';

export interface RequestParameters {
  path: Record<string, unknown>;
  query: Record<string, unknown>;
  /** Names in lower case, as Node delivers them. */
  header: Record<string, unknown>;
}

export interface OperationValidators extends OperationEntry {
  /** Accepts the other forms of a request that official clients send; must be applied before the checks. */
  variants: ClientVariants;
  /**
   * Checks path, query and header parameters; undefined if they are valid. In the query, numbers and booleans are
   * coerced in place and defaults are filled in, so pass the object that the handler reads. Unknown query parameters
   * are problems.
   */
  checkParameters: (parameters: RequestParameters) => Problem[] | undefined;
  /**
   * Checks a parsed JSON body; undefined if it is valid. An absent body counts as an empty object, because clients send
   * no bytes if they have no fields. The method itself is absent if the operation takes no body.
   */
  checkBody?: (body: unknown) => Problem[] | undefined;
}

export interface Validators {
  operations: Map<string, OperationValidators>;
  /** For tests: lists every violation of the contract in a response; empty if there is none. */
  validateResponse: (operationId: string, answer: Answer) => string[];
  /** Same as validateResponse for a body alone, for clients; without a status it is checked as a success. */
  validateAnswer: (operationId: string, answer: { status?: number | undefined; body: unknown }) => string[];
  /**
   * Compiles at once what valid requests to these operations need; everything else is compiled by the first request
   * that needs it.
   */
  compile: (operationIds: Iterable<string>) => void;
}

/** Maximum number of values in an invalid body for which every error is reported; above it, only the first is. */
const bodyNodesMax = 10_000;

/** Compiles nothing yet: each validator is compiled when it is first used. */
export function compileValidators(document: OpenApiDocument): Validators {
  const resolved = createDereference(document);
  // Invalid requests are rare, so the second compiler is created with the first of them.
  const quick = new RequestValidators(resolved, false);
  const thorough = once(() => new RequestValidators(resolved, true));
  const answers = { body: createSchemaLookup(document, 'body'), header: createSchemaLookup(document, 'header') };
  const operations = new Map<string, OperationValidators>();
  for (const entry of listOperations(document)) {
    operations.set(entry.operationId, createOperationValidators(document, entry, quick, thorough));
  }
  return {
    operations,
    validateResponse: (operationId, answer) => {
      const entry = operations.get(operationId);
      if (!entry) return [`the contract has no operation ${operationId}`];
      return checkResponse(document, entry, answers, answer);
    },
    validateAnswer: (operationId, answer) => {
      const entry = operations.get(operationId);
      return entry ? checkAnswer(document, entry, answers.body, answer) : [];
    },
    compile: (operationIds) => {
      for (const id of operationIds) {
        const entry = operations.get(id);
        if (!entry) throw new Error(`the contract has no operation ${id}`);
        quick.of(entry);
      }
    },
  };
}

function createOperationValidators(
  document: OpenApiDocument,
  entry: OperationEntry,
  quick: RequestValidators,
  thorough: () => RequestValidators,
): OperationValidators {
  const parameters = once(() => quick.of(entry).parameters);
  const coerce = queryCoercion(document, entry);
  const body = once(() => quick.of(entry).body);
  const everyError = once(() => thorough().of(entry).body);
  const variants = once(() => createClientVariants(document, entry));
  const validators: OperationValidators = {
    ...entry,
    variants: {
      dropPathIds: (path, fields, place) => variants().dropPathIds(path, fields, place),
      normalizeBody: (body) => variants().normalizeBody(body),
    },
    checkParameters: (values) => {
      coerce(values.query);
      if (parameters()(values)) return undefined;
      return describeProblems(parameters().errors ?? [], 'a parameter of this operation');
    },
  };
  if (!entry.operation.requestBody) return validators;
  validators.checkBody = (value = {}) => {
    if (body()({ requestBody: value })) return undefined;
    // Ajv creates one error object per wrong value: a large hostile body must not produce a million of them.
    const validate = holdsAtMost(value, bodyNodesMax) ? everyError() : body();
    validate({ requestBody: value });
    return describeProblems(validate.errors ?? [], 'a field of this body');
  };
  return validators;
}

interface Compiled {
  parameters: ValidateFunction;
  body: ValidateFunction;
}

/**
 * openapi-backend creates the validators of one operation after the other. It is not given the document, because it
 * would resolve all references and read it again for each operation, which took a fifth of a server's start.
 */
class RequestValidators extends OpenAPIValidator {
  readonly #resolved: Dereference;
  readonly #allErrors: boolean;
  readonly #compilers = new Map<ValidationContext, Ajv2020>();
  readonly #made = new Map<OperationEntry, Compiled>();

  constructor(resolved: Dereference, allErrors: boolean) {
    super({ definition: NO_DOCUMENT, lazyCompileValidators: true });
    this.#resolved = resolved;
    this.#allErrors = allErrors;
  }

  of(entry: OperationEntry): Compiled {
    const made = this.#made.get(entry) ?? this.#compile(entry);
    this.#made.set(entry, made);
    return made;
  }

  #compile({ operationId, method, path, operation, parameters }: OperationEntry): Compiled {
    const { requestBody } = operation;
    const whole = this.#resolved({ operationId, method, path, parameters, ...(requestBody && { requestBody }) });
    const functions = this.buildRequestValidatorsForOperation(whole as unknown as Operation) as ValidateFunction[];
    // The body's validator comes first, if there is one, and the parameters' last.
    const body = functions[0];
    const last = functions.at(-1);
    if (!body || !last) throw new Error(`openapi-backend compiled no validators for ${operationId}`);
    return { body, parameters: last };
  }

  /** The library's own Ajv uses draft-07, so every context gets one for 2020-12, the dialect of OpenAPI 3.1. */
  override getAjv(context: ValidationContext): Ajv2020 {
    const known = this.#compilers.get(context);
    const compiler =
      known ??
      createAjv({
        allErrors: this.#allErrors || context !== ValidationContext.RequestBody,
        useDefaults: context === ValidationContext.Params,
      });
    this.#compilers.set(context, compiler);
    return compiler;
  }
}

const NO_DOCUMENT: Document = { openapi: '3.1.0', info: { title: '', version: '' }, paths: {} };

type Dereference = (node: object) => object;

/**
 * Returns copies with every reference replaced by its target. A target that occurs repeatedly is a single object in the
 * copies, even if it contains itself.
 */
function createDereference(document: OpenApiDocument): Dereference {
  const copies = new Map<object, object>();
  const copy = (node: unknown): unknown => (typeof node === 'object' && node !== null ? dereference(node) : node);
  function dereference(node: object): object {
    const target = resolveRef<object>(document, node);
    const known = copies.get(target);
    if (known) return known;
    if (Array.isArray(target)) {
      const list: unknown[] = [];
      copies.set(target, list);
      for (const one of target) list.push(copy(one));
      return list;
    }
    const made: Record<string, unknown> = {};
    copies.set(target, made);
    for (const [name, value] of Object.entries(target)) made[name] = copy(value);
    return made;
  }
  return dereference;
}

/** openapi-backend would compile the schemas of responses and their headers again for each status of each operation. */
function createSchemaLookup(document: OpenApiDocument, kind: 'body' | 'header'): SchemaAt {
  const compiling = once(() =>
    createAjv({ allErrors: true, coerceTypes: kind === 'header' }).addSchema(document, 'contract'),
  );
  const known = new Map<string, ValidateFunction>();
  return (place) => {
    const schema = { $ref: `contract${place}` };
    const validate =
      known.get(place) ?? compiling().compile(kind === 'body' ? schema : { properties: { value: schema } });
    known.set(place, validate);
    return validate;
  };
}

function createAjv(options: { allErrors: boolean; coerceTypes?: boolean; useDefaults?: boolean }): Ajv2020 {
  const ajv = new Ajv2020({
    strict: false,
    // The tests validate the whole document against the dialect; here it would add a tenth of a second to every start.
    validateSchema: false,
    meta: false,
    verbose: true,
    code: { optimize: false },
    ...options,
  });
  formats.default(ajv);
  // ajv-formats also accepts urn:uuid:… and any offset; the contract allows only bare UUIDs and UTC with milliseconds.
  ajv.addFormat('uuid', /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i);
  ajv.addFormat('date-time', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  return ajv;
}

/**
 * Converts only plain decimals to numbers: Ajv's own coercion would also accept "0x10", "1e1" and " 5 " as integers.
 */
function queryCoercion(document: OpenApiDocument, entry: OperationEntry): (query: Record<string, unknown>) => void {
  const ofType = (type: string) =>
    entry.parameters
      .filter((parameter) => parameter.in === 'query' && resolveRef<Schema>(document, parameter.schema).type === type)
      .map((parameter) => parameter.name);
  const integers = ofType('integer');
  const booleans = ofType('boolean');
  return (query) => {
    for (const name of integers) {
      const value = query[name];
      if (typeof value === 'string' && /^-?\d{1,15}$/.test(value)) query[name] = Number(value);
    }
    for (const name of booleans) {
      const value = query[name];
      if (value === 'true' || value === 'false') query[name] = value === 'true';
    }
  };
}

/** Counts values without walking further than `max`. */
function holdsAtMost(value: unknown, max: number): boolean {
  let left = max;
  const stack = [value];
  while (stack.length > 0) {
    const node = stack.pop();
    if (typeof node !== 'object' || node === null) continue;
    const children: unknown[] = Array.isArray(node) ? node : Object.values(node);
    left -= children.length;
    if (left < 0) return false;
    for (const child of children) stack.push(child);
  }
  return true;
}

function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}
