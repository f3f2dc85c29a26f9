import PostalMime from 'postal-mime';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { setSending } from '../../src/tenancy/instance/index.ts';
import { line, start, step, supply, type Supplies } from '../api/automations/graph.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { desk } from './automations-desk.ts';
import { POSTAL_ADDRESS } from './campaign.ts';
import { HOUR, MINUTE } from './mail.ts';

let scene: Scene;
let has: Supplies;
let at: ReturnType<typeof desk>;
beforeAll(async () => {
  scene = await startScene();
});
afterAll(() => scene.close());
beforeEach(async () => {
  has = await supply(scene);
  at = desk(scene, has);
  scene.sink.messages.length = 0;
});

const nameTeam = () => at.must('PATCH', '/team', { sender_name: 'Example Ltd', postal_address: POSTAL_ADDRESS });

/** Publishes a template, and returns its id with the response. */
async function publish(content: object): Promise<{ id: string; answer: Record<string, unknown> }> {
  const from = `Shop <shop@${has.domain}>`;
  const { id } = await at.must('POST', '/templates', { name: 'Welcome', from, subject: 'Welcome', ...content });
  return { id, answer: await at.must('POST', `/templates/${id}/publish`) };
}

const sends = (template: string, more: object = {}) => step('m', 'send_email', { template: { id: template }, ...more });

/** Sends the event, and returns the mail that follows. */
async function arrivedOnce() {
  await at.send({ product: 'Tea' });
  await scene.settled();
  expect(scene.sink.messages).toHaveLength(1);
  const raw = String(scene.sink.messages[0]?.data);
  return { raw, ...(await PostalMime.parse(raw)) };
}

const counted = async () => {
  const { used, sent } = (await at.get('/usage')).emails.monthly;
  return { transactional: used as number, marketing: (sent - used) as number };
};

