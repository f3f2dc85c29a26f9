import { expect, test } from 'vitest';
import { loadContract } from './load.ts';
import { compileValidators } from './validators.ts';

const { validateResponse, validateAnswer } = compileValidators(loadContract());

const headers = {
  'content-type': 'application/json; charset=utf-8',
  'ratelimit-limit': '10',
  'ratelimit-remaining': '9',
  'ratelimit-reset': '1',
  'x-request-id': 'r1',
};
const sent = { id: '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77' };
const refusal = (statusCode: number, name: string) => ({ statusCode, name, message: 'No.' });

test('a response that keeps the contract has no problems', () => {
  expect(validateResponse('sendEmail', { status: 200, body: sent, headers })).toEqual([]);
  expect(validateResponse('sendEmail', { status: 403, body: refusal(403, 'validation_error'), headers })).toEqual([]);
  const page = {
    status: 200,
    body: '<!doctype html>',
    headers: { ...headers, 'content-type': 'text/html; charset=utf-8' },
  };
  expect(validateResponse('getDocs', page)).toEqual([]);
  const file = { status: 200, body: 'x', headers: { ...headers, 'content-type': 'application/pdf' } };
  expect(validateResponse('downloadAttachment', file)).toEqual([]);
});

test('a body is checked against the contract for a success or for a given status', () => {
  expect(validateAnswer('sendEmail', { body: sent })).toEqual([]);
  expect(validateAnswer('createDomain', { body: {} }).join()).toContain("required property 'id'");
  expect(validateAnswer('sendEmail', { status: 403, body: refusal(403, 'validation_error') })).toEqual([]);
  expect(validateAnswer('sendEmail', { status: 403, body: null })).not.toEqual([]);
  expect(validateAnswer('sendEmail', { status: 418, body: sent })).toEqual(['the status 418 is not declared']);
});

const { 'x-request-id': _, ...withoutRequestId } = headers;
test.each([
  { why: 'undeclared status', status: 418, body: sent, headers, says: 'which it does not declare' },
  {
    why: 'extra field',
    status: 200,
    body: { ...sent, object: 'email' },
    headers,
    says: 'additional properties (object)',
  },
  { why: 'missing field', status: 200, body: {}, headers, says: "required property 'id'" },
  { why: 'missing header', status: 200, body: sent, headers: withoutRequestId, says: 'x-request-id is missing' },
  {
    why: 'bad header',
    status: 200,
    body: sent,
    headers: { ...headers, 'ratelimit-limit': 'ten' },
    says: 'ratelimit-limit',
  },
  {
    why: 'media type',
    status: 200,
    body: sent,
    headers: { ...headers, 'content-type': 'text/plain' },
    says: '"text/plain"',
  },
  { why: 'wrong name', status: 409, body: refusal(409, 'resource_locked'), headers, says: '"resource_locked"' },
  { why: 'wrong statusCode', status: 401, body: refusal(403, 'invalid_api_key'), headers, says: 'statusCode is 403' },
  { why: 'no retry-after', status: 429, body: refusal(429, 'rate_limit_exceeded'), headers, says: 'needs the header' },
  {
    why: 'retry-after with a quota',
    status: 429,
    body: refusal(429, 'daily_quota_exceeded'),
    headers: { ...headers, 'retry-after': '1' },
    says: 'rate_limit_exceeded and service_unavailable only',
  },
  {
    why: 'retry-after of zero',
    status: 429,
    body: refusal(429, 'rate_limit_exceeded'),
    headers: { ...headers, 'retry-after': '0' },
    says: 'retry-after must be >= 1',
  },
])('a response with $why is reported', ({ status, body, headers: sentHeaders, says }) => {
  const problems = validateResponse('sendEmail', { status, body, headers: sentHeaders });
  expect(problems).toHaveLength(1);
  expect(problems[0]).toContain(says);
});

test('a time without milliseconds or outside UTC is reported', () => {
  for (const created_at of ['2026-11-20T09:30:00Z', '2026-11-20T09:30:00.000+01:00']) {
    const body = {
      object: 'suppression',
      id: 'sup_1',
      email: 'a@example.org',
      origin: 'manual',
      source_id: null,
      created_at,
    };
    const problems = validateResponse('getSuppression', { status: 200, body, headers });
    expect(problems).toEqual([expect.stringContaining('date-time')]);
  }
});
