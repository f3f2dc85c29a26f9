import { afterAll, beforeAll, expect, it } from 'vitest';
import { createInbox } from '../../rig/inboxes.ts';
import { createOauth } from '../../rig/oauth.ts';
import { createPeople } from '../../rig/people.ts';
import { createReceivingDomain } from '../../rig/mx.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

let scene: Scene;
let team: Team;
let domain: { id: string; name: string };
beforeAll(async () => {
  scene = await startScene();
  team = await scene.team();
  domain = await createReceivingDomain(scene, team);
});
afterAll(() => scene.close());
let names = 0;

const call = (method: string, path: string, body?: unknown, key = team.key) =>
  scene.api(method, path, { key, ...(body === undefined ? {} : { body }) });
const at = (local: string): string => `${local}@${domain.name}`;
const create = (body: object, key = team.key) => call('POST', '/inboxes', body, key);

it('an inbox can be created, read by id and by address, listed, changed and deleted', async () => {
  const created = await create({ email_address: at('Support'), from_name: 'Ada from Support' });
  const { id } = created.body;
  expect([created.status, created.body]).toEqual([201, { object: 'inbox', id }]);
  const now = new Date(scene.clock.now()).toISOString();
  const item = {
    id,
    name: at('Support'),
    email_address: at('Support'),
    from_name: 'Ada from Support',
    unread: 0,
    last_received: null,
    created_at: now,
    updated_at: now,
  };
  const whole = {
    object: 'inbox',
    ...item,
    domain_id: domain.id,
    receiving_address: null,
    channel: 'open',
    signature: null,
    thread_by_subject: false,
    drafts: 0,
  };
  expect((await call('GET', `/inboxes/${id}`)).body).toEqual(whole);
  expect((await call('GET', `/inboxes/${encodeURIComponent(at('SUPPORT'))}`)).body).toEqual(whole);
  expect((await call('GET', '/inboxes')).body).toEqual({ object: 'list', has_more: false, data: [item] });
  scene.clock.advance(1000);
  const change = { name: 'Support', from_name: null, signature: 'Ada\nExample', thread_by_subject: true };
  expect((await call('PATCH', `/inboxes/${at('support')}`, change)).body).toEqual({ object: 'inbox', id });
  const later = new Date(scene.clock.now()).toISOString();
  expect((await call('GET', `/inboxes/${id}`)).body).toEqual({ ...whole, ...change, updated_at: later });
  expect((await call('DELETE', `/inboxes/${id}`)).body).toEqual({ object: 'inbox', id, deleted: true });
  expect((await call('GET', `/inboxes/${id}`)).status).toBe(404);
  expect((await call('DELETE', `/inboxes/${id}`)).status).toBe(404);
  expect((await create({ email_address: at('support') })).status).toBe(201);
});

it('an address is one inbox, in any spelling and with any number of requests at once', async () => {
  const made = await Promise.all(['once', 'Once', 'ONCE'].map((local) => create({ email_address: at(local) })));
  expect(made.map(({ status }) => status).sort()).toEqual([201, 409, 409]);
  const refused = made.find(({ status }) => status === 409);
  expect(refused?.body).toMatchObject({
    name: 'resource_locked',
    message: expect.stringContaining('already an inbox'),
  });
});

it.each([
  ['no address', 400, 'email_address'],
  ['Ada <ada@ours>', 400, 'email_address'],
  ['*@', 400, 'email_address'],
  ['a@elsewhere.example', 422, 'not a domain of this team'],
  ['x', 400, 'email_address must be an address of 3 to 320 characters'],
])('the inbox address %j is refused with %i', async (email, status, says) => {
  const answer = await create({ email_address: email.replace(/@ours(>?)$/, `@${domain.name}$1`) });
  expect([answer.status, JSON.stringify(answer.body)]).toEqual([status, expect.stringContaining(says)]);
});

it('the domain of an inbox must send, and must receive unless the mail is forwarded to it', async () => {
  const own = await scene.team();
  const sending = await own.domain();
  const address = `help@${sending.name}`;
  expect((await create({ email_address: address }, own.key)).body).toMatchObject({
    name: 'invalid_parameter',
    message: expect.stringContaining('does not receive mail'),
  });
  expect((await create({ email_address: address, forwarding: true }, own.key)).body.message).toContain(
    'forwarding needs a domain of this team that receives mail',
  );
  const receiving = await createReceivingDomain(scene, own);
  const { id } = (await create({ email_address: address, forwarding: true }, own.key)).body;
  const { receiving_address: to } = (await call('GET', `/inboxes/${id}`, undefined, own.key)).body;
  expect(to).toMatch(new RegExp(`^inbox-[0-9a-f]{16}@${receiving.name}$`));
  const all = await create({ email_address: `*@${sending.name}`, forwarding: true }, own.key);
  expect([all.status, all.body.message]).toEqual([422, expect.stringContaining('needs a single address')]);
});

