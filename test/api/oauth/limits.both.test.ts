// Limits that a person sets for an app in addition to its scopes: set at consent, changed later, enforced by HTTP and /mcp alike.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SCOPE_NAMES } from '../../../src/contract/index.ts';
import { CLIENTS } from '../../rig/mcp.ts';
import { answerIn, newVerifier, createOauth, type OauthApp } from '../../rig/oauth.ts';
import { createPeople, type People, type Person } from '../../rig/people.ts';
import { scaled } from '../../rig/scale.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

let scene: Scene;
let team: Team;
let people: People;
let oauth: ReturnType<typeof createOauth>;
let app: OauthApp;
let owner: Person;
let domain: string;
beforeAll(async () => {
  scene = await startScene({ roles: ['http'], startAt: '2026-11-20T10:00:00Z' });
  team = await scene.team();
  people = createPeople(scene);
  oauth = createOauth(scene);
  app = await oauth.register();
  owner = await people.person({ team, role: 'owner' });
  domain = (await team.domain()).name;
});
afterAll(() => scene.close());

const EVERYTHING = { scope: SCOPE_NAMES.join(' ') };
const letIn = (limits: Record<string, string> = {}, more: Record<string, string | undefined> = EVERYTHING) =>
  oauth.letIn(owner, app, more, limits);
/** Authorizes the app for another person, because all grants that a person gives to an app are counted together. */
const letInByAnother = async (limits: Record<string, string>) =>
  oauth.letIn(await people.person({ team, role: 'owner' }), app, EVERYTHING, limits);
const call = (key: string, method: string, path: string, body?: object, headers: Record<string, string> = {}) =>
  scene.api(method, path, { key, headers, ...(body === undefined ? {} : { body }) });
const newest = async () => (await scene.api('GET', '/oauth/grants', { key: team.key })).body.data[0];
const emailTo = (...to: string[]) => ({ from: `a@${domain}`, to, subject: 'Hello', text: 'It works.' });
const send = async (key: string, ...to: string[]) => call(key, 'POST', '/emails', emailTo(...to));
const NONE = {
  read_only: false,
  emails_per_day: null,
  recipients: 'any',
  approval: 'none',
  approval_above: 100,
  expires_at: null,
};

describe('limits at consent', () => {
  it('limits at consent are none if the person chooses none, and are stored in the grant and the audit log if set', async () => {
    await letIn();
    expect((await newest()).limits).toEqual(NONE);
    await letIn({ emails_per_day: '20', own_domains: 'yes', approval: 'broadcasts', ends: '7' });
    const limits = {
      read_only: false,
      emails_per_day: 20,
      recipients: 'own_domains',
      approval: 'broadcasts',
      approval_above: 100,
      expires_at: '2026-11-27T10:00:00.000Z',
    };
    expect((await newest()).limits).toEqual(limits);
    const { data } = (await scene.api('GET', '/audit', { key: team.key })).body;
    expect(data[0]).toMatchObject({ action: 'oauth_grant.allowed', details: { limits } });
  });

  it('are offered only if they make a difference', async () => {
    const { page } = await oauth.asked(owner, app, newVerifier(), { scope: 'emails:read' });
    expect(Object.keys(page.forms[0]?.fields ?? {})).toEqual(['consent', 'scope.emails:read', 'ends', 'decision']);
    expect(page.forms[0]?.boxes).toEqual([]);
  });

  it('include those of sending for an app that may only write in inboxes', async () => {
    const { page } = await oauth.asked(owner, app, newVerifier(), { scope: 'inbox:write' });
    expect(Object.keys(page.forms[0]?.fields ?? {})).toContain('emails_per_day');
  });

  it.each(['0', '-1', '1.5', 'many', '1000001', '99999999'])(
    'refuse %s emails a day, and the page stays open',
    async (count) => {
      const { visitor, page } = await oauth.asked(owner, app, newVerifier(), EVERYTHING);
      const refused = await visitor.send(page, 'Authorize', { emails_per_day: count });
      expect([refused.status, refused.leadsTo]).toEqual([422, undefined]);
      expect(refused.text).toContain('whole number from 1 to 1000000');
      expect(answerIn(await visitor.send(page, 'Authorize', { emails_per_day: '1' })).get('code')).toMatch(/^rkc_/);
    },
  );
});

