// An approval shows what the call does: steps of automations, headers, aliases, and characters that nobody sees.
import fs from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SCOPE_NAMES } from '../../../src/contract/index.ts';
import { createOauth, type OauthApp } from '../../rig/oauth.ts';
import { createPeople, type Person } from '../../rig/people.ts';
import { startScene, type Scene } from '../../rig/scene.ts';
import { scratchFolder } from '../../rig/scratch.ts';
import { runInProcess } from '../../cli/in-process.ts';
import { openDesk, type Desk } from '../broadcasts/drafting.ts';

let scene: Scene;
let desk: Desk;
let oauth: ReturnType<typeof createOauth>;
let app: OauthApp;
let owner: Person;
let token: string;
const home = scratchFolder('rasket-effects-');
beforeAll(async () => {
  scene = await startScene();
  desk = await openDesk(scene);
  oauth = createOauth(scene);
  app = await oauth.register();
  owner = await createPeople(scene).person({ team: desk.team, role: 'owner', email: `owner@${desk.domain.name}` });
  token = (await oauth.letIn(owner, app, { scope: SCOPE_NAMES.join(' ') }, { approval: 'sends' })).access_token;
});
afterAll(async () => {
  fs.rmSync(home, { recursive: true, force: true });
  await scene?.close();
});

const call = (key: string, method: string, path: string, body?: object) =>
  scene.api(method, path, { key, ...(body === undefined ? {} : { body }) });
/** Asks for the call, and returns the id of the approval. */
async function held(method: string, path: string, body: object = {}): Promise<string> {
  const { body: refusal, text } = await call(token, method, path, body);
  expect(refusal.details?.approval_id, text).toEqual(expect.any(String));
  return refusal.details.approval_id;
}
const fetchApproval = async (id: string) => (await desk.call('GET', `/approvals/${id}`)).body;
const approve = (id: string) => owner.call('POST', `/approvals/${id}/approve`, {});
const openPage = async (id: string): Promise<string> =>
  (await oauth.visitorOf(owner).open(`/account/approvals/one?id=${id}`)).text;
async function printAtTerminal(...words: string[]): Promise<string> {
  const env = { HOME: home, RASKET_API_KEY: desk.team.key, RASKET_URL: scene.url };
  const { stdout, stderr } = await runInProcess(['approvals', ...words], { env, cwd: home });
  expect(stderr).toBe('');
  return stdout;
}
let count = 0;

