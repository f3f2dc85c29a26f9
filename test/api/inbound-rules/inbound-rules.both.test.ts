import { afterAll, beforeAll, expect, it } from 'vitest';
import { createReceivingDomain } from '../../rig/mx.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

let scene: Scene;
let team: Team;
let domain: { id: string; name: string };
beforeAll(async () => {
  scene = await startScene({ roles: ['http'] });
  team = await scene.team();
  domain = await createReceivingDomain(scene, team);
});
afterAll(() => scene.close());

const call = (method: string, path: string, body?: unknown, key = team.key) =>
  scene.api(method, path, { key, ...(body === undefined ? {} : { body }) });
const at = (pattern: string): string => pattern.replace(/([@.])ours$/, `$1${domain.name}`);

it('inbound rules can be created, read, listed, changed and deleted', async () => {
  const body = { pattern: at('Support@ours'), action: 'forward', forward_to: ['a@example.org', 'A@example.org'] };
  const created = await call('POST', '/inbound-rules', body);
  const { id } = created.body;
  expect([created.status, created.body]).toEqual([201, { object: 'inbound_rule', id }]);
  const created_at = new Date(scene.clock.now()).toISOString();
  const item = { id, pattern: at('support@ours'), action: 'forward', forward_to: ['a@example.org'], created_at };
  expect((await call('GET', `/inbound-rules/${id}`)).body).toEqual({ object: 'inbound_rule', ...item });
  expect((await call('GET', '/inbound-rules')).body).toEqual({ object: 'list', has_more: false, data: [item] });
  const read = async () => (await call('GET', `/inbound-rules/${id}`)).body;
  await call('PATCH', `/inbound-rules/${id}`, { forward_to: ['b@example.org'] });
  expect(await read()).toMatchObject({ action: 'forward', forward_to: ['b@example.org'] });
  expect((await call('PATCH', `/inbound-rules/${id}`, { action: 'drop' })).body).toEqual({
    object: 'inbound_rule',
    id,
  });
  expect(await read()).toMatchObject({ action: 'drop', forward_to: [] });
  expect((await call('PATCH', `/inbound-rules/${id}`, { action: 'forward' })).status).toBe(422);
  expect((await call('PATCH', `/inbound-rules/${id}`, { pattern: '*' })).status).toBe(422);
  const gone = { object: 'inbound_rule', id, deleted: true };
  expect((await call('DELETE', `/inbound-rules/${id}`)).body).toEqual(gone);
  expect((await call('DELETE', `/inbound-rules/${id}`)).status).toBe(404);
});

it('a repeated create returns the existing rule, and one with other values is refused', async () => {
  const body = { pattern: at('twice@ours'), action: 'forward', forward_to: ['a@example.org'] };
  const { id } = (await call('POST', '/inbound-rules', body)).body;
  expect(await call('POST', '/inbound-rules', body)).toMatchObject({ status: 201, body: { id } });
  expect(await call('POST', '/inbound-rules', { ...body, forward_to: ['b@example.org'] })).toMatchObject({
    status: 422,
    body: { message: expect.stringContaining('already') },
  });
});

it.each([
  ['', 'drop', undefined, 'pattern'],
  ['no address', 'drop', undefined, 'pattern must be an address'],
  ['a@*', 'drop', undefined, 'pattern must be an address'],
  ['a@elsewhere.example', 'drop', undefined, 'not a domain of this team'],
  ['*a*b*c*d*e*f@ours', 'drop', undefined, 'at most 5'],
  ['x@ours', 'forward', undefined, 'forward_to is missing'],
  ['x@ours', 'forward', [], 'forward_to'],
  ['x@ours', 'forward', ['no address'], 'forward_to.0'],
  ['x@ours', 'forward', ['ok@example.org', 'me@ours'], 'forward_to.1'],
  ['x@ours', 'forward', ['ok@example.org', 'bounce@send.ours'], 'forward_to.1'],
  ['x@ours', 'forward', ['b-00000000000000000000000000-0000000000@SEND.ours'], 'forward_to.0'],
  ['x@ours', 'forward', ['fbl@rasket.test'], 'forward_to.0'],
  ['x@ours', 'drop', ['a@example.org'], 'can only be used with the action forward'],
  ['x@ours', 'keep', undefined, 'action'],
])('the inbound rule %j, %j to %j is refused', async (pattern, action, forwardTo, says) => {
  const forward_to = forwardTo?.map(at);
  const answer = await call('POST', '/inbound-rules', {
    pattern: at(pattern),
    action,
    ...(forward_to ? { forward_to } : {}),
  });
  expect([400, 422]).toContain(answer.status);
  expect(JSON.stringify(answer.body)).toContain(says);
});

it('an inbound rule is visible to its team only', async () => {
  const { id } = (await call('POST', '/inbound-rules', { pattern: at('own@ours'), action: 'drop' })).body;
  const { key } = await scene.team();
  expect((await call('GET', `/inbound-rules/${id}`, undefined, key)).status).toBe(404);
  expect((await call('PATCH', `/inbound-rules/${id}`, { action: 'drop' }, key)).status).toBe(404);
  expect((await call('DELETE', `/inbound-rules/${id}`, undefined, key)).status).toBe(404);
});

it('many equal creates at once make one rule', async () => {
  const body = { pattern: at('at-once@ours'), action: 'drop' };
  const made = await Promise.all(Array.from({ length: 8 }, () => call('POST', '/inbound-rules', body)));
  expect(new Set(made.map(({ status, body: { id } }) => `${status} ${id}`)).size).toBe(1);
  expect(made[0]?.status).toBe(201);
});

it('a concurrent change of the addresses does not undo a change of the action', async () => {
  const others = Array.from({ length: 10 }, (_, n) => `b${n}@other${n}.example`);
  const ends = [];
  for (let round = 0; round < 10; round++) {
    const body = { pattern: at(`round${round}@ours`), action: 'forward', forward_to: ['a@example.org'] };
    const { id } = (await call('POST', '/inbound-rules', body)).body;
    const [, dropped] = await Promise.all([
      call('PATCH', `/inbound-rules/${id}`, { forward_to: others }),
      call('PATCH', `/inbound-rules/${id}`, { action: 'drop' }),
    ]);
    const { action, forward_to } = (await call('GET', `/inbound-rules/${id}`)).body;
    ends.push([dropped.status, action, forward_to]);
  }
  expect(ends).toEqual(ends.map(() => [200, 'drop', []]));
});
