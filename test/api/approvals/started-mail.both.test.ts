// An app whose broadcasts a person approves must not reach many people through automations, confirmations or contacts.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startAppScene, type AppScene } from './app-scene.ts';

let stage: AppScene;
beforeAll(async () => {
  stage = await startAppScene();
});
afterAll(() => stage.close());

/** Authorizes the app for another person, because all grants that a person gives to an app are counted together. */
const tokenFor = async (approvalAbove: number): Promise<string> => {
  const limits = { approval: 'broadcasts', approval_above: String(approvalAbove) };
  const person = await stage.people.person({ team: stage.desk.team, role: 'owner' });
  return stage.tokenFor(limits, { person });
};
const WAITS = 'Nothing has been done yet';
/** Returns the status of a response, and for a call that waits the beginning of its message. */
const outcome = ({ status, body }: { status: number; body: { message?: string } }): string =>
  status < 300 ? `${status}` : `${status} ${body.message?.slice(0, WAITS.length)}`;
const HELD = `403 ${WAITS}`;

let made = 0;
const newName = (): string => `started_${++made}`;
const newAddress = (): string => `${newName()}@example.org`;

/** Creates a contact and returns its address. */
const newContact = async (): Promise<string> => {
  const email = newAddress();
  expect((await stage.desk.call('POST', '/contacts', { email, first_name: 'Ada' })).status).toBe(201);
  return email;
};

const publishedTemplate = async (html: string, variables: object[] = []): Promise<string> => {
  const { body } = await stage.desk.call('POST', '/templates', {
    name: newName(),
    from: `Shop <shop@${stage.desk.domain.name}>`,
    subject: 'Please confirm',
    html,
    variables,
  });
  expect((await stage.desk.call('POST', `/templates/${body.id}/publish`)).status).toBe(200);
  return body.id as string;
};

const confirmationTemplate = (): Promise<string> =>
  publishedTemplate('<a href="{{{CONFIRMATION_URL}}}">Yes</a>', [{ key: 'CONFIRMATION_URL', type: 'string' }]);

/** Declares an event and returns its name with a graph that sends a template when the event comes. */
const graphOfEvent = async (): Promise<{ name: string; graph: object }> => {
  const name = newName();
  expect((await stage.desk.call('POST', '/events', { name })).status).toBe(201);
  const steps = [
    { key: 'start', type: 'trigger', config: { event_name: name } },
    { key: 'mail', type: 'send_email', config: { template: { id: await publishedTemplate('<p>Hello</p>') } } },
  ];
  return { name, graph: { name, steps, connections: [{ from: 'start', to: 'mail' }] } };
};

it('an app whose broadcasts need approval cannot create an enabled automation without it', async () => {
  const token = await tokenFor(100);
  const { graph } = await graphOfEvent();
  expect(outcome(await stage.call(token, 'POST', '/automations', { ...graph, status: 'enabled' }))).toBe(HELD);
  expect(outcome(await stage.call(token, 'POST', '/automations', graph))).toBe('201');
});

it('an app whose broadcasts need approval cannot enable or change an automation, but may disable it', async () => {
  const token = await tokenFor(100);
  const { graph } = await graphOfEvent();
  const { id } = (await stage.desk.call('POST', '/automations', graph)).body;
  expect(outcome(await stage.call(token, 'PATCH', `/automations/${id}`, { status: 'enabled' }))).toBe(HELD);
  expect(outcome(await stage.call(token, 'PATCH', `/automations/${id}`, graph))).toBe(HELD);
  expect(outcome(await stage.call(token, 'PATCH', `/automations/${id}`, { status: 'disabled' }))).toBe('200');
});

it('an app whose broadcasts need approval cannot create a topic that asks for confirmation', async () => {
  const token = await tokenFor(100);
  const topic = { name: newName(), default_subscription: 'opt_out' };
  const confirmation = { confirmation: 'required', confirmation_template_id: await confirmationTemplate() };
  expect(outcome(await stage.call(token, 'POST', '/topics', { ...topic, ...confirmation }))).toBe(HELD);
  const { id } = (await stage.call(token, 'POST', '/topics', topic)).body;
  expect(outcome(await stage.call(token, 'PATCH', `/topics/${id}`, confirmation))).toBe(HELD);
});

it('each event of an app counts as one recipient towards approval_above, and those beyond it wait', async () => {
  const token = await tokenFor(2);
  const { name, graph } = await graphOfEvent();
  expect((await stage.desk.call('POST', '/automations', { ...graph, status: 'enabled' })).status).toBe(201);
  const outcomes: string[] = [];
  for (let count = 0; count < 4; count++)
    outcomes.push(outcome(await stage.call(token, 'POST', '/events/send', { event: name, email: await newContact() })));
  expect(outcomes).toEqual(['202', '202', HELD, HELD]);
});

