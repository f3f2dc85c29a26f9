// Mail about an account to an address that this installation receives, through its own MX port, and what comes back of it.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createUser } from '../../../src/tenancy/users/index.ts';
import { freePort } from '../../rig/free-port.ts';
import type { AnyBody } from '../../rig/api.ts';
import { bringMail, createReceivingDomain } from '../../rig/mx.ts';
import { createPeople } from '../../rig/people.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';
import { startSink, type Sink } from '../../rig/sink.ts';
import { plantWebhook } from '../../rig/webhooks.ts';

const PASSWORD = 'correct horse battery staple';
const TOKEN = /\b(?:rv|rp|ri)_[\w-]{20,}/;
const WITHHELD = {
  html: null,
  text: null,
  headers: {},
  raw: null,
  attachments: [],
  dropped_reason: 'account_mail',
  content_withheld: 'account_mail',
};

let scene: Scene;
/** Everybody else's server. */
let elsewhere: Sink;
/** The team whose domain such mail is sent from. */
let host: Team;
let team: Team;
let domain: string;
let domains = 0;

beforeAll(async () => {
  const port = await freePort();
  elsewhere = await startSink({ host: '127.0.0.2', port });
  scene = await startScene({
    roles: ['http', 'delivery', 'receiving'],
    config: {
      accounts: { sign_up: 'open' },
      receiving: { ports: [port], greeting_delay_ms: 0 },
      delivery: { smtp_port: port },
    },
  });
  scene.dns.set('mx.sink.test', 'A', ['127.0.0.2']);
  scene.dns.set('rasket.test', 'A', ['127.0.0.1']);
  host = await scene.team();
  await receiving(host);
});
afterAll(async () => {
  await scene.close();
  await elsewhere.close();
});
beforeEach(async () => {
  team = await scene.team();
  domain = await receiving(team);
});

async function receiving(owner: Team): Promise<string> {
  const name = `home${++domains}.example.com`;
  scene.dns.set(name, 'MX', ['10 rasket.test']);
  const { id } = await owner.domain(name);
  const body = { capabilities: { receiving: 'enabled' }, confirm_replace_mx: true };
  await scene.api('PATCH', `/domains/${id}`, { key: owner.key, body });
  return name;
}

const post = (path: string, body: unknown) => scene.api('POST', path, { body, headers: { origin: scene.url } });
const get = (path: string, key = team.key) => scene.api('GET', path, { key });

async function received(owner: Team = team): Promise<AnyBody[]> {
  const { data } = (await get('/emails/receiving?limit=100', owner.key)).body;
  return Promise.all(data.map(async ({ id }: AnyBody) => (await get(`/emails/receiving/${id}`, owner.key)).body));
}

/** A mail with a link for a new password, sent to that address; answers the email as its sender sees it. */
async function reset(email: string): Promise<AnyBody> {
  await createUser(scene.app.world, { email, password: PASSWORD, isVerified: true });
  await post('/auth/password-reset', { email });
  await scene.settled();
  const { data } = (await get('/emails?limit=100', host.key)).body;
  return data.find(({ to }: AnyBody) => to.includes(email));
}

