// An approval shows the form and the mail that it sends, the runs that continue with their contacts and steps, and the names
// in the items of a batch.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startAppScene, type AppScene } from './app-scene.ts';

let stage: AppScene;
let token: string;
beforeAll(async () => {
  stage = await startAppScene();
  token = await stage.tokenFor('sends');
});
afterAll(() => stage.close());

const held = (method: string, path: string, body: object = {}): Promise<string> =>
  stage.held(token, method, path, body);

let count = 0;
const newName = (what: string): string => `${what}_${++count}`;
const create = async (path: string, body: object): Promise<string> => {
  const answer = await stage.desk.call('POST', path, body);
  expect(answer.status, answer.text).toBeLessThan(300);
  return answer.body.id as string;
};

interface Written {
  html: string;
  variables: object[];
}

async function publish(id: string): Promise<void> {
  expect((await stage.desk.call('POST', `/templates/${id}/publish`)).status).toBe(200);
}

async function publishedTemplate(written: Written): Promise<string> {
  const id = await create('/templates', {
    name: newName('template'),
    from: `Shop <shop@${stage.desk.domain.name}>`,
    subject: 'Please read',
    ...written,
  });
  await publish(id);
  return id;
}

async function publishAgain(id: string, written: Partial<Written>): Promise<void> {
  expect((await stage.desk.call('PATCH', `/templates/${id}`, written)).status).toBe(200);
  await publish(id);
}

describe('an approval of a sign-up form', () => {
  const confirmation = (word: string): Written => ({
    html: `<a href="{{{CONFIRMATION_URL}}}">${word}</a>`,
    variables: [{ key: 'CONFIRMATION_URL', type: 'string' }],
  });
  const segment = (): Promise<string> => create('/segments', { name: newName('segment') });

  it('an approval to create a form shows its confirmation email, and is refused when that has changed since', async () => {
    const template = await publishedTemplate(confirmation('GOOD'));
    const form = { name: 'Sign up', segment_ids: [await segment()], confirmation_template_id: template };
    const id = await held('POST', '/forms', form);
    const { content } = await stage.fetchApproval(id);
    expect(content.messages).toMatchObject([{ kind: 'template', html: confirmation('GOOD').html }]);
    expect(content.objects).toContainEqual({
      field: 'confirmation_template_id',
      id: template,
      name: content.messages[0].name,
    });
    await publishAgain(template, confirmation('BAD'));
    expect((await stage.approve(id)).status).toBe(422);
  });

  it('an approval to change a form shows its name, the values before and its email, and is refused when they have changed since', async () => {
    const template = await publishedTemplate(confirmation('GOOD'));
    const name = newName('Readers of the shop');
    const form = { name, segment_ids: [await segment()], confirmation_template_id: template };
    const path = `/forms/${await create('/forms', { ...form, redirect_url: 'https://shop.example/thanks' })}`;
    const id = await held('PATCH', path, { redirect_url: 'https://evil.example/' });
    const { about, content } = await stage.fetchApproval(id);
    expect(about.object).toBe(name);
    expect(content.changes).toEqual([
      { field: 'redirect_url', before: 'https://shop.example/thanks', after: 'https://evil.example/' },
    ]);
    expect(content.messages).toMatchObject([{ kind: 'template', html: confirmation('GOOD').html }]);
    for (const shown of [(await stage.openPage(id)).text, await stage.printAtTerminal('get', id)]) {
      expect(shown).toContain(name);
      expect(shown).toContain('https://shop.example/thanks');
    }
    expect((await stage.desk.call('PATCH', path, { redirect_url: 'https://other.example/' })).status).toBe(200);
    expect((await stage.approve(id)).status).toBe(422);
  });
});

