import {
  methods,
  resolveRef,
  type OpenApiDocument,
  type OrRef,
  type Parameter,
  type Schema,
  type MediaType,
  type Operation,
  type ResponseObject,
  type Header,
  type PathItem,
} from './document.ts';
import { readRequirement, describeAccess, describeRoles, buildSecurity, describeScopes } from './access.ts';

/**
 * The short form of a body or a response in a source file: the name of its schema if it is JSON, and at most an example
 * of its own.
 */
interface Short {
  content?: Record<string, MediaType>;
  'x-schema'?: string;
  'x-example'?: unknown;
  /** The same fields are also accepted as a form. */
  'x-form'?: boolean;
}

type Body = NonNullable<Operation['requestBody']>;

/**
 * Writes the `content` of each JSON body and response that only names its schema (`x-schema: Topic`), with the example
 * of that schema. A schema declares its example once, as `x-example`, which is removed from it.
 */
export function addJsonContent(document: OpenApiDocument): void {
  const buildExample = createExamples(document);
  for (const item of Object.values(document.paths)) {
    for (const operation of methods.flatMap((method) => item[method] ?? [])) {
      if (operation.requestBody) {
        const body = withContent<Body>(operation.requestBody, buildExample);
        operation.requestBody = { required: true, ...body };
      }
      operation.responses = Object.fromEntries(
        Object.entries(operation.responses).map(([status, response]) => [
          status,
          withContent<OrRef<ResponseObject>>(response, buildExample),
        ]),
      );
    }
  }
  for (const schema of Object.values(document.components.schemas)) delete schema['x-example'];
}

function withContent<T extends Short | object>(written: T & Short, buildExample: (name: string) => unknown): T {
  const { 'x-schema': name, 'x-example': own, 'x-form': isForm, ...rest } = written;
  if (!name) return written;
  const media = { schema: { $ref: SCHEMAS + name }, example: own ?? buildExample(name) };
  const content = { 'application/json': media, ...(isForm && { 'application/x-www-form-urlencoded': media }) };
  return { ...rest, content } as unknown as T;
}

/**
 * Returns the example of a schema by its name. Each field has the value of the schema's own `x-example`; else that of
 * the schema whose name is contained in its name (TopicListItem, TopicReference and DeletedTopic take the id of Topic);
 * else, for a required field, the only value or the example of the field's own schema. The `x-example` of a request is
 * used unchanged: it shows what is worth sending, not every field.
 */
function createExamples(document: OpenApiDocument): (name: string) => unknown {
  const { schemas } = document.components;
  const owners = Object.keys(schemas).filter((name) => schemas[name]?.['x-example'] !== undefined);

  /**
   * Values from the schema's own x-example, then from the schema whose name is a prefix of this one's (the longest of
   * them).
   */
  const givenTo = (name: string): Record<string, unknown> => {
    const place = (other: string): number => name.search(new RegExp(`${other}(?![a-z])`));
    const [owner] = owners
      .filter((other) => other !== name && !name.endsWith('List') && place(other) >= 0)
      .sort((a, b) => place(a) - place(b) || b.length - a.length);
    return { ...(owner ? givenTo(owner) : {}), ...(schemas[name]?.['x-example'] as object) };
  };

  const buildExample = (name: string): unknown => {
    const schema = resolveRef<Schema>(document, { $ref: SCHEMAS + name });
    const own = schema['x-example'];
    if (!schema.properties || (own && name.endsWith('Request'))) return own ?? buildValue(schema);
    const given: Record<string, unknown> = { has_more: false, ...givenTo(name) };
    const values = Object.entries(schema.properties).flatMap(([field, property]) => {
      if (field in given) return [[field, given[field]]];
      if (!schema.required?.includes(field)) return [];
      const value = buildValue(property);
      if (value === undefined)
        throw new Error(`The schema ${name} has no example of ${field}: write it into its x-example`);
      return [[field, value]];
    });
    return Object.fromEntries(values) as unknown;
  };

  const buildValue = (schema: OrRef<Schema>): unknown => {
    if ('$ref' in schema) return buildExample(schema.$ref.slice(SCHEMAS.length));
    if (schema.const !== undefined) return schema.const;
    return schema.items && [buildValue(schema.items)];
  };
  return buildExample;
}

const SCHEMAS = '#/components/schemas/';

