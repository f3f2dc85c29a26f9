import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { startScene, type Scene } from '../../rig/scene.ts';
import { line, start, step, supply, wait, type Supplies } from './graph.ts';

let scene: Scene;
let has: Supplies;
beforeAll(async () => {
  scene = await startScene({ roles: ['http'] });
});
afterAll(() => scene.close());
beforeEach(async () => {
  has = await supply(scene);
});

const call = (method: string, path: string, body?: unknown) =>
  scene.api(method, path, { key: has.team.key, ...(body === undefined ? {} : { body }) });
const mail = (more: object = {}) =>
  step('mail', 'send_email', { template: { id: has.template, variables: { PRODUCT: 'x' } }, ...more });
const sender = (domain: string) => ({ from: `Shop <shop@${domain}>` });

it('a sender at a domain that the team does not have is refused with the key of its step', async () => {
  const make = (domain: string) =>
    call('POST', '/automations', { name: 'Welcome', ...line(start, mail(sender(domain))) });
  const refused = await make('elsewhere.example');
  expect(refused).toMatchObject({ status: 422, body: { name: 'validation_error', errors: [{ path: 'steps.mail' }] } });
  expect(refused.body.message).toContain('sends from the domain elsewhere.example, which is not a domain of this team');
  expect((await make(has.domain)).status).toBe(201);
});

it('an automation cannot be enabled while an event or domain of its graph is missing; the recreated event starts it', async () => {
  const made = await call('POST', '/automations', { name: 'Welcome', ...line(start, mail()) });
  const id = made.body.id as string;
  await call('DELETE', `/events/${has.event}`);
  const enabled = { status: 'enabled' };
  const gone = await call('PATCH', `/automations/${id}`, enabled);
  expect(gone).toMatchObject({ status: 422, body: { name: 'validation_error', errors: [{ path: 'steps.start' }] } });
  expect(gone.body.message).toContain('refers to the event order, which does not exist');
  expect((await call('GET', `/automations/${id}`)).body).toMatchObject({ status: 'disabled' });
  expect((await call('PATCH', `/automations/${id}`, { name: 'Another' })).status).toBe(200);
  await call('POST', '/events', { name: 'order' });
  expect((await call('PATCH', `/automations/${id}`, enabled)).status).toBe(200);
  await call('POST', '/events/send', { event: 'order', contact_id: has.contact });
  expect((await call('GET', `/automations/${id}/runs`)).body.data).toHaveLength(1);
  await call('PATCH', `/automations/${id}`, { status: 'disabled' });
  const { data } = (await call('GET', '/domains')).body as { data: { id: string }[] };
  for (const domain of data) await call('DELETE', `/domains/${domain.id}`);
  const unsent = await call('PATCH', `/automations/${id}`, enabled);
  expect(unsent).toMatchObject({ status: 422, body: { errors: [{ path: 'steps.mail' }] } });
  expect(unsent.body.message).toContain(`sends from the domain ${has.domain}`);
});

it('at most fifty automations that start at the same event are enabled, and each of them begins a run', async () => {
  const make = (status: 'enabled' | 'disabled') =>
    call('POST', '/automations', { name: 'Welcome', status, ...line(start, wait('pause')) });
  const made = [];
  for (let count = 0; count < 50; count++) made.push(await make('enabled'));
  expect(made.every(({ status }) => status === 201)).toBe(true);
  const refused = await make('enabled');
  expect(refused).toMatchObject({ status: 422, body: { name: 'validation_error', errors: [{ path: 'status' }] } });
  expect(refused.body.message).toContain('at most 50 automations that start at the same event may be enabled');
  const spare = await make('disabled');
  expect(spare.status).toBe(201);
  const enable = () => call('PATCH', `/automations/${spare.body.id}`, { status: 'enabled' });
  expect((await enable()).status).toBe(422);
  await call('POST', '/events/send', { event: 'order', contact_id: has.contact });
  for (const { body } of made) expect((await call('GET', `/automations/${body.id}/runs`)).body.data).toHaveLength(1);
  // A change of one that is enabled is no further one.
  expect((await call('PATCH', `/automations/${made[0]?.body.id}`, line(start, wait('later')))).status).toBe(200);
  await call('POST', `/automations/${made[0]?.body.id}/stop`);
  expect((await enable()).status).toBe(200);
});
