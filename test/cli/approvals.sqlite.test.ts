import { afterAll, beforeAll, expect, it } from 'vitest';
import { SCOPE_NAMES } from '../../src/contract/index.ts';
import { createOauth } from '../rig/oauth.ts';
import { createPeople } from '../rig/people.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { openDesk, type Desk as BroadcastDesk } from '../api/broadcasts/drafting.ts';
import { Desk } from './desk.ts';

let scene: Scene;
let broadcasts: BroadcastDesk;
let key: string;
const desk = new Desk();
beforeAll(async () => {
  scene = await startScene();
  broadcasts = await openDesk(scene);
  const oauth = createOauth(scene);
  const owner = await createPeople(scene).person({ team: broadcasts.team, role: 'owner', email: 'ada@people.example' });
  const app = await oauth.register();
  const tokens = await oauth.letIn(owner, app, { scope: SCOPE_NAMES.join(' ') }, { approval: 'sends' });
  key = tokens.access_token;
});
afterAll(async () => {
  await desk.clear();
  await scene.close();
});

const rasket = (...words: string[]) => desk.rasket([...words, '--url', scene.url, '--api-key', broadcasts.team.key]);
const ask = async (method: string, path: string, body: object): Promise<string> => {
  const held = await scene.api(method, path, { key, body });
  expect(held.status).toBe(403);
  return held.body.details.approval_id;
};
const emailTo = (...to: string[]) => ({
  from: `a@${broadcasts.domain.name}`,
  to,
  subject: 'Your invoice',
  text: 'It is due.',
  html: '<p>It is due.</p>',
});

it('rasket approvals list names the recipients and the subject of each call', async () => {
  await ask('POST', '/emails', emailTo('x@example.org', 'y@example.org'));
  const { stdout, code } = await rasket('approvals', 'list');
  expect(code).toBe(0);
  expect(stdout).toContain('to x@example.org (2): “Your invoice”');
});

it('rasket approvals get shows sender, recipients with their number, subject and both bodies', async () => {
  const id = await ask('POST', '/emails', emailTo('one@example.org', 'two@example.org', 'three@example.org'));
  const { stdout } = await rasket('approvals', 'get', id);
  for (const shown of [
    `From: a@${broadcasts.domain.name}`,
    'To: one@example.org, two@example.org, three@example.org',
    'Recipients: 3',
    'Subject: Your invoice',
    'It is due.',
    '<p>It is due.</p>',
  ])
    expect(stdout).toContain(shown);
});

it('rasket approvals get shows the segment of a broadcast with its size, and what a change replaces', async () => {
  await broadcasts.call('POST', '/contacts', { email: 'member@example.org', segments: [{ id: broadcasts.segment }] });
  const broadcast = await broadcasts.make({ subject: 'What is new' });
  const sends = await rasket('approvals', 'get', await ask('POST', `/broadcasts/${broadcast}/send`, {}));
  expect(sends.stdout).toMatch(/Segment: .+/);
  expect(sends.stdout).toMatch(/Contacts: 1 contact, 1 of them get it/);
  const changes = await rasket('approvals', 'get', await ask('PATCH', '/team', { sender_name: 'Evil Corp' }));
  expect(changes.stdout).toMatch(/CHANGES sender_name\s+Now: .+\s+After approval: Evil Corp/);
});

it('rasket approvals reject --app rejects all pending calls of the app', async () => {
  await ask('POST', '/emails', emailTo('z@example.org'));
  const { data } = (await broadcasts.call('GET', '/approvals?status=pending')).body;
  expect(data.length).toBeGreaterThan(1);
  const { stdout, code } = await rasket('approvals', 'reject', '--app', 'Newsletter Desk', '--reason', 'Too many.');
  expect([code, stdout]).toEqual([0, expect.stringContaining('Newsletter Desk')]);
  expect((await broadcasts.call('GET', '/approvals?status=pending')).body.data).toEqual([]);
  const [newest] = (await broadcasts.call('GET', '/approvals')).body.data;
  expect((await broadcasts.call('GET', `/approvals/${newest.id}`)).body).toMatchObject({
    status: 'rejected',
    reason: 'Too many.',
  });
});

it('rasket audit names the app and the person for whom it acted', async () => {
  expect((await scene.api('POST', '/templates', { key, body: { name: 'Of an app', html: '<p>x</p>' } })).status).toBe(
    201,
  );
  const { stdout } = await rasket('audit');
  expect(stdout).toContain('app Newsletter Desk for ada@people.example');
});