/**
 * Adds what all operations share, so that no source file repeats it: the tag of its file, the headers of every
 * response, and the errors that follow from its credential, its method, its path and its body. The declarations of an
 * operation take precedence. Its description also states who may call it, for pages that do not know
 * `x-service-permission`.
 */
export function addSharedAnswers(document: OpenApiDocument): void {
  for (const [path, item] of Object.entries(document.paths)) {
    for (const method of methods) {
      const operation = item[method];
      if (!operation) continue;
      operation.responses = { ...sharedResponses(operation, { method, path }), ...operation.responses };
      operation.security = buildSecurity(readRequirement(operation));
      const access = describeAccess(readRequirement(operation), operation['x-own-credential']);
      operation.description = `${operation.description.trim()}\n\n${access}`;
      delete operation['x-own-credential'];
    }
  }
  const inline = Object.values(document.paths)
    .flatMap((item) => methods.flatMap((method) => Object.values(item[method]?.responses ?? {})))
    .filter((response): response is ResponseObject => !('$ref' in response));
  for (const response of [...inline, ...Object.values(document.components.responses)]) {
    response.headers = { ...ANSWER_HEADERS, ...response.headers };
  }
}

/** Adds tables of every role of a team and every error name to the end of the introduction. */
export function addTables(document: OpenApiDocument): void {
  const rows = document['x-errors'].map(
    ({ name, status, meaning }) => `| \`${name}\` | ${status} | ${meaning.trim()} |`,
  );
  const roles = `## Roles\n\nA person in a team has one of these roles; each may also do what those before it may.\n\n${describeRoles()}`;
  const errors = ['## Errors', '', '| Name | Status | Meaning |', '| --- | --- | --- |', ...rows].join('\n');
  document.info.description = `${document.info.description?.trim() ?? ''}\n\n${roles}\n\n${scopesTable()}\n\n${errors}\n`;
}

/** Renders every scope of an app that acts for a person. */
const scopesTable = (): string =>
  `## Scopes\n\nAn app can do what its scopes allow, and never more than the current role of the person who authorized it.\n\n${describeScopes()}`;

const ANSWER_HEADERS: Record<string, OrRef<Header>> = {
  'ratelimit-limit': { $ref: '#/components/headers/RateLimitLimit' },
  'ratelimit-remaining': { $ref: '#/components/headers/RateLimitRemaining' },
  'ratelimit-reset': { $ref: '#/components/headers/RateLimitReset' },
  'x-request-id': { $ref: '#/components/headers/RequestId' },
};

/** The errors of a step of OAuth; a missing User-Agent is refused as everywhere. */
const OAUTH_RESPONSES: Operation['responses'] = {
  '400': { $ref: '#/components/responses/OauthRefused' },
  '401': { $ref: '#/components/responses/OauthUnauthorized' },
  '403': { $ref: '#/components/responses/UserAgentRequired' },
  '405': { $ref: '#/components/responses/MethodNotAllowed' },
  '429': { $ref: '#/components/responses/OauthLimited' },
  '500': { $ref: '#/components/responses/OauthFailed' },
  '503': { $ref: '#/components/responses/OauthUnavailable' },
};

function sharedResponses(
  operation: Operation,
  { method, path }: { method: string; path: string },
): Operation['responses'] {
  const takesCredential = operation['x-service-permission'] !== 'none';
  if (operation['x-oauth-flow']) return OAUTH_RESPONSES;
  const names: [status: string, response: string, applies: boolean][] = [
    ['400', 'InvalidBody', method !== 'get'],
    ['401', 'Unauthorized', takesCredential],
    ['403', takesCredential ? 'Forbidden' : 'UserAgentRequired', true],
    ['404', 'NotFound', path.includes('{')],
    ['405', 'MethodNotAllowed', true],
    ['413', 'TooLargeBody', method !== 'get'],
    ['415', 'EncodedBody', method !== 'get'],
    ['422', operation.requestBody ? 'Unprocessable' : 'InvalidParameter', true],
    ['429', 'RateLimited', true],
    ['500', 'InternalError', true],
    ['503', 'ServiceUnavailable', takesCredential],
  ];
  const applying = names.filter(([, , applies]) => applies);
  return Object.fromEntries(applying.map(([status, name]) => [status, { $ref: `#/components/responses/${name}` }]));
}