it('fixed fields of an inbox are refused by name, and an empty change changes nothing', async () => {
  const { id } = (await create({ email_address: at('fixed') })).body;
  expect(await call('PATCH', `/inboxes/${id}`, { email_address: at('other') })).toMatchObject({
    status: 422,
    body: { name: 'invalid_parameter', message: expect.stringContaining('email_address is fixed') },
  });
  expect((await call('PATCH', `/inboxes/${id}`, {})).status).toBe(400);
});

it('GET /inbox/channels lists only the open inboxes, and refuses sending keys', async () => {
  const own = await scene.team();
  const domain = await createReceivingDomain(scene, own);
  const createKey = async (limits: object): Promise<string> =>
    (await call('POST', '/api-keys', { name: 'p', permission: 'sending_access', ...limits }, own.key)).body.token;
  const channels = (key = own.key) => call('GET', '/inbox/channels', undefined, key);
  const empty = await channels();
  expect([empty.status, empty.body.name]).toEqual([403, 'inbox_not_set_up']);
  await create({ email_address: `me@${domain.name}`, channel: 'personal' }, own.key);
  await create({ email_address: `vip@${domain.name}`, channel: 'restricted' }, own.key);
  // For callers without access it does not exist.
  const hidden = await channels();
  expect([hidden.status, hidden.body]).toEqual([403, empty.body]);
  const open = (await create({ email_address: `a@${domain.name}`, name: 'All' }, own.key)).body.id;
  const channel = { object: 'inbox_channel', id: open, address: `a@${domain.name}`, name: 'All', restricted: false };
  expect((await channels()).body).toEqual({ object: 'list', data: [channel] });
  for (const limits of [{}, { domain_id: domain.id }]) {
    const refused = await channels(await createKey(limits));
    expect([refused.status, refused.body.name]).toEqual([401, 'restricted_api_key']);
  }
});

it.each(['\u001B[31mSupport', 'Sup\u0000port', 'Support\r\nBcc: eve@example.org', 'tab\tbed', '\u2028', '\u009Bm'])(
  'an inbox name with control characters is refused by field, number %#',
  async (text) => {
    const { id } = (await create({ email_address: at(`names-${++names}`) })).body;
    for (const field of ['name', 'from_name']) {
      const answers = [
        await call('PATCH', `/inboxes/${id}`, { [field]: text }),
        await create({ email_address: at('unnamed'), [field]: text }),
      ];
      for (const { status, body } of answers) {
        expect([status, body.errors?.[0]?.path]).toEqual([400, field]);
        expect(body.errors?.[0]?.message).toContain('1 to 200 characters, without control characters');
      }
    }
    const label = await call('POST', `/inboxes/${id}/labels`, { name: text });
    expect([label.status, label.body.errors?.[0]?.path]).toEqual([400, 'name']);
  },
);

it('ids of an inbox are accepted in either letter case everywhere', async () => {
  const inbox = await createInbox(scene, team, { local: 'upper', domain });
  const upper = inbox.id.toUpperCase();
  expect((await call('GET', `/inboxes/${upper}`)).body).toMatchObject({ id: inbox.id });
  expect((await call('PATCH', `/inboxes/${upper}`, { name: 'Upper' })).body).toEqual({ object: 'inbox', id: inbox.id });
  const label = (await call('POST', `/inboxes/${upper}/labels`, { name: 'Urgent' })).body.id as string;
  const emailId = await inbox.receive({ subject: 'In capitals' });
  const [{ id = '' } = {}] = await inbox.threads();
  const thread = `/inboxes/${upper}/threads/${id.toUpperCase()}`;
  expect((await call('GET', `${thread}/emails/${emailId.toUpperCase()}`)).body).toMatchObject({ id: emailId });
  expect((await call('POST', `${thread}/labels`, { labels: [label.toUpperCase()] })).body.data).toMatchObject([
    { id: label },
  ]);
  for (const list of ['threads?', 'threads/search?query=capitals&']) {
    const found = await call('GET', `/inboxes/${upper}/${list}labels=${label.toUpperCase()}`);
    expect(found.body.data).toMatchObject([{ id }]);
  }
  const named = { thread_id: id.toUpperCase(), reply_to_email_id: emailId.toUpperCase() };
  const draft = await call('POST', `/inboxes/${upper}/drafts`, { text: 'x', ...named });
  expect((await call('GET', `/inboxes/${upper}/drafts/${String(draft.body.id).toUpperCase()}`)).body).toMatchObject({
    id: draft.body.id,
    thread_id: id,
    reply_to_email_id: emailId,
  });
  const gone = await call('DELETE', `/inboxes/${upper}`);
  expect(gone.body).toEqual({ object: 'inbox', id: inbox.id, deleted: true });
});

