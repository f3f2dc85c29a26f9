import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findBroadcast } from '../../../src/features/campaigns/broadcasts/broadcasts.store.ts';
import { holdBroadcast, claimDueBroadcasts } from '../../../src/features/campaigns/broadcasts/leases.store.ts';
import { setSending } from '../../../src/tenancy/instance/index.ts';
import { findSharedBody } from '../../../src/mail/shared-bodies/index.ts';
import { administerTeam } from '../../../src/tenancy/teams/index.ts';
import type { ApiAnswer } from '../../rig/api.ts';
import { startScene, type Scene } from '../../rig/scene.ts';
import { ADDRESS, openDesk, said, type Desk } from './drafting.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({ roles: ['http'], config: { plans: { standard: { marketing_emails: 3 } } } });
});
afterAll(() => scene.close());

const send = (desk: Desk, id: string, body?: object) => desk.call('POST', `/broadcasts/${id}/send`, body);
const loadBody = async (desk: Desk, id: string) => {
  const { db } = scene.app.world;
  const row = await findBroadcast(db, desk.team.id, id);
  const body = row?.body_id ? await findSharedBody(db, row.body_id) : undefined;
  return body ?? { html: null, text: null };
};

describe('POST /broadcasts/{id}/send', () => {
  it('queues or schedules a draft', async () => {
    const desk = await openDesk(scene);
    const now = await desk.make();
    const sent = await send(desk, now);
    expect([sent.status, sent.body]).toEqual([200, { id: now }]);
    const queued = await desk.get(now);
    expect([queued.status, 'scheduled_at' in queued, 'sent_at' in queued]).toEqual(['queued', false, false]);
    const later = await desk.make();
    await send(desk, later, { scheduled_at: 'in 2 hours' });
    const at = new Date(scene.clock.now() + 7_200_000).toISOString();
    expect(await desk.get(later)).toMatchObject({ status: 'scheduled', scheduled_at: at });
    const made = await desk.call('POST', '/broadcasts', { ...desk.draft, send: true, scheduled_at: at });
    expect([made.status, made.body]).toEqual([201, { object: 'broadcast', id: made.body.id }]);
    expect(await desk.get(made.body.id)).toMatchObject({ status: 'scheduled', scheduled_at: at });
    expect((await desk.get(await desk.make({ send: true }))).status).toBe('queued');
  });

  it('queues a draft at once if scheduled_at is empty, as the Go client sends it', async () => {
    const desk = await openDesk(scene);
    const id = await desk.make();
    expect((await send(desk, id, { scheduled_at: '' })).status).toBe(200);
    expect((await desk.get(id)).status).toBe('queued');
  });

  it.each([
    'in 59 seconds',
    'in 30 seconds',
    'in 31 days',
    'yesterday',
    'in',
    'soon',
    '2026-01-01T00:00:00Z',
    '2027-01-01',
  ])('refuses the time %j, at creation and at send', async (scheduled_at) => {
    const desk = await openDesk(scene);
    const id = await desk.make();
    expect(said(await send(desk, id, { scheduled_at }))).toEqual([400, 'validation_error']);
    const made = await desk.call('POST', '/broadcasts', { ...desk.draft, send: true, scheduled_at });
    expect(said(made)).toEqual([400, 'validation_error']);
    expect((await desk.get(id)).status).toBe('draft');
  });

  it('explains which times are accepted when it refuses one', async () => {
    const desk = await openDesk(scene);
    const id = await desk.make();
    const why = async (scheduled_at: string) => (await send(desk, id, { scheduled_at })).body.message;
    expect(await why('soon')).toMatch(/^scheduled_at must be an ISO 8601 time with an offset.* or a phrase/);
    expect(await why('in 59 seconds')).toMatch(/^scheduled_at must be between 1 minute and 30 days from now/);
    expect(await why('in 90 seconds')).toBeUndefined();
  });

  it('succeeds once when several calls arrive at once', async () => {
    const desk = await openDesk(scene);
    const id = await desk.make();
    const answers = await Promise.all([send(desk, id), send(desk, id), send(desk, id)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 403, 403]);
    const count = await scene.app.world.db.get('select count(*) as n from shared_bodies where team_id = ?', [
      desk.team.id,
    ]);
    expect(Number(count?.['n'])).toBe(1);
  });
});

