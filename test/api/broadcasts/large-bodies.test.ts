// These tests use bodies of a megabyte that short calls name. What they let this thread do is compared with the same work
// done here.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { checkContent } from '../../../src/protocol/content-checks.ts';
import { countCalls } from '../../rig/count-calls.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

const HTML = `<table><tr><td>{{{first_name|you}}}${'<table><tr><td>'.repeat(70_000)}`;

let scene: Scene;
let team: Team;
let id: string;
let callsInOneTurn: number;
beforeAll(async () => {
  scene = await startScene();
  team = await scene.team();
  const { name } = await team.domain();
  const address = { line1: '1 Main St', city: 'Springfield', postal_code: '12345', country: 'US' };
  expect((await scene.api('PATCH', '/team', { key: team.key, body: { postal_address: address } })).status).toBe(200);
  const segment = (await scene.api('POST', '/segments', { key: team.key, body: { name: 'All' } })).body.id;
  const body = { from: `a@${name}`, subject: 'S', html: HTML, segment_id: segment };
  id = (await scene.api('POST', '/broadcasts', { key: team.key, body })).body.id;
  expect(id).toBeTruthy();
  callsInOneTurn = await countCalls(() =>
    checkContent({ subject: 'S', previewText: null, html: HTML, text: null, isKnown: () => true }),
  );
  expect(callsInOneTurn).toBeGreaterThan(100_000);
});
afterAll(() => scene.close());

const call = async (method: string, path: string, body?: object) => {
  const answer = await scene.api(method, `/broadcasts/${id}/${path}`, { key: team.key, ...(body && { body }) });
  expect(answer.status).toBe(200);
  return answer.body;
};

it.each([
  ['a check', () => call('POST', 'checks')],
  ['a checklist', () => call('GET', 'checklist')],
  ['a preview', () => call('POST', 'preview')],
  ['a test mail', () => call('POST', 'test', { to: 'x@example.org' })],
])('%s of a large body does not block the event loop', async (_what, ask) => {
  const { handedOver } = scene.app.world.texts;
  const calls = await countCalls(ask);
  expect(scene.app.world.texts.handedOver - handedOver).toBeGreaterThan(0);
  expect(calls / callsInOneTurn).toBeLessThan(1 / 100);
});

it('the checks of a small body run without the text thread', async () => {
  const body = { from: 'a@example.org', subject: 'S', html: '<p>Hello</p>' };
  const small = (await scene.api('POST', '/broadcasts', { key: team.key, body })).body.id;
  const { handedOver } = scene.app.world.texts;
  expect((await scene.api('GET', `/broadcasts/${small}/checklist`, { key: team.key })).status).toBe(200);
  expect(scene.app.world.texts.handedOver).toBe(handedOver);
});

it('a large body is prepared in the text thread and sent as prepared', async () => {
  // The test mail is composed for its delivery, which is not the subject.
  await scene.settled();
  const calls = await countCalls(() => call('POST', 'send', { acknowledge_checks: true }));
  expect(calls / callsInOneTurn).toBeLessThan(1 / 100);
});
