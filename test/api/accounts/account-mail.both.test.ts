import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createUser } from '../../../src/tenancy/users/index.ts';
import { mailsTo, subjectsTo, tokenTo } from '../../rig/mailbox.ts';
import { createPeople } from '../../rig/people.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';
import { plantWebhook } from '../../rig/webhooks.ts';

const PASSWORD = 'correct horse battery staple';
const TOKEN = /\b(?:rv|rp|ri)_[\w-]{20,}/;
let scene: Scene;
let team: Team;
let domain: { id: string; name: string };
beforeAll(async () => {
  scene = await startScene({ config: { accounts: { sign_up: 'open' } } });
  team = await scene.team();
  domain = await team.domain();
});
afterEach(() => scene.clock.advance(61 * 60_000));
afterAll(() => scene.close());

const post = (path: string, body: unknown, headers: Record<string, string | null> = {}, at: Scene = scene) =>
  at.api('POST', path, { body, headers: { origin: at.url, ...headers } });

let people = 0;
async function person(at: Scene = scene): Promise<string> {
  const email = `person${++people}@mailed.example`;
  await createUser(at.app.world, { email, password: PASSWORD, isVerified: true });
  return email;
}

/** Sends one mail of each kind that contains a token, and returns the recipients. */
async function mailed(at: Scene, host: Team): Promise<string[]> {
  const known = await person(at);
  const unknown = `new${++people}@mailed.example`;
  const guest = `guest${++people}@mailed.example`;
  const owner = await createPeople(at).person({ team: host, role: 'owner' });
  await owner.call('POST', `/teams/${host.id}/invitations`, { email: guest, role: 'admin' });
  await post('/auth/password-reset', { email: known }, {}, at);
  await post('/auth/signup', { email: unknown, password: PASSWORD }, {}, at);
  await at.settled();
  return [known, unknown, guest];
}