describe('the requirements for sending a broadcast', () => {
  const GATE = ['domain', 'postal_address', 'segment', 'marketing', 'team', 'body', 'quota'];

  it('are checked in their documented order, each with its status, and nothing is created if one is not met', async () => {
    const { world } = scene.app;
    const team = await scene.team();
    const call = (method: string, path: string, body?: unknown) =>
      scene.api(method, path, { key: team.key, ...(body === undefined ? {} : { body }) });
    const from = 'news@nowhere.example';
    const id = (await call('POST', '/broadcasts', { from, subject: 'S' })).body.id as string;
    await setSending(world, { isOn: false, reason: 'abuse' }, 'sending.marketing');
    const seen: [number, string, string][] = [];
    const open = async (): Promise<string[]> => {
      const { gate } = (await call('GET', `/broadcasts/${id}/checklist`)).body;
      expect(gate.map(({ name }: { name: string }) => name)).toEqual(GATE);
      return gate.filter(({ ok }: { ok: boolean }) => !ok).map(({ name }: { name: string }) => name);
    };
    const ask = async () => {
      const answer = await call('POST', `/broadcasts/${id}/send`);
      seen.push([answer.status, answer.body.name, (await open()).join(' ')]);
    };
    await ask();
    const domain = await team.domain();
    await call('PATCH', `/broadcasts/${id}`, { from: `news@${domain.name}` });
    await ask();
    await call('PATCH', '/team', { sender_name: 'E', postal_address: ADDRESS });
    await ask();
    const segment = (
      await call('POST', '/segments', { name: 'All', filter: { field: 'email', op: 'contains', value: '@' } })
    ).body.id;
    for (const name of ['a', 'b', 'c', 'd']) await call('POST', '/contacts', { email: `${name}@example.org` });
    await call('PATCH', `/broadcasts/${id}`, { segment_id: segment });
    await ask();
    await setSending(world, { isOn: true }, 'sending.marketing');
    await ask();
    await call('PATCH', `/broadcasts/${id}`, { html: '<a href="#">x</a>' });
    await ask();
    await call('PATCH', '/contacts/a@example.org', { unsubscribed: true });
    await ask();
    expect(seen).toEqual([
      [422, 'validation_error', 'domain postal_address segment marketing body'],
      [422, 'validation_error', 'postal_address segment marketing body'],
      [422, 'validation_error', 'segment marketing body'],
      [403, 'validation_error', 'marketing body quota'],
      [422, 'validation_error', 'body quota'],
      [429, 'marketing_quota_exceeded', 'quota'],
      [422, 'validation_error', ''],
    ]);
    expect((await call('POST', `/broadcasts/${id}/send`, { acknowledge_checks: true })).status).toBe(200);
    expect((await call('GET', '/broadcasts')).body.data).toHaveLength(1);
  });

  it('also apply to a broadcast that is created with send, which is then not created', async () => {
    const desk = await openDesk(scene);
    for (const change of [{ from: 'a@nowhere.example' }, { segment_id: null }, { html: null }, { subject: ' ' }]) {
      const made = await desk.call('POST', '/broadcasts', { ...desk.draft, ...change, send: true });
      expect(said(made)).toEqual([422, 'validation_error']);
    }
    expect((await desk.call('GET', '/broadcasts')).body.data).toEqual([]);
    expect(
      (await desk.call('POST', '/broadcasts', { ...desk.draft, subject: ' ', send: true, acknowledge_checks: true }))
        .status,
    ).toBe(201);
  });

  it('exclude a deleted segment and a missing template', async () => {
    const desk = await openDesk(scene);
    await desk.call('POST', '/templates', { name: 'T', html: 'x', alias: 'gone' });
    await desk.call('POST', '/templates/gone/publish');
    const id = await desk.make({ html: null, template: { id: 'gone' } });
    await desk.call('DELETE', '/templates/gone');
    const refused = await send(desk, id);
    expect([...said(refused), refused.body.message]).toEqual([
      422,
      'validation_error',
      'There is no body; add html, text or a published template.',
    ]);
    await desk.call('PATCH', `/broadcasts/${id}`, { html: 'x' });
    await desk.call('DELETE', `/segments/${desk.segment}`);
    expect((await send(desk, id)).body.message).toMatch(/^segment_id does not match a segment/);
  });

  it('exclude a deleted topic, which would reach nobody', async () => {
    const desk = await openDesk(scene);
    const topic = (await desk.call('POST', '/topics', { name: 'Gone', default_subscription: 'opt_in' })).body.id;
    const id = await desk.make({ topic_id: topic });
    await desk.call('DELETE', `/topics/${topic}`);
    const refused = await send(desk, id);
    expect(said(refused)).toEqual([422, 'validation_error']);
    expect(refused.body.message).toMatch(/^topic_id does not match a topic/);
    const { gate } = (await desk.call('GET', `/broadcasts/${id}/checklist`)).body;
    expect(gate.filter(({ ok }: { ok: boolean }) => !ok)).toMatchObject([{ name: 'segment' }]);
    await desk.call('PATCH', `/broadcasts/${id}`, { topic_id: null });
    expect((await send(desk, id)).status).toBe(200);
  });

  it('exclude a suspended team, and any team while sending is switched off', async () => {
    const desk = await openDesk(scene);
    const { world } = scene.app;
    const id = await desk.make();
    await setSending(world, { isOn: false });
    expect(said(await send(desk, id))).toEqual([403, 'validation_error']);
    await setSending(world, { isOn: true });
    await administerTeam(world, desk.team.id, { riskState: 'suspended' });
    expect((await send(desk, id)).status).toBe(403);
  });
});

