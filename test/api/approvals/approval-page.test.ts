// The page of an approval: what a person sees before they decide, and the offered decisions.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startAppScene, type AppScene } from './app-scene.ts';
import type { Person } from '../../rig/people.ts';

let stage: AppScene;
beforeAll(async () => {
  stage = await startAppScene();
});
afterAll(() => stage.close());

const sending = (more: object) => ({ from: `a@${stage.desk.domain.name}`, to: 'x@example.org', ...more });
const openPage = (person: Person, id: string) => stage.openPage(id, person);
const buttons = ({ forms }: Awaited<ReturnType<typeof openPage>>) => forms.map(({ submit }) => submit);

it('the approval page offers the decisions a person may take, and explains the others', async () => {
  const token = await stage.tokenFor('changes');
  const id = await stage.held(token, 'POST', '/emails', sending({ subject: 'Hello', text: 'It works.' }));
  for (const [role, offered] of [
    ['member', ['Approve', 'Reject']],
    ['viewer', []],
  ] as const) {
    const page = await openPage(await stage.people.person({ team: stage.desk.team, role }), id);
    expect([page.status, buttons(page)], role).toEqual([200, offered]);
    expect(page.text.includes('You cannot approve this request. This requires the role member'), role).toBe(
      role === 'viewer',
    );
  }
  const ofAdmins = await stage.held(token, 'PATCH', '/team', { ai_assist_enabled: true });
  const member = await openPage(await stage.people.person({ team: stage.desk.team, role: 'member' }), ofAdmins);
  expect(buttons(member)).toEqual(['Reject']);
  expect(member.text).toContain('You cannot approve this request. This requires the role admin');
});

it('the approval page shows the template that is published or sent', async () => {
  const token = await stage.tokenFor('changes');
  const html = '<p>What <b>it</b> says</p>';
  const made = (await stage.desk.call('POST', '/templates', { name: 'Welcome', subject: 'Hello there', html })).body;
  const page = await openPage(stage.owner, await stage.held(token, 'POST', `/templates/${made.id}/publish`));
  for (const says of ['Template', 'Welcome', 'Hello there', html]) expect(page.text).toContain(says);
  await stage.desk.call('POST', `/templates/${made.id}/publish`, {});
  const email = await stage.held(token, 'POST', '/emails', sending({ template: { id: made.id } }));
  expect((await openPage(stage.owner, email)).text).toContain(html);
});

it('the approval page shows the text of a broadcast and the number of its recipients', async () => {
  const token = await stage.tokenFor('changes');
  const segment = (await stage.desk.call('POST', '/segments', { name: 'Readers of July' })).body;
  for (const n of [1, 2, 3]) {
    const contact = { email: `r${n}@example.org`, unsubscribed: n === 3, segments: [{ id: segment.id }] };
    expect((await stage.desk.call('POST', '/contacts', contact)).status).toBe(201);
  }
  const words = { subject: 'News', html: '<p>Much</p>', name: 'July' };
  const fields = { segment_id: segment.id, from: `a@${stage.desk.domain.name}`, ...words };
  const broadcast = (await stage.desk.call('POST', '/broadcasts', fields)).body;
  const { text } = await openPage(stage.owner, await stage.held(token, 'POST', `/broadcasts/${broadcast.id}/send`));
  for (const says of ['Broadcast', 'July', words.html, 'Recipients', 'Readers of July', '3 contacts, 2 of them get it'])
    expect(text).toContain(says);
  const created = await stage.held(token, 'POST', '/broadcasts', { ...fields, send: true });
  expect((await openPage(stage.owner, created)).text).toContain('Readers of July');
});
