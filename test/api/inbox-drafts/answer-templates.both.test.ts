import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SCOPE_NAMES } from '../../../src/contract/index.ts';
import { writingInbox, type WritingInbox } from '../../rig/inbox.ts';
import { createOauth } from '../../rig/oauth.ts';
import { createPeople, type Person } from '../../rig/people.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

let scene: Scene;
let team: Team;
let inbox: WritingInbox;
let grace: Person;
let owner: Person;
const NAMES = ['CUSTOMER_NAME', 'CUSTOMER_EMAIL', 'SUBJECT', 'AGENT_NAME', 'TEAM_NAME'];
beforeAll(async () => {
  scene = await startScene();
  team = await scene.team('Example');
  inbox = await writingInbox(scene, team, { from_name: 'Support', signature: 'The shop' });
  const people = createPeople(scene);
  grace = await people.person({ team, name: 'Grace Hopper' });
  owner = await people.person({ team, role: 'owner' });
  await makeTemplate({
    alias: 'all',
    subject: 'A subject of its own',
    html: `<p>${NAMES.map((name) => `{{{${name}}}}`).join(' | ')}</p>`,
    text: NAMES.map((name) => `{{{${name}}}}`).join(' | '),
    variables: NAMES.map((key) => ({ key, type: 'string' })),
  });
  await makeTemplate({
    alias: 'refund',
    html: '<p>Dear {{{CUSTOMER_NAME}}}, we refunded <b>{{{ORDER}}}</b>.</p>',
    variables: [
      { key: 'CUSTOMER_NAME', type: 'string', fallback_value: 'customer' },
      { key: 'ORDER', type: 'number' },
    ],
  });
});
afterAll(() => scene.close());

const post = (path: string, body: object) => scene.api('POST', path, { key: team.key, body });

async function makeTemplate({ alias, ...more }: { alias: string; html: string; [field: string]: unknown }) {
  const made = await post('/templates', { name: alias, alias, ...more });
  expect(made.status, made.text).toBe(201);
  const published = await post(`/templates/${alias}/publish`, {});
  expect(published.status, published.text).toBe(200);
  return made.body.id as string;
}

const arrive = (from = 'Ada Lovelace <ada@example.org>') => inbox.arrive({ from, subject: 'Order 1041' });
const fetchEmail = async (id: string) => (await scene.api('GET', `/emails/${id}`, { key: team.key })).body;