/** The short form of an event in the contract: the schema of its data, and the fields that the type adds. */
interface EventSource {
  says: string;
  /** The name of a schema. */
  data: string;
  /** Further fields of the data, each with the name of its schema. */
  has?: Record<string, string>;
  /** Same as `has`, for fields that are not always present. */
  may?: Record<string, string>;
}

/**
 * Writes the `webhooks` of the document from their short form: a schema for each event, in which the type determines
 * the data, and the request that delivers it. `WebhookPayload` becomes a union of them.
 */
export function addWebhookEvents(document: OpenApiDocument): void {
  const { schemas } = document.components;
  const sources = (document.webhooks ?? {}) as unknown as Record<string, EventSource>;
  const events: OrRef<Schema>[] = [];
  document.webhooks = {};
  for (const [type, source] of Object.entries(sources)) {
    const name = nameEvent(type);
    schemas[name] = {
      type: 'object',
      description: source.says,
      additionalProperties: false,
      required: ['type', 'created_at', 'data'],
      properties: {
        type: { type: 'string', const: type },
        created_at: { type: 'string', format: 'date-time', description: 'When it happened.' },
        data: { $ref: describeData(document, `${name}Data`, source) },
      },
    };
    events.push({ $ref: `${SCHEMAS}${name}` });
    document.webhooks[type] = { post: describeRequest(name, source.says) };
  }
  schemas['WebhookPayload'] = {
    description: 'The signed body of every delivery: what happened, by its type. Fields may be added.',
    anyOf: [...events, { $ref: `${SCHEMAS}PastEvent` }],
  };
}

/** Returns EmailDeliveryDelayedEvent for `email.delivery_delayed`. */
const nameEvent = (type: string): string =>
  `${type
    .split(/[._]/)
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join('')}Event`;

function describeData(document: OpenApiDocument, name: string, { data, has = {}, may = {} }: EventSource): string {
  const added = Object.entries({ ...has, ...may });
  if (added.length === 0) return `${SCHEMAS}${data}`;
  const base = resolveRef<Schema>(document, { $ref: `${SCHEMAS}${data}` });
  document.components.schemas[name] = {
    ...base,
    required: [...(base.required ?? []), ...Object.keys(has)],
    properties: {
      ...base.properties,
      ...Object.fromEntries(added.map(([field, schema]) => [field, { $ref: `${SCHEMAS}${schema}` }])),
    },
  };
  return `${SCHEMAS}${name}`;
}

const HEADERS = {
  'svix-id': 'Names the event; it is the same in every attempt and replay.',
  'svix-timestamp': 'When this attempt was made, in seconds since 1970.',
  'svix-signature': 'One or two signatures of id, timestamp and body, each `v1,` and base64.',
};

const describeRequest = (schema: string, summary: string) => ({
  tags: ['webhooks'],
  summary,
  description:
    'Sent to the endpoints that subscribe to it, at least once and in no particular order. The same headers are sent as `webhook-*` too.',
  security: [],
  parameters: Object.entries(HEADERS).map(([name, description]) => ({
    name,
    in: 'header' as const,
    required: true,
    description,
    schema: { type: 'string' },
  })),
  requestBody: {
    required: true,
    content: { 'application/json': { schema: { $ref: `${SCHEMAS}${schema}` } } },
  },
  responses: { '2XX': { description: 'The event has arrived. Any other answer, or none in time, is tried again.' } },
});

/**
 * Adds a sample for each call that the official `resend` client has a method for, from `x-sdk` of the operation: `$id`
 * is the example of the path's own parameter, `$body` the example of the body with its names as the client writes them,
 * `$fields` the same without its braces, `$sent` the example unchanged. Readers of the document generate samples for
 * curl and Python themselves.
 */
export function addSdkSamples(document: OpenApiDocument): void {
  for (const item of Object.values(document.paths)) {
    for (const method of methods) {
      const operation = item[method];
      const call = operation?.['x-sdk'];
      if (!operation || call === undefined) continue;
      delete operation['x-sdk'];
      const source = `${PREAMBLE}\n\nconst { data, error } = await resend.${filledIn(document, item, operation, call)};\n`;
      operation['x-codeSamples'] = [{ lang: 'JavaScript', label: 'resend', source }];
    }
  }
}

const PREAMBLE = `import { Resend } from 'resend';

// With RESEND_BASE_URL set to the address of this server.
const resend = new Resend(process.env.RASKET_API_KEY);`;

