import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { setSending } from '../../../src/tenancy/instance/index.ts';
import { startScene, type Scene } from '../../rig/scene.ts';
import { openDesk, said, type Desk } from './drafting.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await startScene();
});
afterAll(() => scene.close());

const preview = (desk: Desk, id: string, body?: object) => desk.call('POST', `/broadcasts/${id}/preview`, body);
const test = (desk: Desk, id: string, body: object) => desk.call('POST', `/broadcasts/${id}/test`, body);
/** The only email of the team. */
const onlyEmail = async (desk: Desk) => {
  const { data } = (await desk.call('GET', '/emails')).body;
  expect(data).toHaveLength(1);
  return (await desk.call('GET', `/emails/${data[0].id}`)).body;
};
/** Replaces one reader's links with samples. */
const withSamples = (text: string): string =>
  text.replaceAll(/\/(unsubscribe|preferences)\/[A-Za-z0-9_-]{60,}/g, (_, page: string) => `/${page}/test`);

const HTML =
  '<html><body><p>Hello {{{first_name|friend}}}, your {{{plan}}} in {{{City}}}, {{{NOTHING}}}</p><a href="{{{PREFERENCES_URL}}}">x</a></body></html>';

async function openReaders() {
  const desk = await openDesk(scene);
  await desk.call('POST', '/contact-properties', { key: 'plan', type: 'string', fallback_value: 'free <plan>' });
  await desk.call('POST', '/contact-properties', { key: 'city', type: 'string' });
  const contact = {
    email: `Ada@${desk.domain.name}`,
    first_name: 'Ada <b>',
    last_name: 'Lovelace',
    properties: { city: 'London & Paris' },
    segments: [{ id: desk.segment }],
  };
  const { id } = (await desk.call('POST', '/contacts', contact)).body;
  return { desk, contact: { ...contact, id: id as string } };
}