describe('content checks of a broadcast', () => {
  it('report a failure in details.checks, which can be acknowledged', async () => {
    const desk = await openDesk(scene);
    const id = await desk.make({ html: '<a href="javascript:alert(1)">{{{NICK}}}</a>' });
    const refused = await send(desk, id);
    expect(said(refused)).toEqual([422, 'validation_error']);
    const failing = refused.body.details.checks;
    expect(failing.map(({ name }: { name: string }) => name)).toEqual(['variables', 'link_types']);
    expect(failing[1]).toMatchObject({ status: 'fail', details: ['javascript:alert(1)'] });
    const ran = await desk.call('POST', `/broadcasts/${id}/checks`);
    expect([ran.status, ran.body]).toEqual([200, (await desk.call('GET', `/broadcasts/${id}/checklist`)).body]);
    expect(ran.body.checks.filter(({ status }: { status: string }) => status === 'fail')).toEqual(failing);
    await desk.call('POST', '/contact-properties', { key: 'nick', type: 'string' });
    expect((await send(desk, id)).body.details.checks).toHaveLength(1);
    expect((await send(desk, id, { acknowledge_checks: false })).status).toBe(422);
    expect((await send(desk, id, { acknowledge_checks: true })).status).toBe(200);
  });

  it('refuse more variables than a body can hold, whether or not that is acknowledged', async () => {
    const desk = await openDesk(scene);
    const id = await desk.make({ html: '{{{EMAIL}}}'.repeat(10_001) });
    const { checks } = (await desk.call('GET', `/broadcasts/${id}/checklist`)).body;
    expect(checks[0]).toMatchObject({ name: 'variables', status: 'fail' });
    const refused = await send(desk, id, { acknowledge_checks: true });
    expect(said(refused)).toEqual([422, 'validation_error']);
    expect(refused.body.errors[0].path).toBe('html');
    await desk.call('PATCH', `/broadcasts/${id}`, { html: '{{{EMAIL}}}'.repeat(9_999) });
    expect((await send(desk, id, { acknowledge_checks: true })).status).toBe(200);
  });

  it('use the fallback of a template variable as a default', async () => {
    const desk = await openDesk(scene);
    const html = '<p>{{{OFFER}}} {{{CODE}}}</p>';
    const variables = [
      { key: 'OFFER', type: 'string', fallback_value: 'a <gift>' },
      { key: 'CODE', type: 'number' },
    ];
    await desk.call('POST', '/templates', { name: 'T', html, alias: 'offer', variables });
    await desk.call('POST', '/templates/offer/publish');
    const id = await desk.make({ html: null, template: { id: 'offer' } });
    const [check] = (await send(desk, id)).body.details.checks;
    expect(check).toMatchObject({ name: 'variables', details: ['{{{CODE}}}'] });
    await send(desk, id, { acknowledge_checks: true });
    expect((await loadBody(desk, id)).html).toContain('<p>{{{OFFER|a <gift>}}} {{{CODE}}}</p>');
  });
});

