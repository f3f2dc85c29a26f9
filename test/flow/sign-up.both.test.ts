import PostalMime from 'postal-mime';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { administerTeam } from '../../src/tenancy/teams/index.ts';
import { press, visit, type Visited } from '../rig/preference-pages.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { campaignIn, type Campaign } from './campaign.ts';
import { HOUR, MINUTE } from './mail.ts';
import { publishTracking } from './reader.ts';

const DAY = 24 * HOUR;

let scene: Scene;
let campaign: Campaign;
let topicId: string;
let form: string;
let people = 0;
beforeAll(async () => {
  scene = await startScene({
    config: { http: { trusted_proxies: ['127.0.0.1/32'] }, plans: { tiny: { name: 'Tiny', contact_limit: 1 } } },
  });
});
afterAll(() => scene.close());
beforeEach(async () => {
  // The limits of a client are those of an hour.
  scene.clock.advance(HOUR);
  campaign = await campaignIn(scene);
  const topic = { name: 'Weekly', default_subscription: 'opt_out', description: 'Every Friday' };
  topicId = await campaign.make('/topics', topic);
  form = await createForm();
  scene.sink.messages.length = 0;
});

const createForm = (more: object = {}) =>
  campaign.make('/forms', {
    name: 'Newsletter',
    topic_id: topicId,
    from: `News <news@${campaign.domain.name}>`,
    allowed_origins: ['https://www.example.com'],
    ...more,
  });

const newAddress = (): string => `person${++people}@one.example`;

const send = (
  email: string,
  {
    to = form,
    headers = {},
    ...fields
  }: { to?: string; headers?: Record<string, string> } & Record<string, unknown> = {},
): Promise<Visited> =>
  visit(scene, `/subscribe/${to}`, {
    body: new URLSearchParams({ email, ...(fields as Record<string, string>) }).toString(),
    headers,
  });

const mailsTo = async (email: string) => {
  await scene.settled();
  const mine = scene.sink.messages.filter(({ rcptTo }) => rcptTo[0]?.toLowerCase() === email);
  return Promise.all(mine.map(({ data }) => PostalMime.parse(data)));
};

const linkIn = (mail: { text?: string | undefined } | undefined): string =>
  /https?:\/\/\S+\/confirm\/\S+/.exec(mail?.text ?? '')?.[0] ?? '';

const subscription = async (email: string): Promise<string> => {
  const answer = await campaign.call('GET', `/contacts/${email}/topics`);
  if (answer.status === 404) return 'no contact';
  const { data } = answer.body as { data: { id: string; subscription: string }[] };
  return data.find(({ id }) => id === topicId)?.subscription ?? '';
};

