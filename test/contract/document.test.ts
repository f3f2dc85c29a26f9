import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { describe, expect, test } from 'vitest';
import {
  addressContract,
  ANY_SCOPE,
  listOperations,
  loadContract,
  resolveRef,
  SCOPE_NAMES,
} from '../../src/contract/index.ts';
import type { MediaType, Operation, OrRef, ResponseObject, Schema } from '../../src/contract/index.ts';

const document = loadContract();
const operations = listOperations(document);
const folder = join(import.meta.dirname, '../../src/contract');

test('the document is valid OpenAPI 3.1', async () => {
  const result = await new Validator().validate(structuredClone(document) as unknown as Record<string, unknown>);
  expect(result.errors ?? []).toEqual([]);
  expect(result.valid).toBe(true);
  expect(document.openapi).toBe('3.1.0');
  expect(document.info.version).toBe('1.0.0');
});

test('the two servers are the address of this server and a base below /api/v1', () => {
  const addressed = addressContract(document, { origin: 'http://127.0.0.1:3000', isDevelopment: true });
  expect(addressed.servers.map(({ url }) => url)).toEqual(['http://127.0.0.1:3000', 'http://127.0.0.1:3000/api/v1']);
});

test('the webhooks are the event types of endpoints, each with its payload', () => {
  const types = document.components.schemas['WebhookEventType']?.enum as string[];
  expect(Object.keys(document.webhooks ?? {}).sort()).toEqual(types.toSorted());
  for (const [type, { post }] of Object.entries(document.webhooks ?? {})) {
    const media = post.requestBody?.content['application/json'];
    const payload = media && resolveRef<Schema>(document, media.schema);
    expect(payload?.properties?.['type']).toEqual({ type: 'string', const: type });
  }
});

test('every $ref can be resolved', () => {
  const refs = collect(document, (node) => ('$ref' in node ? [String(node['$ref'])] : []));
  expect(refs.length).toBeGreaterThan(100);
  for (const $ref of refs) expect(() => resolveRef(document, { $ref }), $ref).not.toThrow();
});

test('every component is used', () => {
  const refs = new Set(collect(document, (node) => ('$ref' in node ? [String(node['$ref'])] : [])));
  for (const kind of ['schemas', 'parameters', 'responses', 'headers'] as const) {
    for (const name of Object.keys(document.components[kind])) expect(refs).toContain(`#/components/${kind}/${name}`);
  }
});

test('families are named after their files, and every file is a family', () => {
  const files = readdirSync(folder).filter((name) => name.endsWith('.yaml'));
  const families = document.tags.map(({ name }) => name);
  expect(files.sort()).toEqual([...families, 'errors', 'openapi'].map((name) => `${name}.yaml`).sort());
  for (const { operation } of operations) expect(families).toContain(operation.tags[0]);
});

test('operation ids are unique and camelCase', () => {
  const ids = operations.map(({ operationId }) => operationId);
  expect(new Set(ids).size).toBe(ids.length);
  for (const id of ids) expect(id).toMatch(/^[a-z]+([A-Z][a-z]*)+$/);
});