function filledIn(document: OpenApiDocument, item: PathItem, operation: Operation, call: string): string {
  const id = [...(item.parameters ?? []), ...(operation.parameters ?? [])]
    .map((parameter) => resolveRef(document, parameter))
    .find((parameter) => parameter.in === 'path');
  const media = operation.requestBody?.content['application/json'];
  const body = media && (media.example ?? Object.values(media.examples ?? {})[0]?.value);
  const text = literal(body);
  return call
    .replace('$id', () => literal(id?.example))
    .replace('$body', () => text)
    .replace('$sent', () => literal(body, (name) => name))
    .replace(' $fields }', () => `${text.slice(1)}`);
}

const camelCase = (name: string): string => name.replace(/_(\w)/g, (_pair, letter: string) => letter.toUpperCase());

/**
 * Formats a value as JavaScript: names are unquoted and the API's names are renamed; names in objects of the caller's
 * are not.
 */
function literal(value: unknown, rename = camelCase): string {
  const depth = Array.isArray(value) ? 4 : 2;
  const text = JSON.stringify(value, null, 2) ?? 'undefined';
  return text.replace(/^( +)"([A-Za-z_]\w*)":/gm, (_all, { length }: string, name: string) => {
    const isField = length === depth || length === depth + 4;
    return `${' '.repeat(length)}${isField ? rename(name) : name}:`;
  });
}

/** Short forms for shapes that many source files share. */
interface Shape {
  /** A page of a list: the schema of its items, and their name in the plural. */
  'x-page-of'?: string;
  'x-plural'?: string;
  /** The response to a change: `{object, id}`, with the value of `object`. */
  'x-reference-to'?: string;
  /** The response to a deletion: `{object, id, deleted}`. */
  'x-deleted'?: string;
  /** Prefix of the id in these two, if it is not a UUID. */
  'x-id-prefix'?: string;
  'x-example'?: unknown;
}

/** A cursor of a list, AfterTopic or BeforeTopic: the noun for its id, with the article. */
interface Cursor {
  'x-cursor'?: string;
  /** The pattern of the id, if it is not a UUID. */
  pattern?: string;
  example?: unknown;
}

/** Expands the pages, references, deletions and cursors that a source file only names. */
export function addUsualShapes({ components: { schemas, parameters } }: OpenApiDocument): void {
  for (const [name, shape] of Object.entries(schemas as Record<string, Shape>)) {
    const properties = buildProperties(shape);
    if (!properties) continue;
    schemas[name] = {
      type: 'object',
      additionalProperties: false,
      required: Object.keys(properties),
      properties,
      ...('x-example' in shape && { 'x-example': shape['x-example'] }),
    };
  }
  for (const [name, cursor] of Object.entries(parameters as Record<string, Cursor>)) {
    if (cursor['x-cursor']) parameters[name] = buildCursor(name.startsWith('After'), cursor['x-cursor'], cursor);
  }
}

function buildProperties(shape: Shape): Record<string, OrRef<Schema>> | undefined {
  const prefix = shape['x-id-prefix'];
  const id = prefix ? { type: 'string', pattern: `^${prefix}` } : { type: 'string', format: 'uuid' };
  if (shape['x-reference-to']) return { object: { type: 'string', const: shape['x-reference-to'] }, id };
  if (shape['x-deleted']) {
    return { object: { type: 'string', const: shape['x-deleted'] }, id, deleted: { type: 'boolean', const: true } };
  }
  if (!shape['x-page-of']) return undefined;
  const description = `Whether more ${shape['x-plural']} follow in this direction.`;
  const items = { $ref: `#/components/schemas/${shape['x-page-of']}` };
  return {
    object: { type: 'string', const: 'list' },
    has_more: { type: 'boolean', description },
    data: { type: 'array', maxItems: 100, items },
  };
}

function buildCursor(isAfter: boolean, object: string, { pattern, example }: Cursor): Parameter {
  const noun = object.replace(/^an? /, '').replace(/ \(.*\)$/, '');
  const [name, description] = isAfter
    ? ['after', `Start after this ${noun}. Not together with \`before\`.`]
    : ['before', `End before this ${noun}. Not together with \`after\`.`];
  const message = { 'x-message': `${name} must be the id of ${object}` };
  const schema = pattern ? { type: 'string', pattern, ...message } : { type: 'string', format: 'uuid', ...message };
  return { name, in: 'query', description, schema, example };
}