describe('a forged consent form', () => {
  it.each([
    ['approval', 'bogus'],
    ['ends', '99999'],
    ['ends', '0'],
    ['read_only', 'no'],
    ['own_domains', ''],
  ])('with %s=%j grants nothing, and the page stays open', async (name, value) => {
    const { visitor, page } = await oauth.asked(owner, app, newVerifier(), EVERYTHING);
    const refused = await visitor.send(page, 'Authorize', { [name]: value });
    expect([refused.status, refused.leadsTo]).toEqual([422, undefined]);
    expect(refused.text).toContain(`${name} must be`);
    expect(answerIn(await visitor.send(page, 'Authorize')).get('code')).toMatch(/^rkc_/);
  });
});

describe('an idempotency key of an app', () => {
  const as = (key: string, headers: { 'idempotency-key': string }, body = emailTo('x@example.org')) =>
    call(key, 'POST', '/emails', body, headers);

  it('is separate from that of the team’s programs and other apps, and kept for its next grant', async () => {
    const header = { 'idempotency-key': 'order-1' };
    const mine = await letIn();
    const other = await oauth.letIn(owner, await oauth.register(), EVERYTHING);
    const member = await oauth.letIn(await people.person({ team, role: 'member' }), app, EVERYTHING);
    const tokens = [mine.access_token, other.access_token, member.access_token, team.key];
    const ids: string[] = [];
    for (const [at, key] of tokens.entries()) {
      const sent = await as(key, header, emailTo(`order${at}@example.org`));
      expect(sent.status).toBe(200);
      ids.push(sent.body.id);
    }
    expect(new Set(ids).size).toBe(tokens.length);
    const again = (await letIn()).access_token;
    expect((await as(again, header, emailTo('order0@example.org'))).body).toEqual({ id: ids[0] });
    expect(await as(again, header, emailTo('else@example.org'))).toMatchObject({
      status: 409,
      body: { name: 'invalid_idempotent_request' },
    });
  });
});

describe('a scheduled email', () => {
  const inDays = (days: number) => ({ scheduled_at: new Date(scene.clock.now() + days * 86_400_000).toISOString() });
  it.each([
    ['own_domains', { own_domains: 'yes' }, 'recipients'],
    ['a number of emails', { emails_per_day: '5' }, 'emails_per_day'],
    ['approval of sends', { approval: 'sends' }, 'approval'],
  ])('cannot be moved by an app that is limited to %s', async (_, limits, named) => {
    const body = { ...emailTo('x@example.org'), ...inDays(5) };
    const { id } = (await call(team.key, 'POST', '/emails', body)).body;
    const { access_token: token } = await letIn(limits);
    const moved = await call(token, 'PATCH', `/emails/${id}`, inDays(2));
    expect(moved).toMatchObject({ status: 403, body: { name: 'invalid_permission' } });
    expect(moved.body.message).toContain(named);
    const { body: email } = await call(team.key, 'GET', `/emails/${id}`);
    expect(email.scheduled_at).toBe(body.scheduled_at);
  });
});

describe('the limit read_only', () => {
  it('refuses changes and sends by its name, and allows reads', async () => {
    const { access_token: token } = await letIn({ read_only: 'yes' });
    for (const [method, path, body] of [
      ['POST', '/emails', emailTo('x@example.org')],
      ['POST', '/contacts', { email: 'x@example.org' }],
      ['PATCH', '/team', { sender_name: 'Other' }],
    ] as const) {
      const refused = await call(token, method, path, body);
      expect(refused).toMatchObject({ status: 403, body: { name: 'invalid_permission' } });
      expect(refused.body.message).toContain('read_only');
    }
    expect((await call(token, 'GET', '/emails')).status).toBe(200);
    const preview = await call(token, 'POST', '/segments/preview', { filter: { all: [] } });
    expect(preview.status).not.toBe(403);
  });

  it('gives an assistant no tool that changes anything', async () => {
    const { access_token: token } = await letIn({ read_only: 'yes' });
    await using client = await CLIENTS['2026-07-28'](`${scene.app.world.origin()}/mcp`, token);
    const tools = await client.tools();
    const changing = tools.filter(({ annotations }) => annotations?.readOnlyHint !== true).map(({ name }) => name);
    expect(changing.filter((name) => name !== 'runBroadcastChecks')).toEqual(['call_operation']);
    const refused = await client.call('sendEmail', emailTo('x@example.org'));
    expect([refused.isError, refused.text]).toEqual([true, expect.stringContaining('read_only')]);
  });
});