describe('POST /broadcasts/{id}/preview', () => {
  it.each([
    {
      what: 'HTML with its own way out',
      content: { html: HTML, preview_text: 'For {{{FIRST_NAME}}} & {{{city|all}}}' },
    },
    { what: 'HTML without one', content: { html: '<p>{{{EMAIL}}} {{{plan}}}</p>' } },
    { what: 'text alone', content: { html: null, text: 'Hello {{{LAST_NAME}}} <{{{plan}}}>' } },
  ])('renders $what as the send does', async ({ content }) => {
    const { desk, contact } = await openReaders();
    const id = await desk.make({ ...content, subject: 'For {{{FIRST_NAME}}} of {{{city}}} {{{plan}}}' });
    const shown = await preview(desk, id, { contact_id: contact.id });
    expect(shown.status).toBe(200);
    expect((await preview(desk, id, { email: contact.email.toLowerCase() })).body).toEqual(shown.body);
    await desk.call('POST', `/broadcasts/${id}/send`, { acknowledge_checks: true });
    await scene.settled();
    const sent = await onlyEmail(desk);
    expect({ subject: shown.body.subject, html: shown.body.html, text: shown.body.text }).toEqual({
      subject: 'For Ada <b> of London & Paris free <plan>',
      html: sent.html === null ? null : withSamples(sent.html),
      text: withSamples(sent.text),
    });
    expect(`${sent.html}${sent.text}`).not.toContain('/test');
    // A sent broadcast is shown as it was fixed.
    await desk.call('PATCH', '/team', { sender_name: 'Another GmbH' });
    expect((await preview(desk, id, { contact_id: contact.id })).body).toEqual(shown.body);
  });

  it('uses a sample reader by default and lists the variables that stay empty', async () => {
    const { desk } = await openReaders();
    const id = await desk.make({ html: HTML, preview_text: ' {{{UNKNOWN}}}' });
    const { body } = await preview(desk, id);
    expect(body).toMatchObject({
      object: 'broadcast_preview',
      from: desk.draft.from,
      to: 'reader@example.com',
      subject: 'What is new',
      preview_text: null,
      missing: ['UNKNOWN', 'City', 'NOTHING'],
    });
    expect(body.html).toContain('<p>Hello Alex, your free &lt;plan&gt; in , </p>');
    expect(body.text).toContain('Hello Alex, your free <plan> in ,');
    expect((await preview(desk, id, {})).body).toEqual(body);
  });

  it('uses sample links instead of links of a reader, and these unsubscribe nobody', async () => {
    const { desk, contact } = await openReaders();
    const id = await desk.make({ html: '<p>{{{PREFERENCES_URL}}} {{{UNSUBSCRIBE_URL}}}</p>' });
    const { html } = (await preview(desk, id, { contact_id: contact.id })).body;
    const links = html.match(/https?:\/\/[^\s<]+/g);
    expect(links).toEqual([`${scene.url}/preferences/test`, `${scene.url}/unsubscribe/test`]);
    for (const link of links) {
      for (const init of [
        {},
        { method: 'POST', body: 'List-Unsubscribe=One-Click' },
        { method: 'POST', body: 'do=save' },
      ]) {
        const page = await fetch(link, init);
        expect([page.status, await page.text()]).toEqual([200, expect.stringMatching(/This link is a sample/)]);
      }
    }
    expect((await fetch(`${scene.url}/confirm/test`)).status).toBe(404);
    expect((await desk.call('GET', `/contacts/${contact.id}`)).body.unsubscribed).toBe(false);
  });

  it('renders a template in the version that a send would use or has used', async () => {
    const { desk, contact } = await openReaders();
    const variables = [{ key: 'MOOD', type: 'string', fallback_value: 'fine' }];
    await desk.call('POST', '/templates', {
      name: 'T',
      alias: `t-${desk.segment}`,
      html: '<p>{{{MOOD}}}</p>',
      variables,
    });
    await desk.call('POST', `/templates/t-${desk.segment}/publish`);
    const content = { html: null, template: { id: `t-${desk.segment}` }, preview_text: 'So {{{MOOD}}}' };
    const draft = await desk.make(content);
    const fixed = await desk.make(content);
    await desk.call('POST', `/broadcasts/${fixed}/send`, { scheduled_at: 'in 2 hours' });
    await desk.call('PATCH', `/templates/t-${desk.segment}`, {
      html: '<p>Now {{{MOOD}}}</p>',
      variables: [{ key: 'MOOD', type: 'string', fallback_value: 'grand' }],
    });
    await desk.call('POST', `/templates/t-${desk.segment}/publish`);
    const look = async (id: string) => {
      const { html, preview_text: says, missing } = (await preview(desk, id, { contact_id: contact.id })).body;
      return [/<p>([^<]*)<\/p>/.exec(html)?.[1], says, missing];
    };
    expect(await look(draft)).toEqual(['Now grand', 'So grand', []]);
    expect(await look(fixed)).toEqual(['fine', 'So fine', []]);
  });

  it('renders as much of a draft without body or domain as possible', async () => {
    const desk = await openDesk(scene);
    const id = await desk.make({ html: null, from: 'a@nowhere.example' });
    expect((await preview(desk, id)).body).toMatchObject({
      subject: 'What is new',
      html: null,
      text: null,
      missing: [],
    });
  });

  it('refuses an unknown contact, two names for one contact, and input that would fill the memory', async () => {
    const { desk, contact } = await openReaders();
    const stranger = await openReaders();
    const id = await desk.make();
    const of = async (body: object) => said(await preview(desk, id, body));
    expect(await of({ contact_id: stranger.contact.id })).toEqual([404, 'not_found']);
    expect(await of({ email: stranger.contact.email })).toEqual([404, 'not_found']);
    expect(await of({ email: 'nobody' })).toEqual([422, 'invalid_parameter']);
    expect(await of({ contact_id: contact.id, email: contact.email })).toEqual([400, 'validation_error']);
    expect(said(await preview(stranger.desk, id))).toEqual([404, 'not_found']);
    await desk.call('PATCH', `/contacts/${contact.id}`, { properties: { city: 'x'.repeat(500) } });
    const long = await desk.make({ html: '{{{city}}}'.repeat(100_000) });
    const refused = await preview(desk, long, { contact_id: contact.id });
    expect([...said(refused), refused.body.message]).toEqual([
      422,
      'validation_error',
      expect.stringMatching(/limit of 2097152 characters/),
    ]);
  });
});