describe('the team whose domain sends account mail', () => {
  it('cannot read a token in emails, shares, webhooks, logs or tracking data', async () => {
    const tracked = { open_tracking: true, click_tracking: true, tracking_subdomain: 'links' };
    await scene.api('PATCH', `/domains/${domain.id}`, { key: team.key, body: tracked });
    await plantWebhook(scene, team, { events: ['email.sent', 'email.delivered'] });
    const recipients = await mailed(scene, team);
    for (const email of recipients) {
      expect(mailsTo(scene, email)).toHaveLength(1);
      // A link that is not rewritten is not tracked.
      expect(mailsTo(scene, email)[0]).toContain(`${scene.url}/`);
      expect(tokenTo(scene, email)).toMatch(TOKEN);
    }
    const read = async (path: string) => (await scene.api('GET', path, { key: team.key })).text;
    const { data } = (await scene.api('GET', '/emails?limit=100', { key: team.key })).body;
    const own = data.filter(({ to }: { to: string[] }) => recipients.includes(to[0] ?? ''));
    expect(own).toHaveLength(3);
    for (const { id } of own) {
      const { body } = await scene.api('GET', `/emails/${id}`, { key: team.key });
      expect(body).toMatchObject({ html: null, text: null, content_withheld: 'account_mail', last_event: 'delivered' });
      const shared = await scene.api('POST', `/emails/${id}/share`, { key: team.key, body: {} });
      expect(shared).toMatchObject({ status: 403, body: { name: 'invalid_permission' } });
      for (const more of ['events', 'attempts', 'attachments'])
        expect(await read(`/emails/${id}/${more}`)).not.toMatch(TOKEN);
    }
    for (const path of ['/emails?search=token', '/logs?limit=100', '/webhooks', '/contacts', '/audit'])
      expect(await read(path)).not.toMatch(TOKEN);
    const payloads = await scene.app.world.db.all<{ payload: string }>('select payload from webhook_payloads');
    expect(payloads.length).toBeGreaterThan(0);
    expect(payloads.filter(({ payload }) => TOKEN.test(payload))).toEqual([]);
    expect((await scene.api('GET', '/playground')).status).toBe(404);
  });

  it('can still read the content of its other mail', async () => {
    const body = { from: `a@${domain.name}`, to: 'x@example.org', subject: 'Hello', text: 'It works.' };
    const { id } = (await scene.api('POST', '/emails', { key: team.key, body })).body;
    const read = (await scene.api('GET', `/emails/${id}`, { key: team.key })).body;
    expect(read.text).toBe('It works.');
    expect(read).not.toHaveProperty('content_withheld');
  });

  it('can read account mail in the development profile, where the operator owns all mail', async () => {
    await using one = await startScene({
      profile: 'development',
      config: { accounts: { sign_up: 'open' }, delivery: { capture: true }, instance: { host: 'localhost' } },
    });
    const host = await one.team();
    await host.domain();
    const email = await person(one);
    await post('/auth/password-reset', { email }, {}, one);
    await one.settled();
    const { data } = (await one.api('GET', '/emails', { key: host.key })).body;
    expect(data[0].text).toMatch(TOKEN);
    expect(data[0]).not.toHaveProperty('content_withheld');
  });

  it('a viewer of the first team cannot read the password reset of a person in another team while production captures mail', async () => {
    await using staging = await startScene({
      config: { accounts: { sign_up: 'open' }, delivery: { capture: true } },
    });
    const first = await staging.team();
    const other = await staging.team();
    await first.domain();
    const viewer = await createPeople(staging).person({ team: first, role: 'viewer' });
    const victim = await createPeople(staging).person({ team: other, role: 'owner' });
    await post('/auth/password-reset', { email: victim.email }, {}, staging);
    await staging.settled();
    const seen = async (method: string, path: string): Promise<string> =>
      JSON.stringify((await viewer.call(method, path)).body);
    const { data } = (await viewer.call('GET', '/emails')).body;
    const [mail] = data.filter(({ to }: { to: string[] }) => to[0] === victim.email);
    expect(mail).toMatchObject({ html: null, text: null, content_withheld: 'account_mail', last_event: 'delivered' });
    expect((await viewer.call('GET', `/emails/${mail.id}`)).body).toMatchObject({ text: null, html: null });
    for (const more of ['', '/events', '/attempts', '/attachments'])
      expect(await seen('GET', `/emails/${mail.id}${more}`)).not.toMatch(TOKEN);
    // The mail was captured, and the pages of the playground need no key.
    const [caught] = await staging.app.world.db.all<{ id: string }>('select id from playground_messages');
    for (const path of ['/playground', `/playground/${caught?.id}`])
      expect((await staging.api('GET', path)).status).toBe(404);
    const key = await staging.operator();
    const { findings } = (await staging.api('GET', '/operator/findings', { key })).body;
    expect(findings).toContainEqual(expect.objectContaining({ code: 'mail_captured', severity: 'warning' }));
  });

  it('cannot influence account mail: its quotas do not count it and its idempotency keys do not collide with it', async () => {
    const email = await person();
    await post('/auth/password-reset', { email });
    const [{ id = '' } = {}] = await scene.app.world.db.all<{ id: string }>(
      'select id from password_resets order by id desc',
    );
    const body = { from: `a@${domain.name}`, to: 'x@example.org', subject: 'Mine', text: 'Mine.' };
    const used = async () => (await scene.api('GET', '/usage', { key: team.key })).body.emails.monthly.sent;
    await scene.settled();
    const before = await used();
    for (const key of [`reset ${id}`, `invitation ${id}`])
      await scene.api('POST', '/emails', { key: team.key, body, headers: { 'idempotency-key': key } });
    await post('/auth/password-reset', { email });
    await scene.settled();
    expect(subjectsTo(scene, email)).toEqual(['Reset your password', 'Reset your password']);
    expect((await used()) - before).toBe(2);
  });
});

it('links in account mail use the configured address of the service, whatever the request says', async () => {
  const email = await person();
  const hostile = { host: 'evil.example', 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'gopher' };
  await post('/auth/password-reset', { email }, hostile);
  const unknown = `new${++people}@mailed.example`;
  await post('/auth/signup', { email: unknown, password: PASSWORD }, hostile);
  await scene.settled();
  for (const to of [email, unknown]) {
    expect(mailsTo(scene, to)).toHaveLength(1);
    expect(mailsTo(scene, to)[0]).toContain(`${scene.url}/`);
    expect(mailsTo(scene, to)[0]).not.toMatch(/evil|gopher/);
  }
});

it('account mail tells auto-responders not to reply and comes from notifications@ the domain that has been verified longest', async () => {
  const email = await person();
  await post('/auth/password-reset', { email });
  await scene.settled();
  const [mail] = mailsTo(scene, email);
  expect(mail).toContain('Auto-Submitted: auto-generated');
  expect(mail).toContain(`From: rasket <notifications@${domain.name}>`);
});

