import { expect, test } from 'vitest';
import type { OperationValidators } from '../../contract/index.ts';
import { createFindTarget } from './find-operation.ts';

const operation = (method: 'get' | 'post' | 'delete', path: string): OperationValidators =>
  // The paths that are searched.
  ({ operationId: `${method} ${path}`, method, path }) as OperationValidators;

const find = createFindTarget([
  operation('get', '/openapi.json'),
  operation('get', '/emails'),
  operation('post', '/emails'),
  operation('get', '/emails/batch'),
  operation('get', '/emails/{email_id}'),
  operation('delete', '/emails/{email_id}'),
  operation('post', '/emails/{email_id}/cancel'),
  operation('get', '/emails/receiving/{received_id}'),
  operation('get', '/inboxes/{inbox}/threads/{thread_id}'),
  operation('post', '/inboxes/{inbox}/threads/search'),
]);

const found = (method: string, target: string) => {
  const { operation: one, params = {} } = find(method, target) ?? {};
  return one && [one.operationId, params];
};

test.each([
  ['GET', '/emails', 'get /emails', {}],
  ['HEAD', '/emails?limit=1', 'get /emails', {}],
  ['GET', '/emails#x', 'get /emails', {}],
  ['GET', '/%65mails', 'get /emails', {}],
  ['GET', 'http://mail.example.com/emails', 'get /emails', {}],
  ['GET', 'https://mail.example.com/emails/7?a=/b', 'get /emails/{email_id}', { email_id: '7' }],
  ['GET', '/emails/a%2Fb%25', 'get /emails/{email_id}', { email_id: 'a/b%' }],
  ['GET', '/emails/batch', 'get /emails/batch', {}],
  [
    'GET',
    '/inboxes/a%40b.example/threads/7',
    'get /inboxes/{inbox}/threads/{thread_id}',
    { inbox: 'a@b.example', thread_id: '7' },
  ],
  // When neither of two paths covers the other, the one that has the method wins.
  ['GET', '/emails/receiving/cancel', 'get /emails/receiving/{received_id}', { received_id: 'cancel' }],
  ['POST', '/emails/receiving/cancel', 'post /emails/{email_id}/cancel', { email_id: 'receiving' }],
])('%s %s finds the operation %s', (method, target, id, params) => {
  expect(found(method, target)).toEqual([id, params]);
});

test.each(['/', '', '*', '/email', '/emails/', '/emails//cancel', '/Emails', '/openapiXjson', '/emails/7/cancel/8'])(
  'no operation is found at %o',
  (target) => {
    expect(find('GET', target)).toBeUndefined();
  },
);

test.each([
  ['PUT', '/emails', ['GET', 'HEAD', 'POST']],
  ['OPTIONS', '/emails', ['GET', 'HEAD', 'POST']],
  ['POST', '/emails/7', ['GET', 'HEAD', 'DELETE']],
  // A word is no parameter, whatever the method.
  ['DELETE', '/emails/batch', ['GET', 'HEAD']],
  ['GET', '/inboxes/7/threads/search', ['POST']],
])('%s is not among the methods of %s', (method, target, methods) => {
  expect(find(method, target)).toMatchObject({ operation: undefined, methods });
});