describe('a reply with a template', () => {
  it('has the values of the thread in both bodies, above signature and quote, and keeps its subject', async () => {
    const { path } = await arrive();
    const sent = await grace.call('POST', `${inbox.path}${path}/reply`, { template: { id: 'all' } });
    expect(sent.status, sent.text).toBe(200);
    const said = 'Ada Lovelace | ada@example.org | Order 1041 | Grace Hopper | Example';
    expect(await fetchEmail(sent.body.id)).toMatchObject({
      subject: 'Re: Order 1041',
      to: ['Ada Lovelace <ada@example.org>'],
      text: expect.stringMatching(
        new RegExp(`^${said.replaceAll('|', '\\|')}\n\n-- \nThe shop\n\n.*\n> Where is it\\?$`, 's'),
      ),
      html: expect.stringMatching(new RegExp(`^<p>${said.replaceAll('|', '\\|')}</p>.*The shop.*<blockquote`, 's')),
    });
  });

  it('names the inbox in place of a person if an API key sends it, and the address of a customer without a name', async () => {
    const { path } = await arrive('ada@example.org');
    const sent = await inbox.call('POST', `${path}/reply`, { body: { template: { id: 'all' } } });
    expect((await fetchEmail(sent.body.id)).text).toMatch(
      /^ada@example\.org \| ada@example\.org \| Order 1041 \| Support \| Example\n/,
    );
  });

  it('takes its own values before those of the thread, and another subject', async () => {
    const { path } = await arrive();
    const template = { id: 'refund', variables: { CUSTOMER_NAME: 'Ms Lovelace', ORDER: 1041 } };
    const sent = await inbox.call('POST', `${path}/reply`, { body: { template, subject: 'Refunded' } });
    expect(sent.status, sent.text).toBe(200);
    const { subject, html } = await fetchEmail(sent.body.id);
    expect(subject).toBe('Refunded');
    expect(html).toMatch(/^<p>Dear Ms Lovelace, we refunded <b>1041<\/b>\.<\/p>/);
  });

  it('shows the name of an untrusted sender literally', async () => {
    const { path } = await arrive('"<script>alert(1)</script>" <eve@example.org>');
    const template = { id: 'refund', variables: { ORDER: 1 } };
    const sent = await inbox.call('POST', `${path}/reply`, { body: { template } });
    expect((await fetchEmail(sent.body.id)).html).toMatch(/^<p>Dear &lt;script&gt;alert\(1\)&lt;\/script&gt;,/);
    await makeTemplate({
      alias: 'link',
      html: '<a href="{{{CUSTOMER_NAME}}}">here</a><script>{{{CUSTOMER_NAME}}}</script>',
      variables: [{ key: 'CUSTOMER_NAME', type: 'string' }],
    });
    const { path: other } = await arrive('"javascript:alert(1)" <eve@example.org>');
    const linked = await inbox.call('POST', `${other}/render`, { body: { template: { id: 'link' } } });
    expect(linked.body.html).not.toContain('javascript:alert(1)');
  });

  it.each([
    ['unknown', { id: 'refnud' }, 'template.id: there is no template "refnud".'],
    ['unpublished', { id: 'only-a-draft' }, 'template.id: the template only-a-draft is a draft'],
    ['without a value', { id: 'refund' }, 'template.variables.ORDER is missing'],
    [
      'with an unknown value',
      { id: 'refund', variables: { ORDER: 1, X: 'y' } },
      'template.variables.X is not a variable',
    ],
  ])('is refused if the template is %s, for replies, drafts and previews', async (_, template, says) => {
    await post('/templates', { name: 'D', alias: 'only-a-draft', html: '<p>D</p>' });
    const { path, threadId, emailId } = await arrive();
    const body = { template };
    const target = { thread_id: threadId, reply_to_email_id: emailId };
    for (const refused of [
      await inbox.call('POST', `${path}/reply`, { body }),
      await inbox.call('POST', `${path}/render`, { body }),
      await inbox.call('POST', '/drafts', { body: { ...body, ...target } }),
    ]) {
      expect([400, 422]).toContain(refused.status);
      expect(refused.body.message).toContain(says);
      expect(refused.body.errors[0].path).toMatch(/^template\./);
    }
    expect((await inbox.call('GET', `/threads/${threadId}`)).body.folder).toBe('inbox');
    expect((await inbox.call('GET', `/threads/${threadId}/emails`)).body.data).toHaveLength(1);
  });

  it('is refused together with html or text', async () => {
    const { path } = await arrive();
    for (const more of [{ text: 'T' }, { html: '<p>H</p>' }]) {
      const refused = await inbox.call('POST', `${path}/reply`, { body: { template: { id: 'all' }, ...more } });
      expect(refused.body).toMatchObject({ statusCode: 400, errors: [{ path: 'template' }] });
    }
  });
});

describe('a draft with a template', () => {
  it('contains the rendered bodies, which do not change with the template', async () => {
    await makeTemplate({
      alias: 'moving',
      html: '<p>First, {{{CUSTOMER_NAME}}}</p>',
      variables: [{ key: 'CUSTOMER_NAME', type: 'string' }],
    });
    const { threadId, emailId } = await arrive();
    const body = { template: { id: 'moving' }, thread_id: threadId, reply_to_email_id: emailId };
    const made = await inbox.call('POST', '/drafts', { body });
    expect(made.status, made.text).toBe(201);
    await scene.api('PATCH', '/templates/moving', { key: team.key, body: { html: '<p>Second</p>' } });
    await post('/templates/moving/publish', {});
    const path = `/drafts/${made.body.id as string}`;
    expect((await inbox.call('GET', path)).body).toMatchObject({
      html: '<p>First, Ada Lovelace</p>',
      text: null,
      subject: null,
    });
    const changed = await inbox.call('PATCH', path, { body: { template: { id: 'all' } } });
    expect(changed.status, changed.text).toBe(200);
    expect((await inbox.call('GET', path)).body).toMatchObject({
      text: 'Ada Lovelace | ada@example.org | Order 1041 | Support | Example',
      subject: null,
    });
  });

  it('takes the values of a new email from its first recipient and its subject, or the subject of the template', async () => {
    const body = { template: { id: 'all' }, to: ['Bob <bob@example.net>', 'c@example.net'] };
    const made = await inbox.call('POST', '/drafts', { body: { ...body, subject: 'Your parcel' } });
    expect(made.status, made.text).toBe(201);
    expect((await inbox.call('GET', `/drafts/${made.body.id as string}`)).body).toMatchObject({
      subject: 'Your parcel',
      text: 'Bob | bob@example.net | Your parcel | Support | Example',
    });
    const refused = await inbox.call('POST', '/drafts', { body });
    expect(refused.body.message).toContain('template.variables.SUBJECT is missing');
    const given = { ...body, template: { id: 'all', variables: { SUBJECT: 'a parcel' } } };
    const second = await inbox.call('POST', '/drafts', { body: given });
    expect((await inbox.call('GET', `/drafts/${second.body.id as string}`)).body.subject).toBe('A subject of its own');
  });
});