describe('an email of an automation', () => {
  it('contains unsubscribe links, fields and properties of the contact, and name and address of the team', async () => {
    await nameTeam();
    await at.must('PATCH', `/contacts/${has.contact}`, { first_name: 'Ben & Co', properties: { plan: 'pro' } });
    const { id } = await publish({
      subject: 'Hi {{{FIRST_NAME|friend}}}',
      html: '<p>Hi {{{FIRST_NAME|friend}}}, {{{plan}}}, {{{LAST_NAME|you}}} <a href="{{{UNSUBSCRIBE_URL}}}">leave</a> <a href="{{{PREFERENCES_URL}}}">choose</a> <a href="https://a.example/?n={{{FIRST_NAME}}}">page</a></p><p>{{{SENDER_NAME}}}, {{{POSTAL_ADDRESS}}}</p>',
      variables: [{ key: 'plan', type: 'string' }],
    });
    await at.automate(sends(id));
    const mail = await arrivedOnce();
    const unsubscribe = /<a href="([^"]+\/unsubscribe\/[^"]+)">leave/.exec(mail.html ?? '')?.[1];
    expect(mail.raw.replaceAll(/\r\n[ \t]+/g, ' ')).toContain(`List-Unsubscribe: <${unsubscribe}>`);
    expect(mail.html).toMatch(/<a href="http[^"]+\/preferences\/[^"]+">choose/);
    expect(mail.html).toContain('Hi Ben &amp; Co, pro, you ');
    expect(mail.html).toContain('<a href="https://a.example/?n=Ben%20%26%20Co">page');
    expect(mail.html).toContain('<p>Example Ltd, 1 Mail Street, 10115 Berlin BE, Germany</p>');
    expect(mail.html, 'it has a link of its own').not.toContain('>Unsubscribe</a>');
    expect(mail.subject).toBe('Hi Ben & Co');
    expect(mail.text).toContain(`leave (${unsubscribe})`);
    expect(await counted()).toEqual({ transactional: 0, marketing: 1 });
    const answer = await fetch(unsubscribe ?? '', { method: 'POST', body: 'List-Unsubscribe=One-Click' });
    expect(answer.status).toBe(200);
    expect(await at.get(`/contacts/${has.contact}`)).toMatchObject({ unsubscribed: true });
  });

  it('with a topic has the broadcast footer in its HTML and its text', async () => {
    await nameTeam();
    await at.must('PATCH', `/contacts/${has.contact}/topics`, { topics: [{ id: has.topic, subscription: 'opt_in' }] });
    const { id } = await publish({ html: '<!doctype html><body><p>News</p></body>', text: 'News' });
    await at.automate(sends(id, { topic_id: has.topic }));
    const mail = await arrivedOnce();
    expect(mail.html).toMatch(
      /<p>News<\/p><div[^>]*><p[^>]*>Example Ltd<br>1 Mail Street<br>10115 Berlin BE<br>Germany<\/p>.*<a href="http[^"]+\/unsubscribe\/[^"]+"[^>]*>Unsubscribe<\/a><\/p><\/div><\/body>/,
    );
    expect(mail.text?.replaceAll('\r\n', '\n')).toMatch(
      /^News\n\n-- \nExample Ltd\n1 Mail Street\n10115 Berlin BE\nGermany\nUnsubscribe: http\S+\/unsubscribe\/\S+\n$/,
    );
    expect(await counted()).toEqual({ transactional: 0, marketing: 1 });
  });

  it('without a topic and an unsubscribe link is an ordinary email with a text part and no footer', async () => {
    await nameTeam();
    const { id, answer } = await publish({ html: '<!doctype html><p>Receipt for <b>tea</b></p>' });
    expect(answer).toEqual({ object: 'template', id });
    await at.automate(sends(id));
    const mail = await arrivedOnce();
    expect([mail.html?.trim(), mail.text?.trim()]).toEqual([
      '<!doctype html><p>Receipt for <b>tea</b></p>',
      'Receipt for tea',
    ]);
    expect(await counted()).toEqual({ transactional: 1, marketing: 0 });
  });

  it('in the stream marketing is marketing mail with the footer, although it has neither a topic nor a link', async () => {
    await nameTeam();
    const { id } = await publish({ html: '<!doctype html><body><p>Come back</p></body>' });
    await at.automate(sends(id, { stream: 'marketing' }));
    const mail = await arrivedOnce();
    expect(mail.html).toMatch(/<p>Come back<\/p><div.*>Unsubscribe<\/a>/s);
    expect(mail.raw).toContain('List-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n');
    expect(await counted()).toEqual({ transactional: 0, marketing: 1 });
  });

  it('in the stream transactional reaches an unsubscribed contact, without footer and unsubscribe headers', async () => {
    await nameTeam();
    const { id } = await publish({ html: '<p>Receipt</p> <a href="{{{PREFERENCES_URL}}}">settings</a>' });
    const { warnings } = await at.must('POST', '/automations', {
      name: 'Receipts',
      status: 'enabled',
      ...line(start, sends(id, { stream: 'transactional' })),
    });
    expect(warnings).toEqual([
      'The step m is transactional, but its template has an unsubscribe link, which does not apply to it.',
    ]);
    await at.must('PATCH', `/contacts/${has.contact}`, { unsubscribed: true });
    await setSending(scene.app.world, { isOn: false, reason: 'test' }, 'sending.marketing');
    const mail = await arrivedOnce();
    await setSending(scene.app.world, { isOn: true }, 'sending.marketing');
    expect(mail.html).not.toContain('Example Ltd');
    expect(mail.raw).not.toMatch(/^list-unsubscribe/im);
    expect(await counted()).toEqual({ transactional: 1, marketing: 0 });
  });

  it('in the stream transactional is still skipped for a suppressed address', async () => {
    const { id } = await publish({ html: '<p>Receipt</p>' });
    const automation = await at.automate(sends(id, { stream: 'transactional' }));
    await at.must('POST', '/suppressions', { email: 'ada@example.org' });
    await at.send();
    await scene.settled();
    expect(await at.run(automation)).toMatchObject({ by: { m: { output: { skipped: 'suppressed' } } } });
    expect(scene.sink.messages).toEqual([]);
  });

  it('is sent to a contact that unsubscribes while it waits in the queue only in the stream transactional', async () => {
    const late = (await at.must('POST', '/contacts', { email: 'tempfail@one.example' })).id as string;
    const { id } = await publish({ html: '<p>Receipt</p>' });
    await at.automate(sends(id), { ...sends(id, { stream: 'transactional' }), key: 'receipt' });
    await at.send({}, late);
    await scene.settled();
    await at.must('PATCH', `/contacts/${late}`, { unsubscribed: true });
    scene.clock.advance(HOUR);
    await scene.settled();
    const emails = (await at.get('/emails')).data as { id: string }[];
    const attempts = await Promise.all(
      emails.map(async (email) => ((await at.get(`/emails/${email.id}/attempts`)).data as object[]).length),
    );
    expect(attempts).toEqual([2, 1]);
  });

  it.each([
    [{ stream: 'bulk' }, 'must have a stream: marketing or transactional'],
    [{ stream: 'transactional', topic_id: 'topic' }, 'may not have topic_id in the stream transactional'],
  ])('is refused with %j', async (more, message) => {
    const { id } = await publish({ html: '<p>Receipt</p>' });
    const config = 'topic_id' in more ? { ...more, topic_id: has.topic } : more;
    const answer = await at.call('POST', '/automations', { name: 'A', ...line(start, sends(id, config)) });
    expect(answer).toMatchObject({ status: 422, body: { errors: [{ message: expect.stringContaining(message) }] } });
  });

  it('waits while marketing mail is switched off when it is marketing mail', async () => {
    await nameTeam();
    const { id } = await publish({ html: '<p>Come back</p> <a href="{{{UNSUBSCRIBE_URL}}}">leave</a>' });
    const marketing = await at.automate(sends(id));
    const { id: plain } = await publish({ subject: 'Receipt', html: '<p>Receipt</p>' });
    await at.automate(sends(plain));
    await setSending(scene.app.world, { isOn: false, reason: 'too many complaints' }, 'sending.marketing');
    const { raw } = await arrivedOnce();
    expect(raw).toContain('Subject: Receipt');
    expect(await at.run(marketing)).toMatchObject({
      status: 'running',
      by: {
        m: {
          status: 'waiting',
          output: { reason: 'Marketing mail is switched off on this installation (too many complaints).' },
        },
      },
    });
    await setSending(scene.app.world, { isOn: true }, 'sending.marketing');
    scene.clock.advance(5 * MINUTE);
    await scene.settled();
    expect(scene.sink.messages).toHaveLength(2);
    expect(await at.run(marketing)).toMatchObject({ status: 'completed' });
  });

  it('a marketing step waits while the team has no postal address, and then contains the address', async () => {
    const { id } = await publish({ html: '<p>Come back</p> <a href="{{{UNSUBSCRIBE_URL}}}">leave</a>' });
    const marketing = await at.automate(sends(id));
    const { id: plain } = await publish({ subject: 'Receipt', html: '<p>Receipt</p>' });
    await at.automate(sends(plain));
    const { raw } = await arrivedOnce();
    expect(raw).toContain('Subject: Receipt');
    const reason = 'The team has no postal address, which marketing mail must contain; set it with PATCH /team.';
    expect(await at.run(marketing)).toMatchObject({
      status: 'running',
      by: { m: { status: 'waiting', output: { reason } } },
    });
    const { steps } = await at.must('POST', `/automations/${marketing}/dry-run`, { contact_id: has.contact });
    expect(steps).toMatchObject([{ key: 'start' }, { outcome: 'sends', stream: 'marketing', reason }]);
    await nameTeam();
    scene.clock.advance(5 * MINUTE);
    await scene.settled();
    expect(scene.sink.messages).toHaveLength(2);
    const mail = await PostalMime.parse(String(scene.sink.messages[1]?.data));
    expect(mail.html).toMatch(/leave<\/a><div[^>]*><p[^>]*>Example Ltd<br>1 Mail Street<br>.*<\/p><\/div>/);
    expect(mail.html?.match(/\/unsubscribe\//g)).toHaveLength(1);
    expect(mail.text?.match(/1 Mail Street/g)).toHaveLength(1);
    expect(await at.run(marketing)).toMatchObject({ status: 'completed' });
  });

  it('uses the values of the step rather than those of the contact', async () => {
    await at.must('PATCH', `/contacts/${has.contact}`, { properties: { plan: 'pro', seats: 3 } });
    const { id } = await publish({
      html: '<p>{{{plan}}} {{{SEATS}}}</p>',
      variables: [
        { key: 'plan', type: 'string', fallback_value: 'none' },
        { key: 'SEATS', type: 'number' },
      ],
    });
    await at.automate(step('m', 'send_email', { template: { id, variables: { plan: { var: 'event.product' } } } }));
    expect((await arrivedOnce()).html?.trim()).toBe('<p>Tea 3</p>');
  });
});

describe('a warning', () => {
  it('is returned at the publishing of a template for each variable that POST /emails cannot fill', async () => {
    const { answer } = await publish({
      html: '<p>{{{FIRST_NAME}}} {{{LAST_NAME|you}}} {{{PRODUCT}}}</p><a href="{{{UNSUBSCRIBE_URL}}}">leave</a>',
      subject: '{{{EMAIL}}}',
      variables: [{ key: 'PRODUCT', type: 'string' }],
    });
    expect(answer.warnings).toEqual([
      expect.stringMatching(
        /^html uses \{\{\{FIRST_NAME\}\}\}, \{\{\{UNSUBSCRIBE_URL\}\}\}, which only broadcasts and/,
      ),
      expect.stringMatching(/^subject uses \{\{\{EMAIL\}\}\}, which only broadcasts and automations fill;/),
    ]);
  });

  it('is returned for an automation with marketing mail and no postal address', async () => {
    const { id } = await publish({ html: '<a href="{{{UNSUBSCRIBE_URL}}}">leave</a>' });
    const graph = { steps: [start, sends(id)], connections: [{ from: 'start', to: 'm' }] };
    const made = await at.must('POST', '/automations', { name: 'A', ...graph });
    const none =
      'The step m sends marketing mail, and waits with it until the team has a postal address; set it with PATCH /team.';
    expect(made).toEqual({ object: 'automation', id: made.id, warnings: [none] });
    await nameTeam();
    const enabled = await at.must('PATCH', `/automations/${made.id}`, { status: 'enabled' });
    expect(enabled).toEqual({ object: 'automation', id: made.id });
  });
});