describe('POST /broadcasts/{id}/test', () => {
  it('mails a draft as it looks, without counting in its report or the quota', async () => {
    const { desk, contact } = await openReaders();
    const id = await desk.make({ html: HTML, subject: 'For {{{FIRST_NAME}}}', reply_to: 'answers@example.org' });
    const used = async () => {
      const { emails } = (await desk.call('GET', '/usage')).body;
      return [emails.monthly.used, emails.monthly.sent];
    };
    const [before] = await used();
    const to = ['Me <me@example.org>', 'you@example.net'];
    const sent = await test(desk, id, { to, contact_id: contact.id });
    expect([sent.status, sent.body]).toEqual([
      200,
      { object: 'broadcast_test', ids: [expect.any(String), expect.any(String)] },
    ]);
    await scene.settled();
    const shown = (await preview(desk, id, { contact_id: contact.id })).body;
    for (const [i, emailId] of sent.body.ids.entries()) {
      const { body } = await desk.call('GET', `/emails/${emailId}`);
      expect(body).toMatchObject({
        from: desk.draft.from,
        to: [to[i]],
        reply_to: ['answers@example.org'],
        last_event: 'delivered',
        subject: '[Test] For Ada <b>',
        html: shown.html,
        text: shown.text,
        tags: [{ name: 'broadcast_test', value: id }],
      });
    }
    const wire = scene.sink.messages.filter(({ rcptTo }) => rcptTo.includes('me@example.org'));
    expect(wire.map(({ data }) => /^list-unsubscribe/im.test(data.toString()))).toEqual([false]);
    expect(await used()).toEqual([before + 2, before + 2]);
    expect(await desk.get(id)).toMatchObject({ status: 'draft', recipients: 0, excluded: 0 });
    const { data } = (await desk.call('GET', `/broadcasts/${id}/recipients?type=sent`)).body;
    expect(data).toEqual([]);
  });

  it('mails the fixed content of a scheduled broadcast, and refuses a broadcast in a later state', async () => {
    const { desk } = await openReaders();
    const id = await desk.make();
    await desk.call('POST', `/broadcasts/${id}/send`, { scheduled_at: 'in 2 hours' });
    expect((await test(desk, id, { to: 'me@example.org' })).status).toBe(200);
    await desk.call('POST', `/broadcasts/${id}/cancel`);
    const refused = await test(desk, id, { to: 'me@example.org' });
    expect([...said(refused), refused.body.message]).toEqual([
      403,
      'validation_error',
      'This broadcast is canceled; only a draft or a scheduled broadcast can be tested.',
    ]);
    await scene.settled();
  });

  it('requires a verified domain and a body before anything is sent', async () => {
    const desk = await openDesk(scene);
    const of = async (change: object, body: object = { to: 'me@example.org' }) => {
      const refused = await test(desk, await desk.make(change), body);
      return [...said(refused), refused.body.message];
    };
    expect(await of({ from: 'a@nowhere.example', html: null })).toEqual([
      422,
      'validation_error',
      expect.stringMatching(/^from: the domain nowhere\.example is not verified/),
    ]);
    expect(await of({ html: null })).toEqual([422, 'validation_error', expect.stringMatching(/^There is no body/)]);
    expect(await of({}, { to: [] })).toEqual([400, 'validation_error', expect.stringMatching(/^to must be/)]);
    const many = Array.from({ length: 11 }, (_, n) => `a${n}@example.org`);
    expect(await of({}, { to: many })).toEqual([400, 'validation_error', expect.stringMatching(/1 to 10 addresses/)]);
    expect(await of({}, { to: ['a@example.org', 'b'] })).toEqual([
      400,
      'validation_error',
      expect.stringMatching(/^to\.1: /),
    ]);
    expect(await of({}, { to: 'a@example.org', contact_id: desk.segment })).toEqual([
      404,
      'not_found',
      'Contact not found.',
    ]);
    expect((await desk.call('GET', '/emails')).body.data).toEqual([]);
    // The broadcast goes to no list, so neither a segment nor a postal address is required.
    await desk.call('PATCH', '/team', { postal_address: null });
    expect((await test(desk, await desk.make({ segment_id: null }), { to: 'me@example.org' })).status).toBe(200);
    await setSending(scene.app.world, { isOn: false });
    expect((await test(desk, await desk.make(), { to: 'me@example.org' })).status).toBe(503);
    await setSending(scene.app.world, { isOn: true });
    await scene.settled();
  });
});
