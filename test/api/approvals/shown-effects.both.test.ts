// An approval shows what the call does: steps of automations, headers, aliases, and characters that nobody sees.
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
const openPage = async (id: string): Promise<string> => (await stage.openPage(id)).text;
let count = 0;

describe('an approval to enable an automation', () => {
  const createDisabled = async (): Promise<string> => {
    const segment = (await stage.desk.call('POST', '/segments', { name: `S${++count}` })).body.id as string;
    const steps = [
      { key: 'start', type: 'trigger', config: { event_name: 'rasket:contact.updated' } },
      { key: 'rename', type: 'contact_update', config: { first_name: 'EVIL' } },
      { key: 'add', type: 'add_to_segment', config: { segment_id: segment } },
    ];
    const connections = [
      { from: 'start', to: 'rename' },
      { from: 'rename', to: 'add' },
    ];
    const made = await stage.desk.call('POST', '/automations', { name: 'Quiet cleaning', steps, connections });
    expect(made.status).toBe(201);
    return made.body.id as string;
  };

  it('an approval to enable an automation shows its name, its trigger and each step with the texts that it writes', async () => {
    const automation = await createDisabled();
    const id = await held('PATCH', `/automations/${automation}`, { status: 'enabled' });
    const { content } = await stage.fetchApproval(id);
    expect(content.automation).toMatchObject({ name: 'Quiet cleaning', status: 'enabled', reentry: 'always' });
    expect(content.automation.steps).toEqual([
      'start: trigger, event_name: "rasket:contact.updated", then rename',
      'rename: contact_update, first_name: "EVIL", then add',
      expect.stringMatching(/^add: add_to_segment, segment_id: "/),
    ]);
    expect(content.changes).toEqual([{ field: 'status', before: 'disabled', after: 'enabled' }]);
    for (const shown of [await openPage(id), await stage.printAtTerminal('get', id)]) {
      expect(shown).toContain('Quiet cleaning');
      expect(shown).toContain('rasket:contact.updated');
      expect(shown).toContain('EVIL');
    }
  });

  it('an approval to enable an automation is refused when a person has changed the trigger since', async () => {
    const automation = await createDisabled();
    const id = await held('PATCH', `/automations/${automation}`, { status: 'enabled' });
    const { steps, connections } = (await stage.desk.call('GET', `/automations/${automation}`)).body;
    steps[0].config = { event_name: 'rasket:contact.created' };
    expect((await stage.desk.call('PATCH', `/automations/${automation}`, { steps, connections })).status).toBe(200);
    expect((await stage.fetchApproval(id)).content.is_changed).toBe(true);
    const refused = await stage.approve(id);
    expect([refused.status, refused.body.message]).toEqual([422, expect.stringContaining('has changed')]);
  });
});

describe('additional headers of an email that waits for approval', () => {
  const email = (headers: object) => ({
    from: `a@${stage.desk.domain.name}`,
    to: `h${++count}@example.org`,
    subject: 'With headers',
    text: 'Hello',
    headers,
  });

  it('an approval shows additional headers of an email, and Reply-To among them as the reply address', async () => {
    const id = await held('POST', '/emails', email({ 'reply-to': 'else@example.net', 'X-Order': '10042' }));
    const [message] = (await stage.fetchApproval(id)).content.messages;
    expect(message).toMatchObject({
      reply_to: ['else@example.net'],
      headers: [
        { name: 'reply-to', value: 'else@example.net' },
        { name: 'X-Order', value: '10042' },
      ],
    });
    expect(await openPage(id)).toContain('Reply to else@example.net');
    expect(await openPage(id)).toContain('X-Order: 10042');
    expect(await stage.printAtTerminal('get', id)).toMatch(/Reply to: else@example\.net[^]*X-Order: 10042/);
  });

  it.each(['Bcc', 'From', 'Subject'])('headers that contain %s are refused before the call waits', async (name) => {
    const headers = { [name]: 'a@example.net' };
    for (const [path, body, field] of [
      ['/emails', email(headers), `headers.${name}`],
      ['/emails/batch', [email(headers)], `0.headers.${name}`],
    ] as const) {
      const refused = await stage.call(token, 'POST', path, body);
      expect(refused.status, refused.text).toBe(400);
      expect(refused.text).toContain(field);
      expect(refused.body.details).toBeUndefined();
    }
  });
});

it('the approval to publish a template shows the alias by which programs send it', async () => {
  const alias = `receipt-${++count}`;
  const html = '<p>Thanks</p>';
  const made = await stage.call(token, 'POST', '/templates', { name: 'Receipt', alias, subject: 'Thanks', html });
  // A grant may hold the creation with an alias already; then that approval shows it.
  const first = made.body.details?.approval_id as string | undefined;
  if (first) {
    expect((await stage.fetchApproval(first)).content.changes).toContainEqual({
      field: 'alias',
      before: null,
      after: alias,
    });
    expect((await stage.approve(first)).body.status).toBe('done');
  }
  const id = await held('POST', `/templates/${alias}/publish`);
  expect((await stage.fetchApproval(id)).content.messages).toMatchObject([{ kind: 'template', alias }]);
  expect(await openPage(id)).toContain(`Alias ${alias}`);
  expect(await stage.printAtTerminal('get', id)).toContain(`Alias: ${alias}`);
});

it('characters that nobody sees are escaped wherever an approval shows text of an app', async () => {
  const unseen = ['\u202e', '\u200b', '\u061c', '\u00ad', '\u{e0041}', '\u3164'];
  const id = await held('POST', '/emails', {
    from: `a@${stage.desk.domain.name}`,
    to: `"x${unseen.join('')}" <u${++count}@example.org>`,
    subject: `Invoice${unseen.join('')}`,
    text: `Pay${unseen.join('')}\u0085\nnow`,
  });
  const escaped = unseen.map((char) => `\\u{${char.codePointAt(0)?.toString(16).padStart(4, '0')}}`).join('');
  const list = (await stage.oauth.visitorOf(stage.owner).open('/account/approvals')).text;
  const page = await openPage(id);
  const terminal = await stage.printAtTerminal('get', id);
  for (const shown of [list, page, terminal, await stage.printAtTerminal('list')]) {
    for (const char of unseen) expect(shown, JSON.stringify(char)).not.toContain(char);
  }
  for (const shown of [list, page, terminal]) expect(shown).toContain(`Invoice${escaped}`);
  for (const shown of [page, terminal]) expect(shown).toContain(`Pay${escaped}\\u{0085}`);
});

describe('an approval of a change that is no message', () => {
  it('an approval shows the fields of a contact before and after, and is refused when they have changed since', async () => {
    const email = `before${++count}@example.org`;
    const contact = (await stage.desk.call('POST', '/contacts', { email, first_name: 'Ada' })).body.id as string;
    const id = await held('PATCH', `/contacts/${contact}`, { first_name: 'EVIL' });
    const change = { field: 'first_name', before: 'Ada', after: 'EVIL' };
    expect((await stage.fetchApproval(id)).content.changes).toEqual([change]);
    await stage.desk.call('PATCH', `/contacts/${contact}`, { first_name: 'Grace' });
    expect((await stage.approve(id)).status).toBe(422);
  });

  it('an approval shows the contact and the segment of a membership', async () => {
    const email = `member${++count}@example.org`;
    const contact = (await stage.desk.call('POST', '/contacts', { email })).body.id as string;
    const name = `Readers ${++count}`;
    const segment = (await stage.desk.call('POST', '/segments', { name })).body.id as string;
    const id = await held('POST', `/contacts/${contact}/segments/${segment}`);
    expect((await stage.fetchApproval(id)).content.changes).toEqual([
      { field: 'contact', before: null, after: email },
      { field: 'segment', before: null, after: name },
    ]);
  });

  it('an approval shows the confirmation of a topic with its template, and is refused when the template has changed since', async () => {
    const html = (word: string) => `<a href="{{{CONFIRMATION_URL}}}">${word}</a>`;
    const variables = [{ key: 'CONFIRMATION_URL', type: 'string' }];
    const from = `Shop <shop@${stage.desk.domain.name}>`;
    const written = { name: 'Confirm', from, subject: 'Confirm', html: html('GOOD'), variables };
    const template = (await stage.desk.call('POST', '/templates', written)).body.id as string;
    expect((await stage.desk.call('POST', `/templates/${template}/publish`)).status).toBe(200);
    const made = await stage.desk.call('POST', '/topics', { name: `T${++count}`, default_subscription: 'opt_in' });
    const after = { confirmation: 'required', confirmation_template_id: template };
    const id = await held('PATCH', `/topics/${made.body.id}`, after);
    const { content } = await stage.fetchApproval(id);
    expect(content.changes).toEqual([
      { field: 'confirmation', before: 'none', after: 'required' },
      { field: 'confirmation_template_id', before: null, after: template },
    ]);
    expect(content.messages).toMatchObject([{ kind: 'template', html: html('GOOD') }]);
    await stage.desk.call('PATCH', `/templates/${template}`, { html: html('BAD') });
    expect((await stage.desk.call('POST', `/templates/${template}/publish`)).status).toBe(200);
    expect((await stage.approve(id)).status).toBe(422);
  });
});

describe('the objects that a call names by their ids', () => {
  it('the list and the approval name the object that a call changes or deletes by its id', async () => {
    const every = await stage.tokenFor('changes');
    const email = `named${++count}@example.org`;
    const contact = (await stage.desk.call('POST', '/contacts', { email, first_name: 'Ada' })).body.id as string;
    const topic = { name: `Offers ${++count}`, default_subscription: 'opt_out' };
    const topicId = (await stage.desk.call('POST', '/topics', topic)).body.id as string;
    const segment = `Customers ${++count}`;
    const segmentId = (await stage.desk.call('POST', '/segments', { name: segment })).body.id as string;
    await stage.desk.call('POST', '/suppressions', { email });
    const suppression = (await stage.desk.call('GET', '/suppressions')).body.data[0].id as string;
    const choice = { id: topicId, subscription: 'opt_in' };
    const broadcast = `Offer ${++count}`;
    const broadcastId = await stage.desk.make({ name: broadcast });
    for (const [method, path, body, names] of [
      ['PATCH', `/contacts/${contact}`, { first_name: 'EVIL' }, { contact: email }],
      ['PATCH', `/contacts/${contact}/topics`, { topics: [choice] }, { contact: email, topics: topic.name }],
      ['POST', '/contacts', { email: `n${email}`, segments: [{ id: segmentId }] }, { segments: segment }],
      ['DELETE', `/contacts/${contact}`, undefined, { contact: email }],
      ['DELETE', `/suppressions/${suppression}`, undefined, { suppression: email }],
      ['POST', '/suppressions/batch/remove', { ids: [suppression] }, { ids: email }],
      ['DELETE', `/segments/${segmentId}`, undefined, { segment }],
      ['DELETE', `/broadcasts/${broadcastId}`, undefined, { broadcast_id: broadcast }],
    ] as const) {
      const id = await stage.held(every, method, path, body as object);
      const { about, content } = await stage.fetchApproval(id);
      const shown = content.objects.map(({ field, name }: { field: string; name: string }) => [field, name]);
      expect(Object.fromEntries(shown), path).toEqual(names);
      const page = await openPage(id);
      const terminal = await stage.printAtTerminal('get', id);
      for (const name of Object.values(names)) {
        expect(page).toContain(name);
        expect(terminal).toContain(name);
      }
      const [named = ''] = Object.values(names);
      if (method !== 'POST') expect(about.object).toBe(named);
      if (method !== 'POST') expect(await stage.printAtTerminal('list')).toContain(named);
    }
  });

  it('an approval shows the topics of a contact before and after, and every field of what is created', async () => {
    const email = `fields${++count}@example.org`;
    const contact = (await stage.desk.call('POST', '/contacts', { email })).body.id as string;
    const topic = { name: `News ${++count}`, default_subscription: 'opt_out' };
    const topicId = (await stage.desk.call('POST', '/topics', topic)).body.id as string;
    const after = [{ id: topicId, subscription: 'opt_in' }];
    const before = [{ id: topicId, subscription: 'opt_out' }];
    for (const body of [{ topics: after }, after]) {
      const id = await held('PATCH', `/contacts/${contact}/topics`, body);
      expect((await stage.fetchApproval(id)).content.changes).toEqual([{ field: 'topics', before, after }]);
    }
    const id = await held('POST', '/contacts', { email: `new${email}`, first_name: 'EVIL' });
    expect((await stage.fetchApproval(id)).content.changes).toEqual([
      { field: 'email', before: null, after: `new${email}` },
      { field: 'first_name', before: null, after: 'EVIL' },
    ]);
  });

  it('an approval is refused when the app has renamed the segment of the broadcast since', async () => {
    const name = `Everybody ${++count}`;
    const segment = (await stage.desk.call('POST', '/segments', { name })).body.id as string;
    const email = `everybody${++count}@example.org`;
    await stage.desk.call('POST', '/contacts', { email, segments: [{ id: segment }] });
    const broadcast = await stage.desk.make({ segment_id: segment });
    const id = await held('POST', `/broadcasts/${broadcast}/send`);
    const renamed = { name: `Only me ${++count}` };
    expect((await stage.call(token, 'PATCH', `/segments/${segment}`, renamed)).status).toBe(200);
    expect((await stage.fetchApproval(id)).content.is_changed).toBe(true);
    expect((await stage.approve(id)).status).toBe(422);
  });
});

it('the approval of a broadcast shows how it is sent, and is refused when that has changed since', async () => {
  const ab = { subjects: ['Another subject'], test_percent: 20, wait_minutes: 60 };
  const draft = await stage.desk.make({ rate_per_minute: 7, ab, archive: true });
  const id = await held('POST', `/broadcasts/${draft}/send`);
  const options = [
    { name: 'rate_per_minute', value: '7' },
    { name: 'ab.test_percent', value: '20' },
    { name: 'ab.wait_minutes', value: '60' },
    { name: 'archive', value: 'true (everybody can read the email on the web)' },
  ];
  expect((await stage.fetchApproval(id)).content.messages).toMatchObject([{ kind: 'broadcast', options }]);
  expect(await openPage(id)).toContain('rate_per_minute: 7 / ab.test_percent: 20 / ab.wait_minutes: 60');
  expect(await stage.printAtTerminal('get', id)).toContain('Options: rate_per_minute: 7 / ab.test_percent: 20');
  const created = await held('POST', '/broadcasts', {
    ...stage.desk.draft,
    rate_per_minute: 7,
    ab,
    archive: true,
    send: true,
  });
  expect((await stage.fetchApproval(created)).content.messages).toMatchObject([{ kind: 'broadcast', options }]);
  expect((await stage.desk.call('PATCH', `/broadcasts/${draft}`, { rate_per_minute: 9000 })).status).toBe(200);
  expect((await stage.approve(id)).status).toBe(422);
});

it('a draft that an app marks for the archive waits for approval', async () => {
  const created = await held('POST', '/broadcasts', { ...stage.desk.draft, archive: true });
  const { content } = await stage.fetchApproval(created);
  expect(content.messages).toMatchObject([{ options: [{ name: 'archive' }] }]);
  const { id } = (await stage.call(token, 'POST', '/broadcasts', stage.desk.draft)).body;
  const changed = await held('PATCH', `/broadcasts/${id}`, { archive: true });
  expect((await stage.approve(changed)).status).toBe(200);
  expect(await stage.desk.get(id)).toMatchObject({ archive: true });
});

it('the approval to publish a broadcast in the archive shows its text, and publishes it', async () => {
  const draft = await stage.desk.make({});
  const id = await held('POST', `/broadcasts/${draft}/archive`);
  const { subject, html } = stage.desk.draft;
  expect((await stage.fetchApproval(id)).content).toMatchObject({
    audience: null,
    messages: [
      {
        kind: 'broadcast',
        subjects: [subject],
        html,
        options: [{ name: 'archive', value: 'true (everybody can read the email on the web)' }],
      },
    ],
  });
  expect(await stage.desk.get(draft)).toMatchObject({ archive: false });
  expect((await stage.approve(id)).status).toBe(200);
  expect(await stage.desk.get(draft)).toMatchObject({ archive: true });
});

it('the approval of a share link shows the reply address and the files of the email', async () => {
  const from = `a@${stage.desk.domain.name}`;
  const attachments = [{ filename: 'contract.txt', content: Buffer.from('Private').toString('base64') }];
  const email = { from, to: 'x@example.org', reply_to: 'desk@example.org', subject: 'Private', text: 'x', attachments };
  const { id: emailId } = (await stage.desk.call('POST', '/emails', email)).body;
  const id = await held('POST', `/emails/${emailId}/share`);
  expect((await stage.fetchApproval(id)).content.messages).toMatchObject([
    { kind: 'email', reply_to: ['desk@example.org'], attachments: [{ filename: 'contract.txt', size: 7 }] },
  ]);
  expect(await openPage(id)).toContain('contract.txt (7 bytes)');
});

it('the page of an approval shows the events that end the runs of an automation', async () => {
  const name = `left_${++count}`;
  await stage.desk.call('POST', '/events', { name });
  const steps = [{ key: 'start', type: 'trigger', config: { event_name: 'rasket:contact.updated' } }];
  const body = { name: 'Until they leave', exit_on: [name], steps, connections: [] };
  const automation = await stage.desk.call('POST', '/automations', body);
  const id = await held('PATCH', `/automations/${automation.body.id}`, { status: 'enabled' });
  expect(await openPage(id)).toContain(`Ends on ${name}`);
});

it('no text of an app can be taken for a line of an approval at the terminal', async () => {
  const forged = 'Hello\n\nBROADCAST\nFrom: boss@example.org\rTo: nobody@example.org';
  const from = `a@${stage.desk.domain.name}`;
  const mail = await held('POST', '/emails', { from, to: 'x@example.org', subject: 'Hi', text: forged, html: forged });
  const change = await held('PATCH', '/team', { postal_address: { line1: 'a', city: 'b', country: 'DE' } });
  for (const shown of [await stage.printAtTerminal('get', mail), await stage.printAtTerminal('get', change)]) {
    expect(shown).not.toMatch(/^(?:BROADCAST|From: boss|To: nobody)/m);
  }
  expect(await stage.printAtTerminal('get', mail)).toContain('| From: boss@example.org');
});
