import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SCOPE_NAMES } from '../../../src/contract/index.ts';
import { lockUser } from '../../../src/tenancy/users/index.ts';
import { answerIn, newVerifier, createOauth, REDIRECT_URI, type OauthApp } from '../../rig/oauth.ts';
import { PageVisitor, type PageSeen } from '../../rig/page-visitor.ts';
import { createPeople, type People, type Person } from '../../rig/people.ts';
import { scaled } from '../../rig/scale.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

let scene: Scene;
let team: Team;
let people: People;
let oauth: ReturnType<typeof createOauth>;
let app: OauthApp;
let owner: Person;
beforeAll(async () => {
  scene = await startScene({ roles: ['http'] });
  team = await scene.team();
  people = createPeople(scene);
  oauth = createOauth(scene);
  app = await oauth.register({ redirect_uris: [REDIRECT_URI, 'http://[::1]:8080/cb', 'http://127.0.0.1:8080/cb?a=b'] });
  owner = await people.person({ team, role: 'owner' });
});
afterAll(() => scene.close());

const visitor = () => new PageVisitor(scene);

describe('the consent page', () => {
  it('cannot be framed, and its form leads only to the app', async () => {
    for (const [uri, source] of [
      [REDIRECT_URI, 'https://app.example.com'],
      ['http://127.0.0.1:8080/cb?a=b', 'http://127.0.0.1:8080'],
      ['http://[::1]:8080/cb', 'http:'],
    ] as const) {
      const { page } = await oauth.asked(owner, app, newVerifier(), { redirect_uri: uri });
      const policy = page.headers['content-security-policy'] ?? '';
      expect(policy).toContain(`form-action 'self' ${source};`);
      expect(policy).toContain("frame-ancestors 'none'");
      expect(page.headers['x-frame-options']).toBe('DENY');
      expect(page.headers['cross-origin-opener-policy']).toBe('same-origin');
    }
  });

  it('the consent page lists what the app asks for in groups, each of which can be unticked', async () => {
    const { visitor: browser, page } = await oauth.asked(owner, app, newVerifier(), { scope: SCOPE_NAMES.join(' ') });
    const groups = [...page.html.matchAll(/<legend[^>]*>(?:<strong>)?(\w+)/g)].map(([, title]) => title);
    expect(groups).toEqual(['Read', 'Prepare', 'Send', 'Manage']);
    const form = page.forms.find(({ submit }) => submit === 'Authorize');
    const boxes = Object.keys(form?.fields ?? {}).filter((name) => name.startsWith('scope.'));
    expect(boxes.sort()).toEqual(SCOPE_NAMES.map((scope) => `scope.${scope}`).sort());
    expect(page.text).toContain('It asks to read data, prepare content, send email and manage settings.');
    // The decision stands before what is decided on.
    expect(page.html.indexOf('>Cancel</button>')).toBeLessThan(page.html.indexOf('<legend'));
    expect(answerIn(await browser.send(page, 'Cancel')).get('error')).toBe('access_denied');
  });

  it('the consent page grants only what is ticked of what the app asked for', async () => {
    const verifier = newVerifier();
    const other = await oauth.register();
    const scope = 'team:read emails:read emails:send';
    const { visitor: browser, page } = await oauth.asked(owner, other, verifier, { scope });
    const form = page.forms.find(({ submit }) => submit === 'Authorize');
    for (const name of ['scope.emails:read', 'scope.emails:send']) delete form?.fields[name];
    form?.boxes.push('scope.team:write');
    const sent = await browser.send(page, 'Authorize', { 'scope.team:write': 'yes' });
    const tokens = await oauth.exchange(other, answerIn(sent).get('code') ?? '', verifier);
    expect(tokens.body.scope).toBe('team:read');
    const key = tokens.body.access_token as string;
    expect((await scene.api('GET', '/team', { key })).status).toBe(200);
    expect((await scene.api('GET', '/emails', { key })).status).toBe(403);
    expect((await scene.api('PATCH', '/team', { key, body: { name: 'Taken' } })).status).toBe(403);
    const { body } = await scene.api('GET', '/oauth/grants', { key: team.key });
    expect(body.data[0].scopes).toEqual(['team:read']);
  });

  it('the consent page grants nothing when nothing is ticked, and stays open', async () => {
    const { visitor: browser, page } = await oauth.asked(owner, await oauth.register(), newVerifier());
    const form = page.forms.find(({ submit }) => submit === 'Authorize');
    const { 'scope.team:read': ticked = '', ...none } = form?.fields ?? {};
    if (form) form.fields = none;
    const refused = await browser.send(page, 'Authorize');
    expect([refused.status, refused.leadsTo]).toEqual([422, undefined]);
    expect(refused.text).toContain('at least one of the permissions');
    if (form) form.fields = { ...none, 'scope.team:read': ticked };
    expect(answerIn(await browser.send(page, 'Authorize')).get('code')).toMatch(/^rkc_/);
  });

  it('starts with the limits of an earlier grant of the same app, and says so', async () => {
    const again = await oauth.register();
    const scope = 'emails:send emails:read';
    const asked = async (person = owner, other = again) =>
      (await oauth.asked(person, other, newVerifier(), { scope })).page;
    const fields = ({ forms }: PageSeen) => forms.find(({ submit }) => submit === 'Authorize')?.fields;
    const safe = { approval: 'sends', emails_per_day: '', ends: '90' };
    const first = await asked();
    expect(fields(first)).toMatchObject(safe);
    expect(first.text).toContain('you approve each email before it is sent, and access expires after 90 days');
    expect(first.text).not.toContain('already has access');
    const limits = { approval: 'changes', own_domains: 'yes', emails_per_day: '7', ends: '90' };
    await oauth.letIn(owner, again, { scope }, limits);
    scene.clock.advance(86_400_000);
    const second = await asked();
    expect(fields(second)).toMatchObject({ approval: 'changes', own_domains: 'yes', emails_per_day: '7', ends: '30' });
    for (const says of ['This app already has access', 'Sends at most 7 emails per day', 'count both together'])
      expect(second.text).toContain(says);
    // The limits apply to this app, person and team only.
    expect(fields(await asked(owner, app))).toMatchObject(safe);
    expect(fields(await asked(await people.person({ team, role: 'owner' })))).toMatchObject(safe);
  });

  it('the consent page starts safe again when an app that could not send asks for more', async () => {
    const reader = await oauth.register();
    const fields = ({ forms }: PageSeen) => forms.find(({ submit }) => submit === 'Authorize')?.fields;
    await oauth.letIn(owner, reader, { scope: 'emails:read' }, { ends: 'never' });
    const asked = async (scope = 'emails:read emails:send') =>
      (await oauth.asked(owner, reader, newVerifier(), { scope })).page;
    expect(fields(await asked('emails:read templates:write'))).toMatchObject({ approval: 'sends', ends: '90' });
    const first = await asked();
    expect(fields(first)).toMatchObject({ approval: 'sends', ends: '90' });
    expect(first.text).toContain('that access cannot send email');
    await oauth.letIn(owner, reader, { scope: 'templates:write' }, { approval: 'none', ends: 'never' });
    expect(fields(await asked())).toMatchObject({ approval: 'sends', ends: '90' });
    await oauth.letIn(owner, reader, { scope: 'emails:read emails:send' }, { approval: 'broadcasts', ends: 'never' });
    expect(fields(await asked())).toMatchObject({ approval: 'broadcasts', ends: 'never' });
  });

  it('has no host in its policy that would be read as syntax, even for clients registered before that check', async () => {
    for (const uri of ["https://a';b.example/cb", 'https://a,b.example/cb', 'https://*.example/cb']) {
      const old = await oauth.register();
      const { db } = scene.app.world;
      await db.run('update oauth_clients set redirect_uris = ? where client_id = ?', [
        JSON.stringify([uri]),
        old.clientId,
      ]);
      const { page } = await oauth.asked(owner, old, newVerifier(), { redirect_uri: uri });
      expect(page.headers['content-security-policy']).toContain("form-action 'self' https:;");
    }
  });

  it('can be answered once, even by two clicks at once', async () => {
    for (let round = 0; round < scaled(3); round++) {
      const { visitor: browser, page } = await oauth.asked(owner, app, newVerifier());
      const answers = await Promise.all([browser.send(page, 'Authorize'), browser.send(page, 'Authorize')]);
      expect(answers.map(({ status }) => status).sort()).toEqual([303, 422]);
      expect((await browser.send(page, 'Cancel')).status).toBe(422);
    }
  });

  it('accepts an answer only from our own page, of this session, for what it showed', async () => {
    const { page } = await oauth.asked(owner, app, newVerifier());
    const mine = oauth.visitorOf(owner);
    const body = new URLSearchParams({ ...page.forms[0]?.fields, decision: 'allow' }).toString();
    const foreign = await mine.open('/oauth/consent', { body, headers: { origin: 'https://evil.example' } });
    expect(foreign.status).toBe(403);
    const other = await people.session(owner, team.id);
    expect((await oauth.visitorOf(other).send(page, 'Authorize')).status).toBe(422);
    const stranger = await people.person({ team, role: 'owner' });
    expect((await oauth.visitorOf(stranger).send(page, 'Authorize')).status).toBe(422);
    const none = await visitor().open('/oauth/consent', { body });
    expect(none.leadsTo).toMatch(/^\/sign-in/);
    expect((await mine.send(page, 'Authorize')).status).toBe(303);
  });

  it.each(['', 'consent=', 'consent=x&decision=maybe', 'consent=a&consent=b&decision=allow', 'decision=allow'])(
    'grants nothing for the form %j',
    async (body) => {
      const answer = await oauth.visitorOf(owner).open('/oauth/consent', { body, method: 'POST' });
      expect(answer.status).toBeGreaterThanOrEqual(400);
      expect(answer.leadsTo).toBeUndefined();
    },
  );

  it('expires after ten minutes, and a GET grants nothing', async () => {
    const { visitor: browser, page } = await oauth.asked(owner, app, newVerifier());
    const query = new URLSearchParams({ ...page.forms[0]?.fields }).toString();
    expect((await browser.open(`/oauth/consent?${query}`)).status).toBe(400);
    scene.clock.advance(10 * 60_000);
    expect((await browser.send(page, 'Authorize')).status).toBe(422);
  });

  it('is shown each time, however often consent was given', async () => {
    await oauth.letIn(owner, app);
    expect((await oauth.asked(owner, app, newVerifier())).page.heading).toBe('Authorize Newsletter Desk');
  });

  it('grants nothing for somebody who has left the team since it was shown', async () => {
    const person = await people.person({ team });
    const { visitor: browser, page } = await oauth.asked(person, app, newVerifier());
    await scene.app.world.db.run('delete from team_members where id = ?', [person.memberId]);
    const answer = await browser.send(page, 'Authorize');
    expect([answer.status, answer.leadsTo]).toEqual([403, undefined]);
  });

  it('reports an address that is too long to return to, and what to do', async () => {
    const state = 's'.repeat(512);
    const scope = 'emails:read '.repeat(130).trim();
    const query = oauth.queryOf(app, newVerifier(), { state, scope });
    const nobody = oauth.visitorOf({ ...owner, headers: { cookie: 'other=1' } });
    const page = await nobody.open(`/oauth/consent?${query}`);
    expect([page.status, page.leadsTo]).toEqual([401, undefined]);
    expect(page.text).toContain('more than 2000 characters');
    expect(page.links).toContain('/sign-in');
    // A signed-in person sees the page, as with a shorter one.
    expect((await oauth.visitorOf(owner).open(`/oauth/consent?${query}`)).heading).toBe('Authorize Newsletter Desk');
  });

  it('grants nothing for somebody whose session ends at the same moment', async () => {
    const person = await people.person({ team, role: 'owner' });
    const { visitor: browser, page } = await oauth.asked(person, app, newVerifier());
    const { db } = scene.app.world;
    const waiting = async () => {
      const sql =
        "select count(*) as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
      return Number((await db.get<{ n: number }>(sql))?.n);
    };
    let answer: Promise<PageSeen> | undefined;
    await db.tx(async (tx) => {
      await lockUser(tx, person.userId);
      await tx.run('delete from sessions where user_id = ?', [person.userId]);
      answer = browser.send(page, 'Authorize');
      if (db.dialect === 'pg') await expect.poll(waiting).toBe(1);
    });
    expect((await answer)?.leadsTo ?? '').not.toContain('code=');
    const codes = await db.all('select * from oauth_codes where user_id = ?', [person.userId]);
    expect(codes).toEqual([]);
  });

  it('requires a team', async () => {
    const { page } = await oauth.asked(await people.person(), app, newVerifier());
    expect([page.status, page.heading]).toEqual([403, 'Choose a team first']);
  });

  it('shows untrusted text escaped, and loads nothing from the app', async () => {
    const hostile = await oauth.register({
      client_name: '<img src=x onerror=alert(1)> אפליקציה &amp; "Rasket"',
      logo_uri: 'https://app.example.com/logo.svg',
      client_uri: 'https://app.example.com/',
    });
    const { page } = await oauth.asked(owner, hostile, newVerifier());
    expect(page.html).toContain('<bdi>&lt;img src=x onerror=alert(1)&gt; אפליקציה &amp;amp; ');
    expect(page.html).not.toContain('logo.svg');
    expect(page.html).not.toMatch(/<img|<script/);
    // This name was stored before such names were refused.
    const name = 'Desk\u202eteksaR';
    await scene.app.world.db.run('update oauth_clients set name = ? where client_id = ?', [name, hostile.clientId]);
    const { page: second } = await oauth.asked(owner, hostile, newVerifier());
    expect(second.html).toContain(`<bdi>${name}</bdi>`);
    expect(second.title).not.toContain('Desk');
  });
});