describe('the fixed content of a sent broadcast', () => {
  it('is the draft at that moment, even if it changed after its content was checked', async () => {
    const desk = await openDesk(scene);
    const id = await desk.make({ html: '<p>before</p>' });
    const { db } = scene.app.world;
    const { all, tx } = db;
    let isChecked = false;
    let changed: Promise<ApiAnswer> | undefined;
    // The draft changes between the check of the content and the transaction of the send.
    db.all = ((...args: Parameters<typeof all>) => {
      isChecked ||= args[0].includes('contact_properties');
      return all.apply(db, args);
    }) as typeof all;
    db.tx = (async (...args: Parameters<typeof tx>) => {
      if (isChecked && !changed) {
        changed = desk.call('PATCH', `/broadcasts/${id}`, { html: '<p>after</p>' });
        await changed;
      }
      return tx.apply(db, args);
    }) as typeof tx;
    try {
      expect((await send(desk, id)).status).toBe(200);
    } finally {
      Object.assign(db, { all, tx });
    }
    expect((await changed)?.status).toBe(200);
    const body = await db.get<{ html: string }>(
      'select s.html from broadcasts b join shared_bodies s on s.id = b.body_id where b.id = ?',
      [id],
    );
    expect(body?.html).toContain('<p>after</p>');
  });

  it('is not affected by a new version of the template or another postal address', async () => {
    const desk = await openDesk(scene);
    await desk.call('POST', '/templates', { name: 'T', html: '<body><p>First</p></body>', alias: 'v' });
    await desk.call('POST', '/templates/v/publish');
    const id = await desk.make({ html: null, template: { id: 'v' }, preview_text: 'A & {{{first_name|b}}}' });
    await send(desk, id, { scheduled_at: 'in 2 hours' });
    await desk.call('PATCH', '/templates/v', { html: 'Second' });
    await desk.call('POST', '/templates/v/publish');
    await desk.call('PATCH', '/team', { postal_address: { ...ADDRESS, city: 'Bonn' } });
    const { html, text } = await loadBody(desk, id);
    expect(html).toMatch(
      /^<body><div style="display:none[^"]*">A &amp; {{{FIRST_NAME\|b}}}(?:&#847;&zwnj;&nbsp;)+<\/div><p>First<\/p><div [^]*Musterstraße 1<br>10115 Berlin<br>Germany[^]*href="{{{UNSUBSCRIBE_URL}}}"[^]*<\/div><\/body>$/,
    );
    expect(text).toBe(
      'First\n\n-- \nExample GmbH\nMusterstraße 1\n10115 Berlin\nGermany\nUnsubscribe: {{{UNSUBSCRIBE_URL}}}',
    );
    const row = await findBroadcast(scene.app.world.db, desk.team.id, id);
    expect(row).toMatchObject({ domain_id: desk.domain.id, template_version_id: expect.any(String) });
  });

  it('a broadcast gets the name and address of the team, but no second unsubscribe link, in HTML that has its own, in any letter case', async () => {
    const desk = await openDesk(scene);
    const html = '<a href="{{{ preferences_url }}}">Leave</a>';
    const id = await desk.make({ html, text: 'Hi' });
    await send(desk, id);
    const body = await loadBody(desk, id);
    expect(body.html).toMatch(
      /^<a href="{{{PREFERENCES_URL}}}">Leave<\/a><div [^>]*><p [^>]*>Example GmbH<br>Musterstraße 1<br>10115 Berlin<br>Germany<\/p><\/div>$/,
    );
    expect(body.text).toMatch(/^Hi\n\n-- \nExample GmbH/);
  });

  it.each([
    ['nothing of it', '<p>Bye</p>', 'warn'],
    ['its street alone', '<p>Musterstraße 1</p>', 'warn'],
    ['the address in words', '<p>Musterstraße&nbsp;1<br>10115 <b>Berlin</b></p>', 'pass'],
    ['the variable', '<p>{{{POSTAL_ADDRESS}}}</p>', 'pass'],
    ['the variable in a comment', '<!-- {{{POSTAL_ADDRESS}}} -->', 'warn'],
  ])('includes a check of a body with an unsubscribe link for the postal address: %s', async (_, more, status) => {
    const desk = await openDesk(scene);
    const id = await desk.make({ html: `<a href="{{{UNSUBSCRIBE_URL}}}">leave</a>${more}` });
    const { checks } = (await desk.call('GET', `/broadcasts/${id}/checklist`)).body;
    const unsubscribe = checks.find(({ name }: { name: string }) => name === 'unsubscribe');
    expect(unsubscribe.status).toBe(status);
    if (status === 'warn') expect(unsubscribe.message).toContain('{{{POSTAL_ADDRESS}}}');
    expect((await send(desk, id)).status, 'a warning stops nothing').toBe(200);
    const { html, text } = await loadBody(desk, id);
    const isAdded = status === 'warn';
    expect(/<br>Musterstraße 1<br>10115 Berlin<br>Germany<\/p><\/div>$/.test(html ?? '')).toBe(isAdded);
    expect(/\n\n-- \nExample GmbH\nMusterstraße 1\n10115 Berlin\nGermany$/.test(text ?? '')).toBe(isAdded);
  });

  it('includes the name and address of the team in subject, HTML and text, unless a property has that name', async () => {
    const desk = await openDesk(scene);
    const html =
      '<p title="{{{SENDER_NAME}}}">{{{sender_name}}}, {{{POSTAL_ADDRESS}}}</p><a href="{{{UNSUBSCRIBE_URL}}}">x</a>';
    const text = '{{{SENDER_NAME|x}}}: {{{POSTAL_ADDRESS}}} {{{UNSUBSCRIBE_URL}}}';
    await desk.call('PATCH', '/team', { sender_name: 'Kekse & Söhne' });
    const id = await desk.make({ html, text, subject: 'From {{{SENDER_NAME}}}' });
    const shown = (await desk.call('POST', `/broadcasts/${id}/preview`, {})).body;
    expect(shown.subject).toBe('From Kekse & Söhne');
    const address = 'Musterstraße 1, 10115 Berlin, Germany';
    expect(shown.html).toContain(`<p title="Kekse &amp; Söhne">Kekse &amp; Söhne, ${address}</p>`);
    expect(shown.text).toContain(`Kekse & Söhne: ${address} http`);
    expect(shown.missing).toEqual([]);
    expect((await send(desk, id)).status).toBe(200);
    await desk.call('PATCH', '/team', { postal_address: { ...ADDRESS, line1: 'Elsewhere 2' } });
    expect((await loadBody(desk, id)).html).toContain('Musterstraße 1, 10115 Berlin, Germany');
    await desk.call('POST', '/contact-properties', { key: 'Postal_Address', type: 'string', fallback_value: 'theirs' });
    const own = await desk.make({ html, text });
    expect((await desk.call('POST', `/broadcasts/${own}/preview`, {})).body.html).toContain('Söhne, theirs</p>');
  });

  it('has values inside link URLs percent-encoded, and values that are whole URLs unchanged', async () => {
    const desk = await openDesk(scene);
    await desk.call('POST', '/contact-properties', { key: 'link', type: 'string' });
    await desk.call('POST', '/contact-properties', { key: 'city', type: 'string' });
    await desk.call('POST', '/contacts', {
      email: 'a+b&c@example.com',
      properties: { link: 'https://a.example/?x=1&y=2', city: '50% off?&x=1' },
    });
    const html =
      '<a href="https://a.example/?e={{{EMAIL}}}">1</a><a href="{{{link}}}">2</a><img src="https://a.example/{{{city}}}.png" alt="">';
    const id = await desk.make({ html });
    const shown = (await desk.call('POST', `/broadcasts/${id}/preview`, { email: 'a+b&c@example.com' })).body;
    expect(shown.html).toContain('<a href="https://a.example/?e=a%2Bb%26c%40example.com">1</a>');
    expect(shown.html).toContain('<a href="https://a.example/?x=1&amp;y=2">2</a>');
    expect(shown.html).toContain('<img src="https://a.example/50%25%20off%3F&amp;x=1.png" alt="">');
  });

  it('has values percent-encoded in the links of a text that is made from the HTML', async () => {
    const desk = await openDesk(scene);
    const html =
      '<a href="https://a.example/{{{FIRST_NAME}}}?e={{{EMAIL}}}">page</a> <a href="{{{UNSUBSCRIBE_URL}}}">x</a>';
    const id = await desk.make({ html });
    await desk.call('POST', '/contacts', { email: 'a+b&c@example.com', first_name: 'é/f' });
    const shown = (await desk.call('POST', `/broadcasts/${id}/preview`, { email: 'a+b&c@example.com' })).body;
    expect(shown.html).toContain('<a href="https://a.example/%C3%A9/f?e=a%2Bb%26c%40example.com">');
    expect(shown.text).toContain('page (https://a.example/%C3%A9/f?e=a%2Bb%26c%40example.com)');
    expect(shown.text).toMatch(/x \(http\S+\/unsubscribe\/test\)/);
  });

  it('has values percent-encoded where the text names the filter urlencode', async () => {
    const desk = await openDesk(scene);
    const text = 'https://a.example/?e={{{EMAIL|urlencode}}} for {{{EMAIL}}}';
    const id = await desk.make({ html: '<p>{{{EMAIL|urlencode}}}</p>', text, subject: 'For {{{EMAIL|urlencode}}}' });
    await desk.call('POST', '/contacts', { email: 'a+b&c@example.com' });
    const shown = (await desk.call('POST', `/broadcasts/${id}/preview`, { email: 'a+b&c@example.com' })).body;
    expect(shown.subject).toBe('For a%2Bb%26c%40example.com');
    expect(shown.html).toContain('<p>a%2Bb%26c%40example.com</p>');
    expect(shown.text).toContain('https://a.example/?e=a%2Bb%26c%40example.com for a+b&c@example.com');
    expect(shown.missing).toEqual([]);
    const { checks } = (await desk.call('GET', `/broadcasts/${id}/checklist`)).body;
    expect(checks.find(({ name }: { name: string }) => name === 'links').status).toBe('pass');
  });

  it('has a footer that does not repeat a postal address which the body shows by its variable', async () => {
    const desk = await openDesk(scene);
    const id = await desk.make({ html: '<p>{{{postal_address}}}</p>', text: 'News' });
    await send(desk, id);
    const { html, text } = await loadBody(desk, id);
    expect(html?.match(/Musterstraße 1/g)).toHaveLength(1);
    expect(html).toMatch(/<p style="margin:0">Example GmbH<\/p>.*UNSUBSCRIBE_URL/);
    expect(text, 'the text does not show it').toContain('Example GmbH\nMusterstraße 1\n10115 Berlin\nGermany\n');
  });

  it('has no text part if the text is empty, and none is made from the HTML', async () => {
    const desk = await openDesk(scene);
    const id = await desk.make({ html: '<p>Hello</p>', text: '' });
    expect((await send(desk, id)).status).toBe(200);
    expect(await loadBody(desk, id)).toMatchObject({ text: '' });
  });

  it.each([
    ['in a comment', '<!-- {{{UNSUBSCRIBE_URL}}} --><p>Hi</p>'],
    ['in a script', '<p>Hi</p><script>leave("{{{UNSUBSCRIBE_URL}}}")</script>'],
    ['in an event handler', `<p onclick="location='{{{UNSUBSCRIBE_URL}}}'">Hi</p>`],
    ['in a style', '<p style="background: url({{{UNSUBSCRIBE_URL}}})">Hi</p>'],
  ])('gets a footer if the unsubscribe link is invisible %s', async (_, html) => {
    const desk = await openDesk(scene);
    const id = await desk.make({ html });
    const { checks } = (await desk.call('GET', `/broadcasts/${id}/checklist`)).body;
    expect(checks.find(({ name }: { name: string }) => name === 'unsubscribe').status).toBe('warn');
    expect((await send(desk, id, { acknowledge_checks: true })).status).toBe(200);
    expect((await loadBody(desk, id)).html).toMatch(/<a href="\{\{\{UNSUBSCRIBE_URL\}\}\}"[^>]*>Unsubscribe<\/a>/);
  });

  it('gets a visible footer despite unclosed elements, and a postal address is not read as a variable', async () => {
    const desk = await openDesk(scene);
    await desk.call('PATCH', '/team', { postal_address: { ...ADDRESS, line1: '{{{EMAIL}}} <b>' } });
    const id = await desk.make({ html: '<p>Hi</p><!-- never closed' });
    await send(desk, id);
    const { html } = await loadBody(desk, id);
    expect(html).toMatch(/^<p>Hi<\/p><div [^]*\(\(\(EMAIL\)\)\) &lt;b&gt;[^]*UNSUBSCRIBE_URL[^]*<!-- never closed$/);
  });
});