it('labels of an inbox have unique names, and are removed from threads when they are deleted', async () => {
  const { id } = (await create({ email_address: at('labels') })).body;
  const path = `/inboxes/${id}/labels`;
  const made = await call('POST', path, { name: 'Urgent', color: '#E93D82' });
  const { id: urgent } = made.body;
  expect([made.status, made.body]).toEqual([201, { object: 'inbox_label', id: urgent }]);
  const { id: billing } = (await call('POST', path, { name: 'Billing' })).body;
  const created_at = new Date(scene.clock.now()).toISOString();
  expect((await call('GET', path)).body).toEqual({
    object: 'list',
    data: [
      { id: billing, name: 'Billing', color: '#8B8D98', created_at },
      { id: urgent, name: 'Urgent', color: '#E93D82', created_at },
    ],
  });
  const taken = await call('POST', path, { name: 'URGENT' });
  expect([taken.status, taken.body.message]).toEqual([422, expect.stringContaining('already')]);
  expect((await call('PATCH', `${path}/${billing}`, { name: 'urgent' })).status).toBe(422);
  expect((await call('PATCH', `${path}/${billing}`, { name: 'Money' })).body).toEqual({
    object: 'inbox_label',
    id: billing,
  });
  const gone = { object: 'inbox_label', id: billing, deleted: true };
  expect((await call('DELETE', `${path}/${billing}`)).body).toEqual(gone);
  expect((await call('DELETE', `${path}/${billing}`)).status).toBe(404);
  expect((await call('POST', path, { name: 'Money', color: 'red' })).status).toBe(400);
});

it('the settings of an assistant are stored', async () => {
  const { id } = (await create({ email_address: at('agent') })).body;
  const path = `/inboxes/${id}/agent`;
  expect((await call('GET', path)).body).toEqual({
    object: 'inbox_agent',
    instructions: null,
    tone: null,
    actions: [],
  });
  const change = { instructions: 'Be kind.', tone: 'concise_casual', actions: ['draft_reply', 'archive'] };
  expect((await call('PATCH', path, change)).body).toEqual({ object: 'inbox_agent', id });
  expect((await call('GET', path)).body).toEqual({ object: 'inbox_agent', ...change });
  await call('PATCH', path, { tone: null });
  expect((await call('GET', path)).body).toEqual({ object: 'inbox_agent', ...change, tone: null });
  expect((await call('PATCH', path, { tone: 'rude' })).status).toBe(400);
});

it('another team cannot see an inbox, and a deleted domain takes its inboxes with it', async () => {
  const own = await scene.team();
  const inbox = await createInbox(scene, own);
  for (const path of ['', '/labels', '/agent', '/threads']) {
    expect((await call('GET', `/inboxes/${inbox.id}${path}`)).status).toBe(404);
    expect((await call('GET', `/inboxes/${inbox.address}${path}`)).status).toBe(404);
  }
  expect((await call('DELETE', `/domains/${inbox.domain.id}`, undefined, own.key)).status).toBe(200);
  expect((await call('GET', `/inboxes/${inbox.id}`, undefined, own.key)).status).toBe(404);
});

it('owners, admins and keys with full access reach restricted and personal inboxes, and others get 404', async () => {
  const own = await scene.team();
  const receiving = await createReceivingDomain(scene, own);
  const ids: Record<string, string> = {};
  for (const channel of ['open', 'restricted', 'personal']) {
    ids[channel] = (await create({ email_address: `${channel}@${receiving.name}`, channel }, own.key)).body.id;
  }
  const people = createPeople(scene);
  const admin = await people.person({ team: own, role: 'admin' });
  const member = await people.person({ team: own, role: 'member' });
  const viewer = await people.person({ team: own, role: 'viewer' });
  const app = await createOauth(scene).letIn(admin, await createOauth(scene).register(), {
    scope: 'inbox:read inbox:write',
  });
  const callers: [string, (method: string, path: string) => ReturnType<typeof call>][] = [
    ['member', (method, path) => member.call(method, path)],
    ['viewer', (method, path) => viewer.call(method, path)],
    ['app', (method, path) => call(method, path, undefined, app.access_token)],
  ];
  const listed = (answer: Awaited<ReturnType<typeof call>>): string[] =>
    answer.body.data.map(({ id }: { id: string }) => id);
  const all = [ids['personal'], ids['restricted'], ids['open']];
  expect(listed(await call('GET', '/inboxes', undefined, own.key))).toEqual(all);
  expect(listed(await admin.call('GET', '/inboxes'))).toEqual(all);
  expect((await admin.call('GET', `/inboxes/${ids['personal']}/threads`)).status).toBe(200);
  const missing = await viewer.call('GET', `/inboxes/${own.id}`);
  for (const [who, as] of callers) {
    const page = await as('GET', '/inboxes?limit=1');
    expect([listed(page), page.body.has_more], who).toEqual([[ids['open']], false]);
    expect((await as('GET', `/inboxes/${ids['open']}/threads`)).status, who).toBe(200);
    for (const channel of ['restricted', 'personal']) {
      for (const named of [ids[channel], `${channel}@${receiving.name}`]) {
        for (const path of ['', '/threads', '/threads/search?query=x', '/drafts', '/labels']) {
          const answer = await as('GET', `/inboxes/${named}${path}`);
          expect([answer.status, answer.body], `${who} ${channel}${path}`).toEqual([404, missing.body]);
        }
      }
    }
  }
});