it('each contact that an app enrols counts as one recipient, and the approval shows the automation and the contact', async () => {
  const token = await tokenFor(1);
  const { graph } = await graphOfEvent();
  const { id } = (await stage.desk.call('POST', '/automations', { ...graph, status: 'enabled' })).body;
  const enrol = (email: string) => stage.call(token, 'POST', `/automations/${id}/runs`, { email });
  expect(outcome(await enrol(await newContact()))).toBe('201');
  const email = await newContact();
  const held = await enrol(email);
  expect(outcome(held)).toBe(HELD);
  const path = `/approvals/${held.body.details.approval_id}`;
  const { content } = (await stage.owner.call('GET', path)).body;
  expect(content.automation.steps).toHaveLength(2);
  expect(content.changes).toContainEqual({ field: 'email', before: null, after: email });
  expect((await stage.owner.call('POST', `${path}/approve`, {})).body.status).toBe('done');
  expect((await stage.desk.call('GET', `/automations/${id}/runs?contact=${email}`)).body.data).toHaveLength(1);
});

it('emails, events and contacts of an app count towards one approval_above', async () => {
  const token = await tokenFor(2);
  const name = newName();
  await stage.desk.call('POST', '/events', { name });
  const email = { from: `a@${stage.desk.domain.name}`, to: newAddress(), subject: 'One', text: 'One.' };
  expect(outcome(await stage.call(token, 'POST', '/emails', email))).toBe('200');
  expect(outcome(await stage.call(token, 'POST', '/contacts', { email: newAddress() }))).toBe('201');
  expect(outcome(await stage.call(token, 'POST', '/events/send', { event: name, email: await newContact() }))).toBe(
    HELD,
  );
  expect(outcome(await stage.call(token, 'POST', '/emails', { ...email, to: newAddress() }))).toBe(HELD);
});

it('each item of a batch of an app counts towards approval_above, and a batch beyond it waits as a whole', async () => {
  const token = await tokenFor(5);
  const name = newName();
  await stage.desk.call('POST', '/events', { name });
  const contacts = Array.from({ length: 3 }, () => ({ email: newAddress() }));
  const events = contacts.map(({ email }) => ({ event: name, email }));
  expect(outcome(await stage.call(token, 'POST', '/contacts/batch', contacts))).toBe('201');
  const held = await stage.call(token, 'POST', '/events/send/batch', events);
  expect(outcome(held)).toBe(HELD);
  expect(outcome(await stage.call(token, 'POST', '/events/send/batch', events.slice(0, 2)))).toBe('202');
  expect(outcome(await stage.call(token, 'POST', '/contacts/batch', [{ email: newAddress() }]))).toBe(HELD);
  const shown = await stage.owner.call('GET', `/approvals/${held.body.details.approval_id}`);
  expect(
    shown.body.content.changes.map(({ field, after }: { field: string; after: object }) => [field, after]),
  ).toEqual(events.map((event, index) => [String(index), event]));
  const approved = await stage.owner.call('POST', `/approvals/${held.body.details.approval_id}/approve`, {});
  expect([approved.status, approved.body.status, approved.body.result.data.length]).toEqual([200, 'done', 3]);
});

it('items of a permissive batch that are refused do not count towards approval_above', async () => {
  const token = await tokenFor(3);
  const permissive = { 'x-batch-validation': 'permissive' };
  const items = [{ email: newAddress() }, { email: 'nobody' }, { email: newAddress(), properties: { none: 1 } }];
  expect(outcome(await stage.call(token, 'POST', '/contacts/batch', items, permissive))).toBe('201');
  expect(
    outcome(await stage.call(token, 'POST', '/contacts/batch', [{ email: 'nobody' }, { email: 'none' }])),
  ).toContain('400');
  expect(
    outcome(await stage.call(token, 'POST', '/contacts/batch', [{ email: newAddress() }, { email: newAddress() }])),
  ).toBe('201');
  expect(outcome(await stage.call(token, 'POST', '/contacts', { email: newAddress() }))).toBe(HELD);
});

it('a call that is refused does not count towards approval_above', async () => {
  const token = await tokenFor(1);
  const absent = '/contacts/absent@example.org';
  for (let count = 0; count < 3; count++)
    expect((await stage.call(token, 'PATCH', absent, { first_name: 'A' })).status).toBe(404);
  expect(outcome(await stage.call(token, 'POST', '/contacts', { email: newAddress() }))).toBe('201');
});