describe('the page of connected apps', () => {
  it('shows the apps of the person in every team, and revokes them', async () => {
    const other = await scene.team('Second <team>');
    const person = await people.person({ team });
    const columns = 'id, team_id, user_id, role, created_at';
    const row = [scene.app.world.ids.uuid(), other.id, person.userId, 'viewer', scene.clock.now()];
    await scene.app.world.db.run(`insert into team_members (${columns}) values (?, ?, ?, ?, ?)`, row);
    const hostile = await oauth.register({ client_name: 'Desk <b>' });
    const here = await oauth.letIn(person, hostile);
    const there = await oauth.letIn(await people.session(person, other.id), app);
    const stranger = await oauth.letIn(owner, app);
    expect((await scene.api('GET', '/team', { key: here.access_token })).status).toBe(200);
    const browser = oauth.visitorOf(person);
    expect((await browser.open('/account')).links).toContain('/account/apps');
    const page = await browser.open('/account/apps');
    expect(page.heading).toBe('Authorized apps');
    expect(page.text).toMatch(
      /Newsletter Desk In Second <team>, authorized .*, never used .*Desk <b> In .*, last used /,
    );
    expect(page.forms.filter(({ submit }) => submit === 'Revoke access')).toHaveLength(2);
    const ended = await browser.follow(browser.send(page, 'Revoke access'));
    expect(ended.text).toContain('The access of the app was revoked.');
    expect(ended.forms.filter(({ submit }) => submit === 'Revoke access')).toHaveLength(1);
    expect((await scene.api('GET', '/team', { key: there.access_token })).status).toBe(401);
    expect((await scene.api('GET', '/team', { key: here.access_token })).status).toBe(200);
    const [entry] = (await scene.api('GET', '/audit', { key: other.key })).body.data;
    expect(entry).toMatchObject({ action: 'oauth_grant.revoked', actor: { kind: 'user', id: person.userId } });
    const theirs = (await scene.api('GET', '/oauth/grants', { key: team.key })).body.data[0].id;
    for (const id of [theirs, 'x']) {
      const body = `grant_id=${id}`;
      expect(await browser.open('/account/apps', { body })).toMatchObject({ status: 404, leadsTo: undefined });
    }
    expect((await scene.api('GET', '/team', { key: stranger.access_token })).status).toBe(200);
    expect((await new PageVisitor(scene).open('/account/apps')).leadsTo).toBe('/sign-in?next=%2Faccount%2Fapps');
  });
});