it('account mail reaches an address that the sending team suppressed by hand, but not one that bounced', async () => {
  const silenced = await person();
  const dead = 'permfail@mailed.example';
  const suppressed = await scene.api('POST', '/suppressions', { key: team.key, body: { email: silenced } });
  expect(suppressed.status).toBe(201);
  await createUser(scene.app.world, { email: dead, password: PASSWORD, isVerified: true });
  // The first mail bounces, so the second is not sent.
  for (const email of [silenced, dead]) await post('/auth/password-reset', { email });
  await scene.settled();
  await post('/auth/password-reset', { email: dead });
  await scene.settled();
  expect(subjectsTo(scene, silenced)).toEqual(['Reset your password']);
  const { data } = (await scene.api('GET', '/emails?limit=100', { key: team.key })).body;
  const states = data.filter(({ to }: { to: string[] }) => to[0] === dead);
  expect(states.map((one: { last_event: string }) => one.last_event)).toEqual(['suppressed', 'bounced']);
  // Other mail of the team is not sent to the address.
  const body = { from: `a@${domain.name}`, to: silenced, subject: 'Mine', text: 'Mine.' };
  const { id } = (await scene.api('POST', '/emails', { key: team.key, body })).body;
  await scene.settled();
  expect((await scene.api('GET', `/emails/${id}`, { key: team.key })).body.last_event).toBe('suppressed');
  expect(subjectsTo(scene, silenced)).toEqual(['Reset your password']);
});

it('account mail asks servers with DSN support to return only its headers', async () => {
  await using one = await startScene({ sink: { extensions: ['DSN'] } });
  const host = await one.team();
  const { name } = await host.domain();
  const email = await person(one);
  await post('/auth/password-reset', { email }, {}, one);
  const body = { from: `a@${name}`, to: 'x@mailed.example', subject: 'Mine', text: 'Mine.' };
  await one.api('POST', '/emails', { key: host.key, body });
  await one.settled();
  const { data } = (await one.api('GET', '/emails', { key: host.key })).body;
  const asked = async (to: string) => {
    const { id } = data.find((sent: { to: string[] }) => sent.to[0] === to);
    const attempts = (await one.api('GET', `/emails/${id}/attempts`, { key: host.key })).text;
    return /MAIL FROM:<[^>]*>[^"]*/.exec(attempts)?.[0] ?? attempts;
  };
  expect(await asked(email)).toMatch(/ RET=HDRS/);
  expect(await asked('x@mailed.example')).not.toContain('RET=');
  // Nobody gets a mail about it.
  expect(one.sink.messages).toHaveLength(2);
});

describe('account mail that cannot be sent', () => {
  const finding = async (at: Scene) => {
    const { body } = await at.api('GET', '/operator/findings', { key: await at.operator() });
    return body.findings.filter(({ code }: { code: string }) => code === 'account_mail');
  };

  it('raises a finding for the operator once there are people, until a domain is verified', async () => {
    await using one = await startScene();
    const host = await one.team();
    expect(await finding(one)).toEqual([]);
    const email = await person(one);
    expect(await finding(one)).toMatchObject([
      { severity: 'warning', summary: 'Account mail cannot be sent: no team has a verified domain.' },
    ]);
    await post('/auth/password-reset', { email }, {}, one);
    await one.settled();
    expect(await one.app.world.db.get('select fault from password_resets')).toEqual({
      fault: 'no verified domain is available to send account mail from',
    });
    await host.domain();
    expect(await finding(one)).toEqual([]);
    await post('/auth/password-reset', { email }, {}, one);
    await one.settled();
    expect(subjectsTo(one, email)).toEqual(['Reset your password']);
  });

  it('raises a finding when accounts.mail_from is on an unverified domain; once verified, mail is sent from that address', async () => {
    await using one = await startScene({ config: { accounts: { mail_from: 'help@accounts.example.com' } } });
    const host = await one.team();
    await host.domain();
    const email = await person(one);
    const [told] = await finding(one);
    expect(told).toMatchObject({ subjects: ['help@accounts.example.com'] });
    await (await one.team()).domain('accounts.example.com');
    expect(await finding(one)).toEqual([]);
    await post('/auth/password-reset', { email }, {}, one);
    await one.settled();
    expect(mailsTo(one, email)[0]).toContain('From: rasket <help@accounts.example.com>');
  });

  it('raises a finding when the only team with a verified domain is suspended', async () => {
    await using one = await startScene();
    const host = await one.team();
    await host.domain();
    await person(one);
    await one.app.world.db.run("update teams set risk_state = 'suspended' where id = ?", [host.id]);
    expect(await finding(one)).toHaveLength(1);
  });
});
