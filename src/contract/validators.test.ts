import { expect, test } from 'vitest';
import { loadContract } from './load.ts';
import { compileValidators, type OperationValidators } from './validators.ts';

const { operations, compile } = compileValidators(loadContract());
compile(operations.keys());
const email = { from: 'a@example.com', to: 'b@example.org', subject: 'Hello', text: 'Hi' };

function operation(operationId: string): OperationValidators {
  const found = operations.get(operationId);
  if (!found) throw new Error(`the contract has no ${operationId}`);
  return found;
}
const checkSend = (body?: unknown) => operation('sendEmail').checkBody?.(body);
const checkQuery = (operationId: string, query: Record<string, unknown>) =>
  operation(operationId).checkParameters({ path: {}, query, header: {} });

test('a body that keeps the contract has no problems', () => {
  expect(checkSend(email)).toBeUndefined();
  expect(
    checkSend({ ...email, to: ['b@example.org'], topic_id: null, tags: [{ name: 'a', value: 'b' }] }),
  ).toBeUndefined();
  expect(checkSend({ ...email, attachments: [{ content: { type: 'Buffer', data: [1, 2] } }] })).toBeUndefined();
});

test('the schema does not check attachments, recipients, addresses and times, which code checks', () => {
  const attachments = Array.from({ length: 101 }, () => ({}));
  const to = Array.from({ length: 51 }, () => 'not an address');
  expect(checkSend({ ...email, attachments, to, scheduled_at: 'tomorrow', subject: 'x'.repeat(2000) })).toBeUndefined();
});

test.each([undefined, {}])('missing fields come in schema order when the body is %o', (body) => {
  expect(checkSend(body)?.map(({ kind, path }) => `${kind} ${path}`)).toEqual([
    'missing from',
    'missing to',
    'missing subject',
  ]);
});

test('missing fields come before unknown and malformed ones', () => {
  const problems = checkSend({ zz: 1, from: 7, to: [], tags: [{ name: 'a' }] });
  expect(problems?.map(({ kind, path }) => `${kind} ${path}`)).toEqual([
    'missing subject',
    'missing tags.0.value',
    'unknown zz',
    'malformed from',
  ]);
});

test('every field is reported once, and a union not once for each branch', () => {
  const problems = checkSend({
    ...email,
    to: [1, 2],
    cc: 3,
    attachments: [{ content: 4, link: 'https://example.org' }],
  });
  expect(problems?.map(({ path }) => path).sort()).toEqual(['attachments.0.content', 'attachments.0.link', 'cc', 'to']);
});

test('a message says what is allowed and what was sent', () => {
  expect(checkSend({ ...email, to: 7 })).toEqual([
    { kind: 'malformed', path: 'to', message: 'to must be an address or a list of at most 50 addresses; got 7' },
  ]);
  expect(checkSend({ ...email, to: ['b@example.org', 7] })?.map(({ message }) => message)).toEqual([
    'to must be an address or a list of at most 50 addresses; to.1 is 7',
  ]);
  const [problem] = checkSend({ ...email, tags: [{ name: 'x'.repeat(300), value: 'a' }] }) ?? [];
  expect(problem?.message).toContain('(300 characters)');
  expect(problem?.message.length).toBeLessThan(200);
});

test.each([null, [], 'text', 3])('the body %o is refused with a message that an object is needed', (body) => {
  expect(checkSend(body)?.[0]).toMatchObject({ kind: 'malformed', path: '' });
  expect(checkSend(body)?.[0]?.message).toMatch(/^the body must be a JSON object; got /);
});

test('a field named __proto__ is unknown like any other', () => {
  const body: unknown = JSON.parse('{"from":"a","to":"b","subject":"c","__proto__":{"x":1}}');
  expect(checkSend(body)).toMatchObject([{ kind: 'unknown', path: '__proto__' }]);
});

test('a huge hostile body is reported with its first error only, and missing fields come first', () => {
  const tags = Array.from({ length: 200_000 }, () => 0);
  expect(checkSend({ ...email, tags })).toHaveLength(1);
  expect(checkSend({ to: tags })).toMatchObject([{ kind: 'missing', path: 'from' }]);
});

test('validating a body does not change it', () => {
  const body = { name: 'mail.example.com' };
  expect(operation('createDomain').checkBody?.(body)).toBeUndefined();
  expect(body).toEqual({ name: 'mail.example.com' });
});

test('the query is coerced in place and defaults are filled in', () => {
  const query: Record<string, unknown> = { limit: '5' };
  expect(checkQuery('listApiKeys', query)).toBeUndefined();
  expect(query).toEqual({ limit: 5, status: 'active' });
  const empty: Record<string, unknown> = {};
  expect(checkQuery('listDomains', empty)).toBeUndefined();
  expect(empty).toEqual({ limit: 20 });
});

test.each(['0', '101', '1.5', '0x10', '1e1', ' 5 ', '', 'abc', ['1', '2']])('limit=%o is refused', (limit) => {
  expect(checkQuery('listEmails', { limit })).toMatchObject([{ kind: 'malformed', path: 'limit' }]);
});

test('an unknown query parameter is reported, also by an operation that declares none', () => {
  expect(checkQuery('listEmails', { page: '2' })).toMatchObject([{ kind: 'unknown', path: 'page' }]);
  expect(checkQuery('getHealth', { x: '1' })).toMatchObject([{ kind: 'unknown', path: 'x' }]);
});

test.each([
  { operationId: 'listEmails', query: { after: 'abc' } },
  { operationId: 'listEmails', query: { after: 'urn:uuid:019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77' } },
  { operationId: 'listEmails', query: { status: 'lost' } },
  { operationId: 'listEmails', query: { search: '' } },
  { operationId: 'listEmails', query: { search: 'x'.repeat(201) } },
  { operationId: 'listSuppressions', query: { before: '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77' } },
  { operationId: 'listApiKeys', query: { search: '   ' } },
])('$operationId refuses $query', ({ operationId, query }) => {
  expect(checkQuery(operationId, query)).toMatchObject([{ kind: 'malformed', path: Object.keys(query)[0] }]);
});

test('a path id that is not a UUID is malformed', () => {
  const check = (email_id: string) =>
    operation('getEmail').checkParameters({ path: { email_id }, query: {}, header: {} });
  expect(check('abc')).toMatchObject([{ kind: 'malformed', path: 'email_id' }]);
  expect(check('019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77')).toBeUndefined();
});

test.each(['-a', 'a-', 'a.b', '', 'x'.repeat(64)])(
  'the custom_return_path %o is refused because it is not one DNS label',
  (label) => {
    const body = { name: 'mail.example.com', custom_return_path: label };
    expect(operation('createDomain').checkBody?.(body)).toMatchObject([
      { kind: 'malformed', path: 'custom_return_path' },
    ]);
  },
);

test.each(['cf-secret-token\n', 'cf secret', 'cf-secret'.repeat(100), ['cf-secret'], { value: 'cf-secret' }])(
  'the error message about a secret does not repeat it: %j',
  (apiToken) => {
    const problems = operation('configureDomainDns').checkBody?.({ api_token: apiToken });
    expect(problems?.map(({ path }) => path)).toEqual(['api_token']);
    expect(problems?.[0]?.message).toMatch(/^api_token must be 1 to 500 printable characters without spaces; got /);
    expect(problems?.[0]?.message).not.toContain('secret');
  },
);