it('an event that was held is reported when a person approves it', async () => {
  const token = await tokenFor(1);
  const name = newName();
  await stage.desk.call('POST', '/events', { name });
  expect(outcome(await stage.call(token, 'POST', '/contacts', { email: newAddress() }))).toBe('201');
  const held = await stage.call(token, 'POST', '/events/send', { event: name, email: await newContact() });
  const approved = await stage.owner.call('POST', `/approvals/${held.body.details.approval_id}/approve`, {});
  expect([approved.status, approved.body.status]).toEqual([200, 'done']);
});

it('contact fields, which mail of others contains, can be written without approval for few contacts only', async () => {
  const paths: string[] = [];
  for (let count = 0; count < 3; count++) paths.push(`/contacts/${await newContact()}`);
  const token = await tokenFor(2);
  const outcomes: string[] = [];
  for (const path of paths) outcomes.push(outcome(await stage.call(token, 'PATCH', path, { first_name: 'EVIL' })));
  expect(outcomes).toEqual(['200', '200', HELD]);
});

it('an app whose broadcasts need approval cannot import a file of contacts', async () => {
  const body = new FormData();
  body.set('file', new Blob([`email,first_name\n${newAddress()},EVIL\n`]), 'people.csv');
  const url = `${stage.scene.url}/contacts/imports`;
  const answer = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${await tokenFor(100)}` },
    body,
  });
  expect([answer.status, ((await answer.json()) as { message: string }).message]).toEqual([
    403,
    expect.stringContaining('a request with a file cannot wait'),
  ]);
});

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
const untilMidnight = (): number => DAY_MS - (stage.scene.clock.now() % DAY_MS);
const passMidnight = (): void => stage.scene.clock.advance(untilMidnight() + MINUTE_MS);
/** Returns a token of an app that has used its one recipient of this day, which ends in a minute. */
async function tokenBeforeMidnight(): Promise<string> {
  stage.scene.clock.advance(untilMidnight() + DAY_MS - MINUTE_MS);
  const token = await tokenFor(1);
  const email = { from: `a@${stage.desk.domain.name}`, to: newAddress(), subject: 'One', text: 'One.' };
  expect(outcome(await stage.call(token, 'POST', '/emails', email))).toBe('200');
  return token;
}

it('a call that waits for approval still waits when the app repeats it on the next day', async () => {
  const mail = { from: `a@${stage.desk.domain.name}`, to: newAddress(), subject: 'Two', text: 'Two.' };
  const token = await tokenBeforeMidnight();
  const held = await stage.call(token, 'POST', '/emails', mail);
  expect(outcome(held)).toBe(HELD);
  passMidnight();
  const again = await stage.call(token, 'POST', '/emails', mail);
  expect([outcome(again), again.body.details?.approval_id]).toEqual([HELD, held.body.details.approval_id]);
  expect(outcome(await stage.call(token, 'POST', '/emails', { ...mail, to: newAddress() }))).toBe('200');
  const approved = await stage.owner.call('POST', `/approvals/${held.body.details.approval_id}/approve`, {});
  expect(approved.body.status).toBe('done');
  const sent = (await stage.desk.call('GET', '/emails?limit=100')).body.data.filter(({ to }: { to: string[] }) =>
    to.includes(mail.to),
  );
  expect(sent).toHaveLength(1);
});

it('a call with an idempotency key that waits still waits when the app repeats it on the next day', async () => {
  const mail = { from: `a@${stage.desk.domain.name}`, to: newAddress(), subject: 'Two', text: 'Two.' };
  const token = await tokenBeforeMidnight();
  const key = { 'idempotency-key': newName() };
  const held = await stage.call(token, 'POST', '/emails', mail, key);
  passMidnight();
  const again = await stage.call(token, 'POST', '/emails', mail, key);
  expect([outcome(again), again.body.details?.approval_id]).toEqual([HELD, held.body.details.approval_id]);
});

it('a call that waits still waits when a person has lifted the limit of its app', async () => {
  const mail = { from: `a@${stage.desk.domain.name}`, to: newAddress(), subject: 'Two', text: 'Two.' };
  const token = await tokenBeforeMidnight();
  const held = await stage.call(token, 'POST', '/emails', mail);
  expect(outcome(held)).toBe(HELD);
  const { data } = (await stage.scene.api('GET', '/oauth/grants', { key: stage.desk.team.key })).body;
  const limited = await stage.owner.call('PATCH', `/oauth/grants/${data[0].id}`, { approval: 'none' });
  expect(limited.status).toBe(200);
  const again = await stage.call(token, 'POST', '/emails', mail);
  expect([outcome(again), again.body.details?.approval_id]).toEqual([HELD, held.body.details.approval_id]);
});