describe('the limit recipients: own_domains', () => {
  it('allows sends only to the verified domains of the team and the simulator', async () => {
    const { access_token: token } = await letIn({ own_domains: 'yes' });
    const { host } = scene.app.world.config.instance;
    expect((await send(token, `b@${domain}`)).status).toBe(200);
    expect((await send(token, `delivered@simulator.${host}`)).status).toBe(200);
    const refused = await send(token, `b@${domain}`, 'x@example.org');
    expect(refused).toMatchObject({ status: 403, body: { name: 'invalid_permission' } });
    expect(refused.body.message).toMatch(/recipients .*x@example\.org/);
    const hidden = await call(token, 'POST', '/emails', { ...emailTo(`b@${domain}`), bcc: 'x@example.org' });
    expect(hidden.status).toBe(403);
    expect((await send(token, `b@sub.${domain}`)).status).toBe(403);
    const batch = await call(token, 'POST', '/emails/batch', [emailTo(`b@${domain}`), emailTo('x@example.org')]);
    expect(batch.status).toBe(403);
    const permissive = { 'x-batch-validation': 'permissive' };
    const mixed = [emailTo(`b@${domain}`), emailTo('x@example.org')];
    const some = await call(token, 'POST', '/emails/batch', mixed as never, permissive);
    expect(some.body).toMatchObject({ data: [{}], errors: [{ index: 1 }] });
  });

  it.each(['own_domains', 'emails_per_day'])(
    'refuses, like emails_per_day, operations that send to others than they name: %s',
    async (limit) => {
      const { access_token: token } = await letIn({ [limit]: limit === 'own_domains' ? 'yes' : '5' });
      const named = limit === 'own_domains' ? 'recipients' : 'emails_per_day';
      const any = '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e05';
      const graph = { name: 'Welcome', steps: [], connections: [] };
      for (const [path, body] of [
        [`/broadcasts/${any}/send`, {}],
        [`/broadcasts/${any}/resume`, {}],
        ['/broadcasts', { from: `a@${domain}`, subject: 'x', text: 'x', send: true }],
        ['/contacts', { email: 'x@example.org' }],
        ['/events/send', { event: 'order.placed', email: 'x@example.org' }],
        ['/automations', { ...graph, status: 'enabled' }],
      ] as const) {
        const refused = await call(token, 'POST', path, body);
        expect([path, refused.status, refused.body.name]).toEqual([path, 403, 'invalid_permission']);
        expect(refused.body.message).toContain(named);
      }
      const draft = await call(token, 'POST', '/broadcasts', { from: `a@${domain}`, subject: 'x', text: 'x' });
      expect(draft.status).toBe(201);
    },
  );
});

describe('the limit emails_per_day', () => {
  it('counts each recipient, is named in the error, and starts again at midnight UTC', async () => {
    const { access_token: token, refresh_token: refresh } = await letInByAnother({ emails_per_day: '3' });
    expect((await send(token, 'a@example.org', 'b@example.org')).status).toBe(200);
    const refused = await send(token, 'a@example.org', 'b@example.org');
    expect(refused).toMatchObject({ status: 429, body: { name: 'daily_quota_exceeded' } });
    expect(refused.body.message).toMatch(/emails_per_day .* 3 recipients a day, 2 are used, and this request has 2/);
    expect((await send(token, 'a@example.org')).status).toBe(200);
    expect((await send(token, 'a@example.org')).status).toBe(429);
    scene.clock.advance(24 * 3_600_000);
    const next = (await oauth.refresh(app, refresh)).body.access_token;
    expect((await send(next, 'a@example.org', 'b@example.org', 'c@example.org')).status).toBe(200);
    expect((await send(next, 'a@example.org')).status).toBe(429);
  });

  it('does not count refused calls or repeated answers', async () => {
    const { access_token: token } = await letInByAnother({ emails_per_day: '2' });
    const key = { 'idempotency-key': 'one' };
    for (let again = 0; again < 3; again++) {
      expect((await call(token, 'POST', '/emails', emailTo('x@example.org'), key)).status).toBe(200);
    }
    expect(
      (await call(token, 'POST', '/emails', { ...emailTo('x@example.org'), from: 'a@nowhere.example' })).status,
    ).toBe(403);
    expect((await send(token, 'x@example.org')).status).toBe(200);
    expect((await send(token, 'x@example.org')).status).toBe(429);
  });

  it('counts all grants that a person gives to the app together', async () => {
    const person = await people.person({ team, role: 'owner' });
    const grant = async () => (await oauth.letIn(person, app, EVERYTHING, { emails_per_day: '2' })).access_token;
    const first = await grant();
    expect((await send(first, 'x@example.org')).status).toBe(200);
    const second = await grant();
    expect((await send(second, 'x@example.org')).status).toBe(200);
    for (const token of [first, second, await grant()]) expect((await send(token, 'x@example.org')).status).toBe(429);
    const { access_token: other } = await letInByAnother({ emails_per_day: '2' });
    expect((await send(other, 'x@example.org')).status).toBe(200);
  });

  it('is not exceeded by concurrent calls', async () => {
    for (let round = 0; round < scaled(3); round++) {
      const { access_token: token } = await letInByAnother({ emails_per_day: '5' });
      const answers = await Promise.all(Array.from({ length: 12 }, () => send(token, 'x@example.org')));
      expect(answers.map(({ status }) => status).sort()).toEqual([...Array(5).fill(200), ...Array(7).fill(429)]);
    }
  });
});