describe.each(operations)('the operation $operationId', ({ operation, operationId, method, path, parameters }) => {
  const isOpen = operation['x-service-permission'] === 'none';
  const statuses = Object.keys(operation.responses);
  // A step of OAuth is refused in the words of RFC 6749, which knows no 422 and, where its token is nobody's, no 404.
  const isOfOauth = operation['x-oauth-flow'] === true;

  test('says which credential it needs', () => {
    expect(['sending_access', 'full_access', 'session', 'operator', 'none', null]).toContain(
      operation['x-service-permission'],
    );
    expect([...SCOPE_NAMES, ANY_SCOPE, null]).toContain(operation['x-service-scope']);
    const permission = operation['x-service-permission'];
    const takesSession = permission === 'session' || (!isOpen && operation['x-service-role'] !== null);
    expect(operation.security).toEqual([
      ...(isOpen ? [] : [{ bearer: [] }]),
      ...(takesSession ? [{ session: [] }] : []),
    ]);
  });

  test('says which role it needs when it belongs to a team', () => {
    const { 'x-service-permission': permission, 'x-service-role': role } = operation;
    expect(['viewer', 'member', 'admin', 'owner', null]).toContain(role);
    if (permission === 'sending_access' || permission === 'full_access') expect(role).not.toBeNull();
    else if (permission !== 'session') expect(role).toBeNull();
  });

  test('declares the statuses of its responses', () => {
    const takesBody = operation.requestBody !== undefined || method !== 'get';
    const expected = [
      '403',
      '405',
      ...(isOfOauth ? ['400'] : ['422']),
      '429',
      '500',
      ...(isOpen ? [] : ['401', '503']),
      ...(takesBody ? ['400'] : []),
    ];
    expect(statuses).toEqual(expect.arrayContaining(expected));
    // An open claim asked for again is answered with 200, a new one with 201, and so are a dry run of an import and an
    // import; some messages of /mcp have no answer.
    const successes = ['claimDomain', 'createContactImport', 'callMcp'].includes(operationId)
      ? 2
      : operationId === 'authorizeClient'
        ? 0
        : 1;
    expect(statuses.filter((status) => status.startsWith('2'))).toHaveLength(successes);
    if (path.includes('{') && !isOfOauth) expect(statuses).toContain('404');
  });

  test('has a summary, a description and a tag', () => {
    expect(operation.summary.length).toBeGreaterThan(5);
    expect(operation.description.length).toBeGreaterThan(10);
    expect(operation.tags).toHaveLength(1);
  });

  test('declares every placeholder of its path, and gives each parameter an example and a message', () => {
    const placeholders = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
    expect(parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name)).toEqual(placeholders);
    for (const parameter of parameters) {
      const schema = resolveRef<Schema>(document, parameter.schema);
      expect(schema['x-message']).toBeTruthy();
      mustValidate(schema, parameter.example, `parameter ${parameter.name}`);
    }
  });

  test('has examples that are valid by their schemas', () => {
    for (const { what, media } of mediaTypes(operation)) {
      const values = [media.example, ...Object.values(media.examples ?? {}).map(({ value }) => value)];
      const examples = values.filter((value) => value !== undefined);
      expect(examples, `${what} has an example`).not.toEqual([]);
      for (const example of examples) mustValidate(media.schema, example, what);
    }
  });

  test('sends the rate limit and request id headers with every response, and the right extra headers with 401, 405, 429 and storage failures', () => {
    const always = ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset', 'x-request-id'];
    for (const [status, response] of Object.entries(operation.responses)) {
      const names = Object.keys(resolveRef<ResponseObject>(document, response).headers ?? {});
      const isUnstored = '$ref' in response && String(response.$ref).endsWith('/ServiceUnavailable');
      const more =
        { '401': ['www-authenticate'], '405': ['allow'], '429': ['retry-after'] }[status] ??
        (isUnstored ? ['retry-after'] : []);
      expect(names, status).toEqual([...always, ...more]);
    }
  });

  test('names the first missing field in schema order, and explains every body field', () => {
    const body = operation.requestBody?.content['application/json'];
    if (!body) return;
    const schema = resolveRef<Schema>(document, body.schema);
    const order = Object.keys(schema.properties ?? {});
    expect(order.filter((name) => schema.required?.includes(name))).toEqual(schema.required ?? []);
    for (const [name, field] of Object.entries(schema.properties ?? {})) {
      expect(resolveRef<Schema>(document, field)['x-message'], name).toBeTruthy();
    }
  });
});

test('no object accepts undeclared fields', () => {
  const open = collect(document.components.schemas, (node) =>
    node['type'] === 'object' && node['properties'] && node['additionalProperties'] !== false
      ? [Object.keys(node['properties'] as object).join()]
      : [],
  );
  // The description of the API is an OpenAPI document, whose schema is not ours to repeat. RFC 6749 §3.2 and RFC 7591 §2 have
  // unknown fields ignored.
  expect(open.filter((names) => !/^(?:jsonrpc|redirect_uris|grant_type|token),/.test(names))).toEqual([
    'openapi,info,paths',
  ]);
  expect(open).toHaveLength(6);
});

function mediaTypes(operation: Operation): { what: string; media: MediaType }[] {
  const request = Object.entries(operation.requestBody?.content ?? {}).map(([type, media]) => ({
    what: `request ${type}`,
    media,
  }));
  const responses = Object.entries(operation.responses).flatMap(([status, response]) =>
    Object.entries(resolveRef<ResponseObject>(document, response).content ?? {}).map(([type, media]) => ({
      what: `${status} ${type}`,
      media,
    })),
  );
  return [...request, ...responses];
}

function mustValidate(schema: OrRef<Schema>, value: unknown, what: string): void {
  // Components are found by address, so that each is compiled once and not for everybody who refers to it.
  const text = JSON.stringify(schema).replaceAll('"#/components/', '"contract#/components/');
  const validate = compiled.get(text) ?? ajv.compile(JSON.parse(text) as Schema);
  compiled.set(text, validate);
  validate(value);
  expect(validate.errors ?? [], what).toEqual([]);
}

/** Walks plain data and gathers what `find` sees in each object. */
function collect<T>(node: unknown, find: (node: Record<string, unknown>) => T[]): T[] {
  if (typeof node !== 'object' || node === null) return [];
  const own = Array.isArray(node) ? [] : find(node as Record<string, unknown>);
  return [...own, ...Object.values(node).flatMap((child) => collect<T>(child, find))];
}

const ajv = new Ajv2020({ strict: false, allErrors: true });
formats.default(ajv);
ajv.addSchema({ components: document.components }, 'contract');
const compiled = new Map<string, ValidateFunction>();
