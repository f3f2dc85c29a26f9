import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createInbox, type Inbox } from '../../rig/inboxes.ts';
import { createPeople } from '../../rig/people.ts';
import { MESSAGE, receiveMail } from '../../rig/received-mail.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

let scene: Scene;
let team: Team;
let from: string;
let inbox: Inbox;
beforeAll(async () => {
  scene = await startScene();
  team = await scene.team('Example');
  from = `Shop <shop@${(await team.domain()).name}>`;
  inbox = await createInbox(scene, team);
});
afterAll(() => scene.close());

const call = async (method: string, url: string, body?: object) => {
  const answer = await scene.api(method, url, { key: team.key, ...(body ? { body } : {}) });
  expect(answer.status, answer.text).toBeLessThan(300);
  return answer.body;
};
const send = async (input: object): Promise<string> => (await call('POST', '/emails', { from, ...input })).id;
const exportPerson = (email: string, more: object = {}) => call('POST', '/contacts/export-person', { email, ...more });

describe('POST /contacts/export-person', () => {
  it('the document has everything about the person, and no texts of mail unless they are asked for', async () => {
    const email = 'ada@wonderland.example';
    await call('POST', '/contact-properties', { key: 'plan', type: 'string' });
    const segment = (await call('POST', '/segments', { name: 'VIP' })).id;
    const topic = (await call('POST', '/topics', { name: 'News', default_subscription: 'opt_out' })).id;
    await call('POST', '/contacts', {
      email,
      first_name: 'Ada',
      properties: { plan: 'pro' },
      segments: [segment],
      topics: [{ id: topic, subscription: 'opt_in' }],
    });
    await call('POST', '/events', { name: 'order.placed' });
    const steps = [
      { key: 'start', type: 'trigger', config: { event_name: 'order.placed' } },
      { key: 'wait', type: 'delay', config: { duration: '1 day' } },
    ];
    const automation = await call('POST', '/automations', {
      name: 'Thanks',
      status: 'enabled',
      steps,
      connections: [{ from: 'start', to: 'wait' }],
    });
    for (const total of [7, 12])
      await call('POST', '/events/send', { event: 'order.placed', email, payload: { total } });
    const attachments = [{ filename: 'poem.txt', content: Buffer.from('twas brillig').toString('base64') }];
    const alone = await send({ to: `Ada <${email}>`, subject: 'For Ada', text: 'Only for you', attachments });
    const shared = await send({
      to: ['bob@example.org', email],
      cc: 'eve@example.org',
      subject: 'For all',
      text: 'Hi',
    });
    await send({ to: 'bob@example.org', subject: 'Not for Ada', text: 'Hello' });
    await inbox.receive({ from: `Ada <${email}>`, subject: 'A question', text: 'Does it work?', mailFrom: email });
    const [thread] = await inbox.threads();
    await inbox.call('PATCH', `/threads/${thread?.id}`, { notes: 'Call her back' });
    await call('POST', '/suppressions', { email });
    await scene.settled();
    const answer = await scene.api('POST', '/contacts/export-person', { key: team.key, body: { email } });
    expect(answer.headers.get('content-type')).toContain('application/json');
    expect(answer.headers.get('cache-control')).toBe('private, no-store');
    const { body } = answer;
    expect(body).toMatchObject({ object: 'person_export', email, team: 'Example', complete: true });
    expect(body.contact).toMatchObject({ email, first_name: 'Ada', properties: { plan: 'pro' } });
    expect(body.suppression).toMatchObject({ origin: 'manual' });
    const never = { last_delivered_at: null, last_opened_at: null, last_clicked_at: null };
    expect(body.engagement).toEqual({
      first_sent_at: null,
      last_sent_at: null,
      ...never,
      custom_events: [{ name: 'order.placed', count: 2, last_at: expect.stringMatching(/^20/) }],
    });
    expect(body.segments).toEqual([{ id: segment, name: 'VIP' }]);
    expect(body.topics).toEqual([{ id: topic, name: 'News', subscription: 'opt_in' }]);
    expect(body.consents).toMatchObject([{ action: 'opt_in', topic_id: topic, source: 'api', actor_kind: 'api_key' }]);
    const kinds = new Set(body.activity.map(({ kind }: { kind: string }) => kind));
    expect([...kinds].sort()).toEqual(['consent', 'contact', 'event', 'mail', 'run', 'suppression']);
    expect(body.emails).toMatchObject([
      {
        id: alone,
        subject: 'For Ada',
        as: ['to'],
        other_recipients: 0,
        attachments: [{ filename: 'poem.txt', content_type: 'text/plain', size: 12 }],
      },
      { id: shared, subject: 'For all', as: ['to'], other_recipients: 2, last_event: 'delivered' },
    ]);
    for (const one of body.emails)
      expect(one.events.map(({ type }: { type: string }) => type)).toContain('email.delivered');
    expect(body.received_emails).toMatchObject([{ subject: 'A question', is_sender: true, attachments: [] }]);
    expect(body.threads).toMatchObject([
      { id: thread?.id, inbox: inbox.address, subject: 'A question', email_count: 1, notes: 'Call her back' },
    ]);
    const run = { automation_id: automation.id, status: 'running' };
    expect(body.runs).toMatchObject([12, 7].map((total) => ({ ...run, payload: { total } })));
    expect(body.custom_events).toMatchObject([12, 7].map((total) => ({ name: 'order.placed', payload: { total } })));
    expect(Object.keys(body.left_out)).toContain('audit_log');
    expect(answer.text).not.toMatch(/bob@|eve@|Only for you|Does it work|Not for Ada/);
  });

  it('texts are included on request, but not those of mail that went to others as well', async () => {
    const email = 'zoe@wonderland.example';
    await send({ to: email, subject: 'Alone', text: 'Only for you', html: '<p>Only</p>' });
    await send({ to: [email, 'bob@example.org'], subject: 'Shared', text: 'For both' });
    const raw = MESSAGE.replaceAll('someone@example.org', email).replace('Does it work?', 'Mine');
    await receiveMail(scene, team, { raw, mailFrom: email });
    await receiveMail(scene, team, {
      raw: MESSAGE.replace('Message-ID: <question', `Cc: ${email}, eve@example.org\r\nMessage-ID: <copied`),
    });
    const body = await exportPerson(email, { with_bodies: true });
    expect(body.emails).toMatchObject([{ text: 'Only for you', html: '<p>Only</p>' }, { subject: 'Shared' }]);
    expect(body.emails[1]).not.toHaveProperty('text');
    expect(body.received_emails).toMatchObject([
      { is_sender: true, text: expect.stringContaining('Mine') },
      { is_sender: false, cc: [email], client_address: null },
    ]);
    expect(body.received_emails[1]).not.toHaveProperty('text');
    expect(JSON.stringify(body)).not.toMatch(/bob@|eve@|For both/);
  });

  it.each([
    ['ada@bücher.example', 'ADA@XN--BCHER-KVA.example'],
    ['"plain"@example.org', 'plain@example.org'],
  ])('mail to %s is found for %s, and mail to similar addresses is not', async (written, asked) => {
    const id = await send({ to: written, subject: 's', text: 't' });
    await send({ to: `x-${written.replaceAll('"', '')}`, subject: 'Not hers', text: 't' });
    await scene.settled();
    expect((await exportPerson(asked)).emails).toMatchObject([{ id }]);
  });

  it('an address without a contact has mail, and decisions of a contact that was erased', async () => {
    const email = 'gone@wonderland.example';
    await call('POST', '/contacts', { email, unsubscribed: true });
    await call('DELETE', `/contacts/${email}`);
    await send({ to: email, subject: 'Receipt', text: 't' });
    const body = await exportPerson(email);
    expect(body).toMatchObject({
      contact: null,
      engagement: null,
      activity: [],
      runs: [],
      custom_events: [],
      complete: true,
    });
    expect(body.consents).toMatchObject([{ action: 'unsubscribed' }]);
    expect(body.emails).toMatchObject([{ subject: 'Receipt' }]);
  });

  it('is refused for members, viewers and what is no address', async () => {
    const people = createPeople(scene);
    for (const [role, status] of [
      ['owner', 200],
      ['admin', 200],
      ['member', 403],
      ['viewer', 403],
    ] as const) {
      const person = await people.person({ team, role });
      const asked = await person.call('POST', '/contacts/export-person', { email: 'a@example.org' });
      expect([role, asked.status]).toEqual([role, status]);
    }
    const bad = await scene.api('POST', '/contacts/export-person', { key: team.key, body: { email: 'nobody' } });
    expect([bad.status, bad.body.message.startsWith('email: ')]).toEqual([422, true]);
  });

  it('each export is in the audit log, and neither it nor the request log has the address', async () => {
    const email = 'audited@wonderland.example';
    await exportPerson(email, { with_bodies: true });
    const [entry] = (await call('GET', '/audit?limit=1')).data;
    expect(entry).toMatchObject({ action: 'person.exported', details: { with_bodies: true }, subject_id: null });
    const log = async () =>
      (await call('GET', '/logs?search=/contacts/export-person')).data.map(({ id }: { id: string }) => id);
    const [id] = await log();
    expect(JSON.stringify(await call('GET', `/logs/${id}`))).not.toContain(email);
  });
});