describe('the limit expires_at', () => {
  it('ends access and refresh, and is named in the error', async () => {
    const { access_token: token, refresh_token: refresh } = await letIn({ ends: '1' });
    expect((await call(token, 'GET', '/team')).status).toBe(200);
    const at = (await newest()).limits.expires_at;
    await owner.call('PATCH', `/oauth/grants/${(await newest()).id}`, {
      expires_at: new Date(scene.clock.now() + 60_000).toISOString(),
    });
    scene.clock.advance(60_001);
    expect(Date.parse(at)).toBeGreaterThan(scene.clock.now());
    const refused = await call(token, 'GET', '/team');
    expect(refused).toMatchObject({ status: 401, body: { name: 'invalid_api_key' } });
    expect(refused.body.message).toContain('expires_at');
    expect(await oauth.refresh(app, refresh)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
    const apps = await oauth.visitorOf(owner).open('/account/apps');
    expect(apps.status).toBe(200);
  });
});

describe('the limits of an existing grant', () => {
  it('apply from the next call on, can be changed by field, and only while the grant is active', async () => {
    const { access_token: token } = await letIn();
    const { id } = await newest();
    const path = `/oauth/grants/${id}`;
    expect((await call(team.key, 'PATCH', path, { read_only: true })).body.limits).toEqual({
      ...NONE,
      read_only: true,
    });
    expect((await send(token, 'x@example.org')).status).toBe(403);
    const both = { emails_per_day: 7, read_only: false };
    expect((await call(team.key, 'PATCH', path, both)).body.limits).toEqual({ ...NONE, emails_per_day: 7 });
    expect((await send(token, 'x@example.org')).status).toBe(200);
    expect((await call(team.key, 'PATCH', path, { emails_per_day: null })).body.limits).toEqual(NONE);
    await call(team.key, 'DELETE', path);
    expect((await call(team.key, 'PATCH', path, both)).status).toBe(422);
  });

  it.each([
    [{}, 400],
    [{ emails_per_day: 0 }, 400],
    [{ approval: 'maybe' }, 400],
    [{ expires_at: 'tomorrow' }, 422],
    [{ expires_at: '2020-01-01T00:00:00Z' }, 422],
    [{ expires_at: '2030-01-01T00:00:00' }, 422],
  ])('cannot be set to %j', async (body, status) => {
    await letIn();
    expect((await call(team.key, 'PATCH', `/oauth/grants/${(await newest()).id}`, body)).status).toBe(status);
  });

  it('can be set by their person or an admin, and never by an app', async () => {
    const { access_token: token } = await letIn();
    const path = `/oauth/grants/${(await newest()).id}`;
    const member = await people.person({ team });
    const admin = await people.person({ team, role: 'admin' });
    expect((await member.call('PATCH', path, { read_only: true })).status).toBe(403);
    expect((await admin.call('PATCH', path, { read_only: true })).status).toBe(200);
    expect((await owner.call('PATCH', path, { read_only: false })).status).toBe(200);
    expect((await call(token, 'PATCH', path, { read_only: false })).status).toBe(403);
    const other = await scene.team();
    expect((await call(other.key, 'PATCH', path, { read_only: true })).status).toBe(404);
  });

  it('can be set at /account/apps by their person only', async () => {
    await letIn({ emails_per_day: '9' });
    const { id } = await newest();
    const visitor = oauth.visitorOf(owner);
    expect((await visitor.open('/account/apps')).text).toContain('Sends at most 9 emails per day');
    const page = await visitor.open(`/account/apps/limits?grant=${id}`);
    expect(page.forms[0]?.fields['emails_per_day']).toBe('9');
    expect((await visitor.send(page, 'Save limits', { emails_per_day: 'x' })).forms[0]?.faults).toHaveProperty(
      'emails_per_day',
    );
    const set = await visitor.send(page, 'Save limits', { emails_per_day: '4', read_only: 'yes', ends: '30' });
    expect(set.leadsTo).toBe('/account/apps?said=limited');
    expect((await newest()).limits).toMatchObject({ emails_per_day: 4, read_only: true, recipients: 'any' });
    const stranger = oauth.visitorOf(await people.person({ team, role: 'owner' }));
    expect((await stranger.open(`/account/apps/limits?grant=${id}`)).status).toBe(404);
  });
});