describe('cancel and resume of a broadcast', () => {
  it.each(['scheduled', 'queued', 'sending'] as const)('a broadcast that is %s can be canceled', async (status) => {
    const desk = await openDesk(scene);
    const id = await desk.make();
    await send(desk, id, status === 'scheduled' ? { scheduled_at: 'in 2 hours' } : undefined);
    if (status === 'sending') {
      await scene.app.world.db.run("update broadcasts set status = 'sending' where id = ?", [id]);
    }
    const canceled = await desk.call('POST', `/broadcasts/${id}/cancel`);
    expect([canceled.status, canceled.body]).toEqual([200, { object: 'broadcast', id }]);
    expect((await desk.get(id)).status).toBe('canceled');
    expect(said(await desk.call('POST', `/broadcasts/${id}/cancel`))).toEqual([403, 'validation_error']);
    expect(said(await send(desk, id))).toEqual([403, 'validation_error']);
  });

  it.each(['draft', 'sent', 'failed'] as const)('a broadcast that is %s cannot be canceled', async (status) => {
    const desk = await openDesk(scene);
    const id = await desk.make();
    await scene.app.world.db.run('update broadcasts set status = ? where id = ?', [status, id]);
    expect(said(await desk.call('POST', `/broadcasts/${id}/cancel`))).toEqual([403, 'validation_error']);
    expect((await desk.get(id)).status).toBe(status);
  });

  it('concurrent send and cancel calls leave the broadcast in one consistent state', async () => {
    const desk = await openDesk(scene);
    const id = await desk.make();
    const cancel = () => desk.call('POST', `/broadcasts/${id}/cancel`);
    const [sent, ...canceled] = await Promise.all([send(desk, id), cancel(), cancel()]);
    expect(sent?.status).toBe(200);
    const wins = canceled.filter(({ status }) => status === 200).length;
    expect([wins <= 1, (await desk.get(id)).status]).toEqual([true, wins === 1 ? 'canceled' : 'queued']);
  });

  it('a held broadcast has a reason, and continues once it is resumed', async () => {
    const desk = await openDesk(scene);
    const id = await desk.make();
    await send(desk, id);
    const { db } = scene.app.world;
    const lease = { owner: 'a', now: scene.clock.now(), until: scene.clock.now() + 60_000, limit: 100 };
    await db.tx((tx) => claimDueBroadcasts(tx, lease));
    await db.tx((tx) => holdBroadcast(tx, { id, owner: 'a', reason: 'quota', at: scene.clock.now() }));
    const held = { reason: 'quota', since: new Date(scene.clock.now()).toISOString() };
    expect(await desk.get(id)).toMatchObject({ status: 'queued', held });
    expect((await desk.call('GET', '/broadcasts')).body.data[0]).toMatchObject({ id, held });
    const resumed = await desk.call('POST', `/broadcasts/${id}/resume`);
    expect([resumed.status, resumed.body]).toEqual([200, { object: 'broadcast', id, held: null }]);
    expect((await desk.get(id)).held).toBe(null);
    expect(said(await desk.call('POST', `/broadcasts/${id}/resume`))).toEqual([403, 'validation_error']);
  });
});
