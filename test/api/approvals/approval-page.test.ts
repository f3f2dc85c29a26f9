// The page of an approval: what a person sees before they decide, and the offered decisions.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { SCOPE_NAMES } from '../../../src/contract/index.ts';
import { createOauth, type OauthApp } from '../../rig/oauth.ts';
import { createPeople, type People, type Person } from '../../rig/people.ts';
import { startScene, type Scene } from '../../rig/scene.ts';
import { openDesk, type Desk } from '../broadcasts/drafting.ts';

let scene: Scene;
let desk: Desk;
let people: People;
let oauth: ReturnType<typeof createOauth>;
let app: OauthApp;
let owner: Person;
beforeAll(async () => {
  scene = await startScene();
  desk = await openDesk(scene);
  people = createPeople(scene);
  oauth = createOauth(scene);
  app = await oauth.register();
  owner = await people.person({ team: desk.team, role: 'owner', email: `owner@${desk.domain.name}` });
});
afterAll(() => scene.close());

const tokenFor = async (approval: string): Promise<string> =>
  (await oauth.letIn(owner, app, { scope: SCOPE_NAMES.join(' ') }, { approval })).access_token;
const call = (key: string, method: string, path: string, body: object) => scene.api(method, path, { key, body });
const sending = (more: object) => ({ from: `a@${desk.domain.name}`, to: 'x@example.org', ...more });
/** Makes a call that needs approval, and returns the id of the approval. */
async function held(token: string, method: string, path: string, body: object = {}): Promise<string> {
  const { status, body: refusal, text } = await call(token, method, path, body);
  expect([status, refusal.name], text).toEqual([403, 'invalid_permission']);
  return refusal.details.approval_id;
}
const openPage = (person: Person, id: string) => oauth.visitorOf(person).open(`/account/approvals/one?id=${id}`);
const buttons = ({ forms }: Awaited<ReturnType<typeof openPage>>) => forms.map(({ submit }) => submit);

it('the approval page offers the decisions a person may take, and explains the others', async () => {
  const token = await tokenFor('changes');
  const id = await held(token, 'POST', '/emails', sending({ subject: 'Hello', text: 'It works.' }));
  for (const [role, offered] of [
    ['member', ['Approve', 'Reject']],
    ['viewer', []],
  ] as const) {
    const page = await openPage(await people.person({ team: desk.team, role }), id);
    expect([page.status, buttons(page)], role).toEqual([200, offered]);
    expect(page.text.includes('You cannot approve this request. This requires the role member'), role).toBe(
      role === 'viewer',
    );
  }
  const ofAdmins = await held(token, 'PATCH', '/team', { ai_assist_enabled: true });
  const member = await openPage(await people.person({ team: desk.team, role: 'member' }), ofAdmins);
  expect(buttons(member)).toEqual(['Reject']);
  expect(member.text).toContain('You cannot approve this request. This requires the role admin');
});

it('the approval page shows the template that is published or sent', async () => {
  const token = await tokenFor('changes');
  const html = '<p>What <b>it</b> says</p>';
  const made = (await desk.call('POST', '/templates', { name: 'Welcome', subject: 'Hello there', html })).body;
  const page = await openPage(owner, await held(token, 'POST', `/templates/${made.id}/publish`));
  for (const says of ['Template', 'Welcome', 'Hello there', html]) expect(page.text).toContain(says);
  await desk.call('POST', `/templates/${made.id}/publish`, {});
  const email = await held(token, 'POST', '/emails', sending({ template: { id: made.id } }));
  expect((await openPage(owner, email)).text).toContain(html);
});

it('the approval page shows the text of a broadcast and the number of its recipients', async () => {
  const token = await tokenFor('changes');
  const segment = (await desk.call('POST', '/segments', { name: 'Readers of July' })).body;
  for (const n of [1, 2, 3]) {
    const contact = { email: `r${n}@example.org`, unsubscribed: n === 3, segments: [{ id: segment.id }] };
    expect((await desk.call('POST', '/contacts', contact)).status).toBe(201);
  }
  const words = { subject: 'News', html: '<p>Much</p>', name: 'July' };
  const fields = { segment_id: segment.id, from: `a@${desk.domain.name}`, ...words };
  const broadcast = (await desk.call('POST', '/broadcasts', fields)).body;
  const { text } = await openPage(owner, await held(token, 'POST', `/broadcasts/${broadcast.id}/send`));
  for (const says of ['Broadcast', 'July', words.html, 'Recipients', 'Readers of July', '3 contacts, 2 of them get it'])
    expect(text).toContain(says);
  const created = await held(token, 'POST', '/broadcasts', { ...fields, send: true });
  expect((await openPage(owner, created)).text).toContain('Readers of July');
});