it('the preview of a template returns both bodies and sends nothing', async () => {
  const { path, threadId } = await arrive();
  const shown = await grace.call('POST', `${inbox.path}${path}/render`, {
    template: { id: 'refund', variables: { ORDER: 7 } },
  });
  expect(shown.status, shown.text).toBe(200);
  expect(shown.body).toMatchObject({
    object: 'rendered_inbox_template',
    html: '<p>Dear Ada Lovelace, we refunded <b>7</b>.</p>',
    text: 'Dear Ada Lovelace, we refunded 7.',
  });
  expect((await inbox.call('GET', `/threads/${threadId}/emails`)).body.data).toHaveLength(1);
});

it('an app needs the scope templates:read to use a template in an inbox', async () => {
  const oauth = createOauth(scene);
  const app = await oauth.register();
  const { access_token: key } = await oauth.letIn(owner, app, { scope: 'inbox:read inbox:write' });
  const { path } = await arrive();
  const body = { template: { id: 'all' } };
  for (const [method, below] of [
    ['POST', `${path}/reply`],
    ['POST', `${path}/render`],
    ['POST', '/drafts'],
  ] as const) {
    const refused = await scene.api(method, `${inbox.path}${below}`, { key, body });
    expect(refused.status, refused.text).toBe(403);
    expect(refused.body.message).toContain('templates:read');
  }
});

describe('the approval of an app that answers with a template', () => {
  it('shows the resulting bodies of a reply and of a draft, and is void once the template says something else', async () => {
    const oauth = createOauth(scene);
    const app = await oauth.register();
    const grant = await oauth.letIn(owner, app, { scope: SCOPE_NAMES.join(' ') }, { approval: 'changes' });
    await makeTemplate({
      alias: 'shown',
      html: '<p>Hello {{{CUSTOMER_NAME}}} from {{{AGENT_NAME}}}</p>',
      variables: ['CUSTOMER_NAME', 'AGENT_NAME'].map((key) => ({ key, type: 'string' })),
    });
    const { path, threadId, emailId } = await arrive();
    const body = { template: { id: 'shown' } };
    const ask = async (method: string, below: string, given: object): Promise<string> => {
      const { body: refusal, text } = await scene.api(method, `${inbox.path}${below}`, {
        key: grant.access_token,
        body: given,
      });
      expect(refusal.details?.approval_id, text).toEqual(expect.any(String));
      return refusal.details.approval_id as string;
    };
    const fetchMessages = async (id: string) => (await owner.call('GET', `/approvals/${id}`)).body.content.messages;
    const shown = '<p>Hello Ada Lovelace from Support</p>';
    const reply = await ask('POST', `${path}/reply`, body);
    expect(await fetchMessages(reply)).toMatchObject([
      {
        kind: 'reply',
        html: expect.stringContaining(shown),
        template: 'shown',
        to: ['Ada Lovelace <ada@example.org>'],
      },
    ]);
    const draft = await ask('POST', '/drafts', { ...body, thread_id: threadId, reply_to_email_id: emailId });
    expect(await fetchMessages(draft)).toMatchObject([{ kind: 'draft', html: shown, template: 'shown' }]);
    const { body: own } = await inbox.call('POST', '/drafts', { body: { to: 'Bob <bob@example.net>', text: 'T' } });
    const change = await ask('PATCH', `/drafts/${own.id as string}`, body);
    expect(await fetchMessages(change)).toMatchObject([{ kind: 'draft', html: '<p>Hello Bob from Support</p>' }]);

    expect((await owner.call('POST', `/approvals/${draft}/approve`, {})).body.status).toBe('done');
    await scene.api('PATCH', '/templates/shown', { key: team.key, body: { html: '<p>Send me your password</p>' } });
    await post('/templates/shown/publish', {});
    const late = await owner.call('POST', `/approvals/${reply}/approve`, {});
    expect(late.body.status).not.toBe('done');
    expect((await inbox.call('GET', `/threads/${threadId}/emails`)).body.data).toHaveLength(1);
  });
});