describe('an approval to enable an automation', () => {
  const createDisabled = async (): Promise<string> => {
    const segment = (await desk.call('POST', '/segments', { name: `S${++count}` })).body.id as string;
    const steps = [
      { key: 'start', type: 'trigger', config: { event_name: 'rasket:contact.updated' } },
      { key: 'rename', type: 'contact_update', config: { first_name: 'EVIL' } },
      { key: 'add', type: 'add_to_segment', config: { segment_id: segment } },
    ];
    const connections = [
      { from: 'start', to: 'rename' },
      { from: 'rename', to: 'add' },
    ];
    const made = await desk.call('POST', '/automations', { name: 'Quiet cleaning', steps, connections });
    expect(made.status).toBe(201);
    return made.body.id as string;
  };

  it('an approval to enable an automation shows its name, its trigger and each step with the texts that it writes', async () => {
    const automation = await createDisabled();
    const id = await held('PATCH', `/automations/${automation}`, { status: 'enabled' });
    const { content } = await fetchApproval(id);
    expect(content.automation).toMatchObject({ name: 'Quiet cleaning', status: 'enabled', reentry: 'always' });
    expect(content.automation.steps).toEqual([
      'start: trigger, event_name: "rasket:contact.updated", then rename',
      'rename: contact_update, first_name: "EVIL", then add',
      expect.stringMatching(/^add: add_to_segment, segment_id: "/),
    ]);
    expect(content.changes).toEqual([{ field: 'status', before: 'disabled', after: 'enabled' }]);
    for (const shown of [await openPage(id), await printAtTerminal('get', id)]) {
      expect(shown).toContain('Quiet cleaning');
      expect(shown).toContain('rasket:contact.updated');
      expect(shown).toContain('EVIL');
    }
  });

  it('an approval to enable an automation is refused when a person has changed the trigger since', async () => {
    const automation = await createDisabled();
    const id = await held('PATCH', `/automations/${automation}`, { status: 'enabled' });
    const { steps, connections } = (await desk.call('GET', `/automations/${automation}`)).body;
    steps[0].config = { event_name: 'rasket:contact.created' };
    expect((await desk.call('PATCH', `/automations/${automation}`, { steps, connections })).status).toBe(200);
    expect((await fetchApproval(id)).content.is_changed).toBe(true);
    const refused = await approve(id);
    expect([refused.status, refused.body.message]).toEqual([422, expect.stringContaining('has changed')]);
  });
});

describe('additional headers of an email that waits for approval', () => {
  const email = (headers: object) => ({
    from: `a@${desk.domain.name}`,
    to: `h${++count}@example.org`,
    subject: 'With headers',
    text: 'Hello',
    headers,
  });

  it('an approval shows additional headers of an email, and Reply-To among them as the reply address', async () => {
    const id = await held('POST', '/emails', email({ 'reply-to': 'else@example.net', 'X-Order': '10042' }));
    const [message] = (await fetchApproval(id)).content.messages;
    expect(message).toMatchObject({
      reply_to: ['else@example.net'],
      headers: [
        { name: 'reply-to', value: 'else@example.net' },
        { name: 'X-Order', value: '10042' },
      ],
    });
    expect(await openPage(id)).toContain('Reply to else@example.net');
    expect(await openPage(id)).toContain('X-Order: 10042');
    expect(await printAtTerminal('get', id)).toMatch(/Reply to: else@example\.net[^]*X-Order: 10042/);
  });

  it.each(['Bcc', 'From', 'Subject'])('headers that contain %s are refused before the call waits', async (name) => {
    const headers = { [name]: 'a@example.net' };
    for (const [path, body, field] of [
      ['/emails', email(headers), `headers.${name}`],
      ['/emails/batch', [email(headers)], `0.headers.${name}`],
    ] as const) {
      const refused = await call(token, 'POST', path, body);
      expect(refused.status, refused.text).toBe(400);
      expect(refused.text).toContain(field);
      expect(refused.body.details).toBeUndefined();
    }
  });
});

it('the approval to publish a template shows the alias by which programs send it', async () => {
  const alias = `receipt-${++count}`;
  const html = '<p>Thanks</p>';
  const made = await call(token, 'POST', '/templates', { name: 'Receipt', alias, subject: 'Thanks', html });
  // A grant may hold the creation with an alias already; then that approval shows it.
  const first = made.body.details?.approval_id as string | undefined;
  if (first) {
    expect((await fetchApproval(first)).content.changes).toContainEqual({ field: 'alias', before: null, after: alias });
    expect((await approve(first)).body.status).toBe('done');
  }
  const id = await held('POST', `/templates/${alias}/publish`);
  expect((await fetchApproval(id)).content.messages).toMatchObject([{ kind: 'template', alias }]);
  expect(await openPage(id)).toContain(`Alias ${alias}`);
  expect(await printAtTerminal('get', id)).toContain(`Alias: ${alias}`);
});

it('characters that nobody sees are escaped wherever an approval shows text of an app', async () => {
  const unseen = ['\u202e', '\u200b', '\u061c', '\u00ad', '\u{e0041}', '\u3164'];
  const id = await held('POST', '/emails', {
    from: `a@${desk.domain.name}`,
    to: `"x${unseen.join('')}" <u${++count}@example.org>`,
    subject: `Invoice${unseen.join('')}`,
    text: `Pay${unseen.join('')}\u0085\nnow`,
  });
  const escaped = unseen.map((char) => `\\u{${char.codePointAt(0)?.toString(16).padStart(4, '0')}}`).join('');
  const list = (await oauth.visitorOf(owner).open('/account/approvals')).text;
  const page = await openPage(id);
  const terminal = await printAtTerminal('get', id);
  for (const shown of [list, page, terminal, await printAtTerminal('list')]) {
    for (const char of unseen) expect(shown, JSON.stringify(char)).not.toContain(char);
  }
  for (const shown of [list, page, terminal]) expect(shown).toContain(`Invoice${escaped}`);
  for (const shown of [page, terminal]) expect(shown).toContain(`Pay${escaped}\\u{0085}`);
});

describe('an approval of a change that is no message', () => {
  it('an approval shows the fields of a contact before and after, and is refused when they have changed since', async () => {
    const email = `before${++count}@example.org`;
    const contact = (await desk.call('POST', '/contacts', { email, first_name: 'Ada' })).body.id as string;
    const id = await held('PATCH', `/contacts/${contact}`, { first_name: 'EVIL' });
    const change = { field: 'first_name', before: 'Ada', after: 'EVIL' };
    expect((await fetchApproval(id)).content.changes).toEqual([change]);
    await desk.call('PATCH', `/contacts/${contact}`, { first_name: 'Grace' });
    expect((await approve(id)).status).toBe(422);
  });

  it('an approval shows the contact and the segment of a membership', async () => {
    const email = `member${++count}@example.org`;
    const contact = (await desk.call('POST', '/contacts', { email })).body.id as string;
    const name = `Readers ${++count}`;
    const segment = (await desk.call('POST', '/segments', { name })).body.id as string;
    const id = await held('POST', `/contacts/${contact}/segments/${segment}`);
    expect((await fetchApproval(id)).content.changes).toEqual([
      { field: 'contact', before: null, after: email },
      { field: 'segment', before: null, after: name },
    ]);
  });

  it('an approval shows the confirmation of a topic with its template, and is refused when the template has changed since', async () => {
    const html = (word: string) => `<a href="{{{CONFIRMATION_URL}}}">${word}</a>`;
    const variables = [{ key: 'CONFIRMATION_URL', type: 'string' }];
    const from = `Shop <shop@${desk.domain.name}>`;
    const written = { name: 'Confirm', from, subject: 'Confirm', html: html('GOOD'), variables };
    const template = (await desk.call('POST', '/templates', written)).body.id as string;
    expect((await desk.call('POST', `/templates/${template}/publish`)).status).toBe(200);
    const made = await desk.call('POST', '/topics', { name: `T${++count}`, default_subscription: 'opt_in' });
    const after = { confirmation: 'required', confirmation_template_id: template };
    const id = await held('PATCH', `/topics/${made.body.id}`, after);
    const { content } = await fetchApproval(id);
    expect(content.changes).toEqual([
      { field: 'confirmation', before: 'none', after: 'required' },
      { field: 'confirmation_template_id', before: null, after: template },
    ]);
    expect(content.messages).toMatchObject([{ kind: 'template', html: html('GOOD') }]);
    await desk.call('PATCH', `/templates/${template}`, { html: html('BAD') });
    expect((await desk.call('POST', `/templates/${template}/publish`)).status).toBe(200);
    expect((await approve(id)).status).toBe(422);
  });
});