describe('signing up with a form', () => {
  it('makes a contact only after the address has confirmed by a button', async () => {
    const email = newAddress();
    const page = await send(email);
    expect(page.status).toBe(200);
    expect(page.text).toContain('Check your inbox');
    const [mail, ...more] = await mailsTo(email);
    expect(more).toEqual([]);
    expect(mail?.subject).toBe('Confirm your subscription to Weekly');
    expect(mail?.from?.address).toBe(`news@${campaign.domain.name}`);
    expect(mail?.text).toContain('Example Ltd received a request to send Weekly to');
    expect(mail?.html).toContain('Confirm subscription</a>');
    expect(await subscription(email)).toBe('no contact');
    const opened = await visit(scene, linkIn(mail));
    expect(opened.text).toContain('Subscribe to Weekly');
    expect(opened.text).toContain('Every Friday');
    expect(await subscription(email)).toBe('no contact');
    const confirmed = await press(scene, opened, 'subscribe');
    expect(confirmed.text).toContain('You are subscribed to Weekly');
    expect(await subscription(email)).toBe('opt_in');
    const { data } = (await campaign.read(`/contacts/${email}/activity`)) as { data: { source: string | null }[] };
    const decisions = data.filter(({ source }) => source !== null);
    expect(decisions).toMatchObject([{ type: 'topic_opt_in', source: 'confirmation', topic_id: topicId }]);
    expect((await visit(scene, linkIn(mail))).text).toContain('You are subscribed to Weekly');
    expect((await send(email)).text, 'a subscriber gets the same page').toBe(page.text);
    scene.clock.advance(2 * DAY);
    expect((await send(email)).text).toBe(page.text);
    expect(await mailsTo(email), 'and no other email').toHaveLength(1);
  });

  it('adds the contact to segments, and shows the page that the team chose', async () => {
    const fans = await campaign.make('/segments', { name: 'Fans' });
    const to = await createForm({
      topic_id: null,
      segment_ids: [fans],
      redirect_url: 'https://www.example.com/thanks',
      confirmed_url: 'https://www.example.com/welcome',
    });
    const email = newAddress();
    const sent = await send(email, { to });
    expect([sent.status, sent.headers.location]).toEqual([303, 'https://www.example.com/thanks']);
    const [mail] = await mailsTo(email);
    expect(mail?.subject).toBe('Confirm your subscription to Newsletter');
    const opened = await visit(scene, linkIn(mail));
    expect(opened.headers['content-security-policy']).toContain("form-action 'self' https://www.example.com;");
    const confirmed = await press(scene, opened, 'subscribe');
    expect([confirmed.status, confirmed.headers.location]).toEqual([303, 'https://www.example.com/welcome']);
    const { data } = (await campaign.read(`/segments/${fans}/contacts`)) as { data: { email: string }[] };
    expect(data.map((one) => one.email)).toEqual([email]);
  });

  it('is in the language of the person, with the template of the product in each', async () => {
    for (const [language, subject] of [
      ['de', 'Bestätigen Sie Ihre Anmeldung zu Weekly'],
      ['ja', '「Weekly」への登録を確定してください'],
    ] as const) {
      const byField = newAddress();
      await send(byField, { language, headers: { 'accept-language': 'fr' } });
      const byBrowser = newAddress();
      const page = await send(byBrowser, { headers: { 'accept-language': language } });
      expect(page.html).toContain(`<html lang="${language}">`);
      for (const email of [byField, byBrowser]) {
        const [mail] = await mailsTo(email);
        expect(mail?.subject).toBe(subject);
        expect(mail?.html).toContain(`<html lang="${language}">`);
      }
    }
  });

  it('a form asks for consent in a mail that is not tracked', async () => {
    await publishTracking(scene, campaign.team, campaign.domain.id, { open_tracking: true, click_tracking: true });
    const email = newAddress();
    await send(email);
    const [mail] = await mailsTo(email);
    expect(mail?.html).toContain('/confirm/');
    expect(mail?.html).not.toMatch(/<img|\/o\/|\/c\//);
  });

  it('can use a template of the team', async () => {
    const content = {
      from: `Own <own@${campaign.domain.name}>`,
      subject: 'Yes?',
      html: '<p>{{{TOPIC_NAME}}}</p>',
      text: 'Yes to {{{TOPIC_NAME}}}: {{{CONFIRMATION_URL}}}',
      variables: [
        { key: 'CONFIRMATION_URL', type: 'string' },
        { key: 'TOPIC_NAME', type: 'string' },
      ],
    };
    const template = await campaign.make('/templates', { name: 'Own', ...content });
    await campaign.call('POST', `/templates/${template}/publish`);
    const to = await createForm({ from: null, confirmation_template_id: template });
    const email = newAddress();
    await send(email, { to });
    const [mail] = await mailsTo(email);
    expect(mail?.subject).toBe('Yes?');
    expect(mail?.text).toContain('Yes to Weekly: http');
    await press(scene, await visit(scene, linkIn(mail)), 'subscribe');
    expect(await subscription(email)).toBe('opt_in');
  });

  it('subscribes a contact again that had left everything', async () => {
    const email = newAddress();
    await campaign.make('/contacts', { email, unsubscribed: true });
    await send(email);
    const [mail] = await mailsTo(email);
    expect(await campaign.read(`/contacts/${email}`)).toMatchObject({ unsubscribed: true });
    await press(scene, await visit(scene, linkIn(mail)), 'subscribe');
    expect(await campaign.read(`/contacts/${email}`)).toMatchObject({ unsubscribed: false });
    expect(await subscription(email)).toBe('opt_in');
  });

  it('takes back an opt-out of an erased contact, once it is confirmed', async () => {
    const email = newAddress();
    const id = await campaign.make('/contacts', { email, unsubscribed: true });
    await campaign.call('DELETE', `/contacts/${id}`);
    await send(email);
    const [mail] = await mailsTo(email);
    await press(scene, await visit(scene, linkIn(mail)), 'subscribe');
    expect(await campaign.read(`/contacts/${email}`)).toMatchObject({ unsubscribed: false });
  });

  it('has links that work for 30 days, and while the form is open', async () => {
    const email = newAddress();
    await send(email);
    const [mail] = await mailsTo(email);
    await campaign.call('PATCH', `/forms/${form}`, { enabled: false });
    const closed = await visit(scene, linkIn(mail));
    expect(closed.text).toContain('Nothing to confirm');
    expect((await visit(scene, linkIn(mail), { body: 'do=subscribe' })).text).toContain('Nothing to confirm');
    expect(await subscription(email)).toBe('no contact');
    await campaign.call('PATCH', `/forms/${form}`, { enabled: true });
    scene.clock.advance(30 * DAY + MINUTE);
    expect((await visit(scene, linkIn(mail))).status).toBe(404);
    expect((await visit(scene, linkIn(mail), { body: 'do=subscribe' })).status).toBe(404);
    expect(await subscription(email)).toBe('no contact');
  });

  it('tries a mail again that could not be accepted at first', async () => {
    const email = newAddress();
    const { data } = (await campaign.read('/domains')) as { data: { id: string; name: string }[] };
    await campaign.call('DELETE', `/domains/${data[0]?.id}`);
    await send(email);
    expect(await mailsTo(email)).toEqual([]);
    await campaign.team.domain(data[0]?.name);
    scene.clock.advance(16 * MINUTE);
    expect(await mailsTo(email)).toHaveLength(1);
  });

  it('is forgotten when the address is erased before its mail could be accepted', async () => {
    const email = newAddress();
    const { data } = (await campaign.read('/domains')) as { data: { id: string; name: string }[] };
    await campaign.call('DELETE', `/domains/${data[0]?.id}`);
    await send(email.toUpperCase());
    await scene.settled();
    expect((await campaign.call('POST', '/contacts/erase', { email })).status).toBe(200);
    await campaign.team.domain(data[0]?.name);
    scene.clock.advance(16 * MINUTE);
    expect(await mailsTo(email)).toEqual([]);
  });

  it('does not exceed the contacts of the plan', async () => {
    await administerTeam(scene.app.world, campaign.team.id, { plan: 'tiny' });
    await campaign.make('/contacts', { email: newAddress() });
    const email = newAddress();
    await send(email);
    const [mail] = await mailsTo(email);
    const confirmed = await press(scene, await visit(scene, linkIn(mail)), 'subscribe');
    expect(confirmed.status).toBe(409);
    expect(await subscription(email)).toBe('no contact');
    expect(await campaign.call('GET', '/contacts')).toMatchObject({ body: { data: { length: 1 } } });
  });
});

describe('the page of a form', () => {
  it('shows a form that sends an address from the same page', async () => {
    const page = await visit(scene, `/subscribe/${form}`);
    expect(page.text).toContain('Subscribe to Weekly');
    expect(page.headers['referrer-policy']).toBe('same-origin');
    expect(page.forms[0]?.action).toBe(`/subscribe/${form}`);
    const own = { origin: scene.url };
    const email = newAddress();
    expect((await send(email, { headers: own })).status).toBe(200);
    expect(await mailsTo(email)).toHaveLength(1);
  });

  it('shows an address that cannot be read again, escaped', async () => {
    const page = await send('"><script>@');
    expect(page.status).toBe(400);
    expect(page.text).toContain('Enter a valid email address.');
    expect(page.html).toContain('value="&quot;&gt;&lt;script&gt;@"');
  });

  it.each([
    ['is switched off', () => campaign.call('PATCH', `/forms/${form}`, { enabled: false })],
    ['was deleted', () => campaign.call('DELETE', `/forms/${form}`)],
    [
      'belongs to a suspended team',
      () => administerTeam(scene.app.world, campaign.team.id, { riskState: 'suspended' }),
    ],
    ['is for a deleted topic', () => campaign.call('DELETE', `/topics/${topicId}`)],
  ])('is closed if the form %s', async (_, close) => {
    await close();
    const email = newAddress();
    expect((await visit(scene, `/subscribe/${form}`)).status).toBe(404);
    expect((await send(email)).status).toBe(404);
    expect(await mailsTo(email)).toEqual([]);
  });

  it.each(['x', '', '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77'])('is closed for the unknown form %j', async (id) => {
    const page = await visit(scene, `/subscribe/${id}`);
    expect([page.status, page.text.includes('This form is closed')]).toEqual([404, true]);
  });
});

describe('a form on another site', () => {
  it('is accepted from an origin that the form allows, and answers its programs in JSON', async () => {
    const headers = { origin: 'https://www.example.com', accept: 'application/json' };
    const email = newAddress();
    const answer = await send(email, { headers });
    expect([answer.status, answer.html]).toEqual([202, '{"status":"pending"}']);
    expect(answer.headers['access-control-allow-origin']).toBe('https://www.example.com');
    expect(await mailsTo(email)).toHaveLength(1);
    const refused = await send('nobody', { headers });
    expect([refused.status, refused.html]).toEqual([400, '{"status":"invalid_email"}']);
  });

  it.each(['https://evil.example', 'http://www.example.com', 'https://www.example.com.evil.example', 'null'])(
    'is refused from the origin %s',
    async (origin) => {
      const email = newAddress();
      const answer = await send(email, { headers: { origin } });
      expect(answer.status).toBe(403);
      expect(answer.text).toContain('This form may not be used from this site');
      expect(answer.headers['access-control-allow-origin']).toBeUndefined();
      expect(await mailsTo(email)).toEqual([]);
    },
  );

  it('a form on a site that it does not allow gives the reason in the language of the reader, and a program gets it in JSON', async () => {
    const origin = 'https://evil.example';
    const page = await send(newAddress(), { headers: { origin, 'accept-language': 'de-AT' } });
    expect(page.text).toContain('Dieses Formular darf von dieser Website aus nicht verwendet werden');
    const answer = await send(newAddress(), { headers: { origin, accept: 'application/json' } });
    expect([answer.status, answer.html]).toEqual([403, '{"status":"origin_not_allowed"}']);
  });
});

describe('an attacker', () => {
  /** Makes each request come from another network. */
  const fromElsewhere = (n: number) => ({ 'x-forwarded-for': `198.51.${n >> 8}.${n & 255}` });

  it('cannot fill the mailbox of a victim with many forms of many teams', async () => {
    const victim = newAddress();
    const others = await Promise.all(
      [1, 2, 3].map(async () => {
        const other = await campaignIn(scene);
        const topic = await other.make('/topics', { name: 'Spam', default_subscription: 'opt_out' });
        return other.make('/forms', { name: 'F', topic_id: topic, from: `a@${other.domain.name}` });
      }),
    );
    const forms = [form, ...others];
    for (let time = 0; time < 3; time++) {
      const ask = (email: string) =>
        Promise.all(forms.map((to, n) => send(email, { to, headers: fromElsewhere(10 * time + n) })));
      await ask(victim.toUpperCase());
      await ask(victim);
    }
    expect(await mailsTo(victim)).toHaveLength(1);
    scene.clock.advance(30 * MINUTE);
    for (const to of forms) await send(victim, { to });
    expect(await mailsTo(victim), 'within the hour').toHaveLength(1);
  });

  it('a person gets one mail to addresses that differ after a plus sign, within the hour and within a day', async () => {
    const victim = newAddress();
    const [local, domain] = victim.split('@');
    const tagged = ['', '+1', '+2', '+a+b'].map((tag) => `${local}${tag}@${domain}`);
    const count = async () => (await Promise.all(tagged.map(mailsTo))).flat().length;
    const other = await createForm();
    for (const [n, email] of tagged.entries()) await send(email, { to: n % 2 === 0 ? form : other });
    expect(await count(), 'from all forms').toBe(1);
    scene.clock.advance(HOUR + MINUTE);
    await send(tagged[1] ?? '');
    expect(await count(), 'from the same form, a day later at the earliest').toBe(1);
    scene.clock.advance(HOUR + MINUTE);
    await send(tagged[2] ?? '', { to: other });
    expect(await count()).toBe(2);
  });

  it('a person gets one mail to addresses that Gmail delivers to the same mailbox', async () => {
    const spellings = ['bom.ber@gmail.com', 'b.o.m.b.e.r@gmail.com', 'bomber+x@googlemail.com', 'bomber@gmail.com'];
    for (const email of spellings) await send(email);
    expect((await Promise.all(spellings.map(mailsTo))).flat()).toHaveLength(1);
    // Elsewhere, dots tell two people apart.
    const others = ['a.b@dotted.example', 'ab@dotted.example'];
    for (const email of others) await send(email);
    expect((await Promise.all(others.map(mailsTo))).flat()).toHaveLength(2);
  });

  it('gets one mail a day and three in 30 days out of one form', async () => {
    const victim = newAddress();
    for (let hour = 0; hour < 23; hour++) {
      await send(victim);
      scene.clock.advance(HOUR + MINUTE);
    }
    expect(await mailsTo(victim)).toHaveLength(1);
    for (let day = 0; day < 20; day++) {
      await send(victim);
      await scene.settled();
      scene.clock.advance(DAY + MINUTE);
    }
    expect(await mailsTo(victim)).toHaveLength(3);
  });

  it('cannot have a suppressed address mailed', async () => {
    const victim = newAddress();
    await campaign.call('POST', '/suppressions', { email: victim });
    const page = await send(victim);
    expect(page.status).toBe(200);
    expect(await mailsTo(victim)).toEqual([]);
  });

  it('cannot tell from a response which addresses are known', async () => {
    const known = newAddress();
    await campaign.make('/contacts', { email: known, topics: [{ id: topicId, subscription: 'opt_in' }] });
    const left = newAddress();
    await campaign.make('/contacts', { email: left, unsubscribed: true });
    const suppressed = newAddress();
    await campaign.call('POST', '/suppressions', { email: suppressed });
    const asked = newAddress();
    await send(asked);
    await scene.settled();
    const unknown = newAddress();
    const seen = async (email: string) => {
      const { status, html, headers } = await send(email);
      const { date: _, ...rest } = headers;
      return JSON.stringify({ status, html, rest }).replaceAll(email, 'ADDRESS');
    };
    const answers = [];
    for (const email of [unknown, known, left, suppressed, asked]) answers.push(await seen(email));
    expect(new Set(answers).size).toBe(1);
  });

  it('learns nothing from the field that people do not see, and gets no mail sent with it', async () => {
    const email = newAddress();
    const trapped = await send(email, { topic_line: 'Buy now' });
    const [page] = await Promise.all([send(newAddress())]);
    expect(trapped.status).toBe(page.status);
    expect(trapped.text.replace(email, '')).toBe(page.text.replace(/person\d+@one\.example/, ''));
    expect(await mailsTo(email)).toEqual([]);
  });

  it('may send 20 addresses an hour from one network', async () => {
    const statuses: number[] = [];
    for (let n = 0; n < 22; n++) {
      statuses.push((await send(newAddress())).status);
      scene.clock.advance(1000);
    }
    expect(statuses).toEqual([...Array.from({ length: 20 }, () => 200), 429, 429]);
    scene.clock.advance(HOUR);
    expect((await send(newAddress())).status).toBe(200);
  });

  it('cannot confirm with a link that was forged, or made for something else', async () => {
    const email = newAddress();
    await send(email);
    const [mail] = await mailsTo(email);
    const link = linkIn(mail);
    const token = link.slice(link.lastIndexOf('/') + 1);
    const last = token.endsWith('A') ? 'Q' : 'A';
    for (const address of [
      `/confirm/${token.slice(0, -1)}${last}`,
      `/confirm/${token.slice(0, -2)}`,
      `/unsubscribe/${token}`,
      `/preferences/${token}`,
    ]) {
      expect((await visit(scene, address, { body: 'do=subscribe' })).status, address).toBe(404);
    }
    expect(await subscription(email)).toBe('no contact');
    expect((await visit(scene, link, { body: 'do=unsubscribe' })).status).toBe(400);
  });

  it('cannot use up the limit of a form with the requests of many networks beyond its setting', async () => {
    const strict = await startScene({
      config: { forms: { sign_ups_per_form_per_hour: 3 }, http: { trusted_proxies: ['127.0.0.1/32'] } },
    });
    try {
      const other = await campaignIn(strict);
      const topic = await other.make('/topics', { name: 'T', default_subscription: 'opt_out' });
      const to = await other.make('/forms', { name: 'F', topic_id: topic, from: `a@${other.domain.name}` });
      const statuses: number[] = [];
      for (let n = 0; n < 5; n++) {
        const body = `email=p${n}%40one.example`;
        statuses.push((await visit(strict, `/subscribe/${to}`, { body, headers: fromElsewhere(n) })).status);
      }
      expect(statuses).toEqual([200, 200, 200, 429, 429]);
    } finally {
      await strict.close();
    }
  });
});