describe('account email to an address that is received here', () => {
  it('arrives, and nobody can read its token: not by API, files, search, webhooks or rules', async () => {
    await plantWebhook(scene, team, { events: ['email.received'] });
    const rule = { pattern: `guest@${domain}`, action: 'forward', forward_to: ['else@away.example.org'] };
    expect((await scene.api('POST', '/inbound-rules', { key: team.key, body: rule })).status).toBe(201);
    const owner = await createPeople(scene).person({ team: host, role: 'owner' });
    await owner.call('POST', `/teams/${host.id}/invitations`, { email: `guest@${domain}`, role: 'admin' });
    await post('/auth/signup', { email: `new@${domain}`, password: PASSWORD });
    expect(await reset(`ada@${domain}`)).toMatchObject({ last_event: 'delivered' });
    const all = await received();
    const byAddress = Object.fromEntries(all.map((one) => [one.received_for[0].split('@')[0], one]));
    expect(byAddress).toEqual({
      ada: expect.objectContaining({ ...WITHHELD, not_forwarded_reason: null }),
      guest: expect.objectContaining({ ...WITHHELD, not_forwarded_reason: 'account_mail' }),
      new: expect.objectContaining({ ...WITHHELD, not_forwarded_reason: null }),
    });
    expect(elsewhere.messages.filter(({ rcptTo }) => rcptTo.includes('else@away.example.org'))).toEqual([]);
    for (const { id } of all) {
      expect((await get(`/emails/receiving/${id}/attachments`)).body.data).toEqual([]);
      expect((await get(`/emails/receiving/${id}/raw/download?expires=1&token=x`)).status).toBe(404);
    }
    expect((await get('/emails/receiving?search=notifications')).text).not.toMatch(TOKEN);
    const { db } = scene.app.world;
    const payloads = await db.all<{ payload: string }>('select payload from webhook_payloads');
    const told = payloads.filter(({ payload }) => payload.includes(domain) && payload.includes('email.received'));
    expect(told).toHaveLength(3);
    for (const { payload } of told) expect(JSON.parse(payload).data.dropped_reason).toBe('account_mail');
    expect(payloads.filter(({ payload }) => TOKEN.test(payload))).toEqual([]);
    // Nothing is stored that a later version, a backup or an operator's query could show.
    expect(await db.all("select * from received_bodies where text like '%token=%'")).toEqual([]);
  });

  it('is withheld from a team that gets it indirectly, in a reply or in a full bounce', async () => {
    const { message_id: id } = await reset(`bob${domains}@away.example.org`);
    const [mail = ''] = elsewhere.messages
      .filter(({ rcptTo }) => rcptTo.includes(`bob${domains}@away.example.org`))
      .map(({ data }) => data.toString('latin1'));
    const answer = (field: string): string =>
      `From: bob@away.example.org\r\nSubject: Re: Choose\r\n${field}\r\n\r\n> ${scene.url}/?token=rp_${'x'.repeat(30)}\r\n`;
    const bounce = [
      'From: MAILER-DAEMON@away.example.org',
      'Subject: Undelivered',
      'Content-Type: multipart/report; report-type=delivery-status; boundary=b',
      '',
      '--b',
      'Content-Type: message/rfc822',
      '',
      `${mail}\r\n--b--`,
      '',
    ].join('\r\n');
    const inText = `From: MAILER-DAEMON@away.example.org\r\nSubject: failure notice\r\n\r\nSorry.\r\n\r\n--- Below this line is a copy of the message.\r\n\r\n${mail}`;
    for (const raw of [mail, inText, answer(`In-Reply-To: ${id}`), answer(`References: <1@x>\r\n\t${id}`), bounce])
      expect(await bringMail(scene, { from: 'bob@away.example.org', to: [`desk@${domain}`], raw })).toMatch(/^250/);
    await scene.settled();
    const all = await received();
    expect(all).toHaveLength(5);
    for (const one of all) expect(one).toMatchObject(WITHHELD);
  });

  it('is shown in the development profile, where all mail belongs to the developer', async () => {
    await using one = await startScene({
      roles: ['http', 'delivery', 'receiving'],
      profile: 'development',
      config: { accounts: { sign_up: 'open' }, delivery: { capture: true }, instance: { host: 'localhost' } },
    });
    const own = await one.team();
    const { name } = await createReceivingDomain(one, own);
    await one.api('POST', '/auth/signup', {
      body: { email: `new@${name}`, password: PASSWORD },
      headers: { origin: one.url },
    });
    await one.settled();
    const [{ message_id: id }] = (await one.api('GET', '/emails', { key: own.key })).body.data;
    const raw = `From: a@away.example.org\r\nMessage-ID: ${id}\r\nSubject: Shown\r\n\r\nShown.\r\n`;
    expect(await bringMail(one, { from: 'a@away.example.org', to: [`new@${name}`], raw })).toMatch(/^250/);
    const [{ id: received }] = (await one.api('GET', '/emails/receiving', { key: own.key })).body.data;
    const { body } = await one.api('GET', `/emails/receiving/${received}`, { key: own.key });
    expect(body).toMatchObject({ text: expect.stringContaining('Shown.'), dropped_reason: null });
    expect(body).not.toHaveProperty('content_withheld');
  });

  it('does not make other mail be withheld, which may name emails of the team', async () => {
    const body = { from: `app@${domain}`, to: `desk@${domain}`, subject: 'Mine', text: 'Mine.' };
    await scene.api('POST', '/emails', { key: team.key, body });
    await scene.settled();
    const [own] = await received();
    expect(own).toMatchObject({ text: expect.stringContaining('Mine.'), dropped_reason: null });
    expect(own).not.toHaveProperty('content_withheld');
  });
});