describe('an approval to continue runs of an automation', () => {
  /** Makes an automation whose first runs fail at the step `mail`, and changes it after they have failed. */
  async function failedRuns(contacts: readonly string[]) {
    const event = newName('order');
    await create('/events', { name: event });
    const old = await publishedTemplate({
      html: '<p>OLD {{{NAME}}}</p>',
      variables: [{ key: 'NAME', type: 'string' }],
    });
    const current = await publishedTemplate({ html: '<p>CURRENT</p>', variables: [] });
    const graph = (id: string, variables: object) => ({
      steps: [
        { key: 'start', type: 'trigger', config: { event_name: event } },
        { key: 'mail', type: 'send_email', config: { template: { id, variables } } },
      ],
      connections: [{ from: 'start', to: 'mail' }],
    });
    const name = newName('Orders');
    const versions = graph(old, { NAME: { var: 'event.name' } });
    const path = `/automations/${await create('/automations', { name, status: 'enabled', ...versions })}`;
    for (const email of contacts) {
      await create('/contacts', { email });
      await create('/events/send', { event, email });
    }
    await stage.scene.settled();
    expect((await stage.desk.call('PATCH', path, graph(current, {}))).status).toBe(200);
    const { data } = (await stage.desk.call('GET', `${path}/runs`)).body;
    expect(data.map(({ status }: { status: string }) => status)).toEqual(contacts.map(() => 'failed'));
    return { path, event, runs: data.map(({ id }: { id: string }) => id) as string[] };
  }
  const newContact = (): string => `${newName('run')}@example.org`;

  it.each([
    ['retry', '/retry'],
    ['skip a step of', '/skip'],
  ])('an approval to %s a run shows its contact, and the steps and mail of its own version', async (_title, action) => {
    const email = newContact();
    const { path, runs } = await failedRuns([email]);
    const id = await held('POST', `${path}/runs/${runs[0]}${action}`);
    const { about, content } = await stage.fetchApproval(id);
    expect([about.to, about.recipients]).toEqual([email, 1]);
    expect(content.objects).toContainEqual({ field: 'run_id', id: runs[0], name: email });
    expect(content.automation.steps).toContainEqual(expect.stringMatching(/^mail: send_email, .*"NAME"/));
    const templates = content.messages.filter(({ kind }: { kind: string }) => kind === 'template');
    expect(templates).toMatchObject([{ html: '<p>OLD {{{NAME}}}</p>' }]);
    expect((await stage.openPage(id)).text).toContain(email);
    expect(await stage.printAtTerminal('list')).toContain(`to ${email}`);
  });

  it('an approval to retry all failed runs names each contact, and is refused when another run has failed since', async () => {
    const contacts = [newContact(), newContact()];
    const { path, event, runs } = await failedRuns(contacts);
    const id = await held('POST', `${path}/retry`, { step_key: 'mail' });
    const { about, content } = await stage.fetchApproval(id);
    expect([about.to, about.recipients]).toEqual([contacts[0], 2]);
    expect(content.objects.filter(({ field }: { field: string }) => field === 'run_id')).toEqual(
      contacts.map((name, i) => ({ field: 'run_id', id: runs.toReversed()[i], name })),
    );
    expect(content.automation.steps).toContainEqual(expect.stringMatching(/^mail: send_email, .*"NAME"/));
    const late = newContact();
    await create('/contacts', { email: late });
    const { steps, connections } = (await stage.desk.call('GET', path)).body;
    steps[1].config.template = {
      id: await publishedTemplate({ html: '{{{NAME}}}', variables: [{ key: 'NAME', type: 'string' }] }),
      variables: { NAME: { var: 'event.name' } },
    };
    expect((await stage.desk.call('PATCH', path, { steps, connections })).status).toBe(200);
    await create('/events/send', { event, email: late });
    await stage.scene.settled();
    expect((await stage.fetchApproval(id)).content.is_changed).toBe(true);
    expect((await stage.approve(id)).status).toBe(422);
  });
});

describe('an approval of a batch', () => {
  it('an approval of contacts names the segments and topics of the items, and the list the first address and their number', async () => {
    const segment = newName('Buyers');
    const topic = newName('Offers');
    const segmentId = await create('/segments', { name: segment });
    const topicId = await create('/topics', { name: topic, default_subscription: 'opt_out' });
    const emails = [`${newName('batch')}@example.org`, `${newName('batch')}@example.org`];
    const id = await held('POST', '/contacts/batch', [
      { email: emails[0], segments: [{ id: segmentId }] },
      { email: emails[1], segments: [segmentId], topics: [{ id: topicId, subscription: 'opt_in' }] },
    ]);
    const { about, content } = await stage.fetchApproval(id);
    expect(content.objects).toEqual([
      { field: 'segments', id: segmentId, name: segment },
      { field: 'topics', id: topicId, name: topic },
    ]);
    expect(about).toMatchObject({ to: emails[0], recipients: 2, changes: [] });
    expect(await stage.printAtTerminal('list')).toContain(`to ${emails[0]} (2)`);
  });

  it('an approval of events names their contacts, and the list the first one and their number', async () => {
    const event = newName('bought');
    await create('/events', { name: event });
    const emails = [`${newName('batch')}@example.org`, `${newName('batch')}@example.org`];
    const ids: string[] = [];
    for (const email of emails) ids.push(await create('/contacts', { email }));
    const id = await held(
      'POST',
      '/events/send/batch',
      ids.map((contact_id) => ({ event, contact_id: contact_id.toUpperCase() })),
    );
    const { about, content } = await stage.fetchApproval(id);
    expect(content.objects.map(({ field, name }: { field: string; name: string }) => [field, name])).toEqual(
      emails.map((email) => ['contact_id', email]),
    );
    expect(about).toMatchObject({ to: emails[0], recipients: 2, changes: [] });
  });
});
