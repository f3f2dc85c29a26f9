import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createPeople, type People, type Person } from '../../rig/people.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';
import {
  asSignedIn,
  Browsing,
  proveDomain,
  signInBySso,
  startUrl,
  teamWithSso,
  throughProvider,
} from '../../rig/sso.ts';
import { startStandInProvider, type Signing, type StandInProvider, type Wrongs } from '../../rig/stand-in-provider.ts';

let scene: Scene;
let people: People;
let provider: StandInProvider;
beforeAll(async () => {
  scene = await startScene({ config: { sso: { allow_private: ['127.0.0.0/8'] } }, networkWaits: 'by hand' });
  people = createPeople(scene);
});
afterAll(() => scene.close());
beforeEach(async () => {
  provider = await startStandInProvider(() => scene.clock.now());
  return () => provider.close();
});

let made = 0;
type Made = Awaited<ReturnType<typeof teamWithSso>>;

/** Creates a team, and a person whom its provider vouches for. */
async function teamAndPerson(): Promise<Made & { email: string }> {
  const team = await teamWithSso(scene, people, provider);
  const email = `ada${++made}@${team.domain}`;
  provider.person = { sub: `subject ${made}`, email, email_verified: true, name: 'Ada' };
  return { ...team, email };
}

const fetchMembers = async ({ team, owner }: Made): Promise<{ email: string; role: string; id: string }[]> =>
  (await owner.call('GET', `/teams/${team.id}/members`)).body.data;

const withPassword = async ({ userId }: Person) =>
  scene.app.world.db.run('update users set password_hash = ? where id = ?', [
    await scene.app.world.passwords.hash('long enough'),
    userId,
  ]);

async function enforce(made: Made & { email: string }): Promise<void> {
  const { owner, team, put } = made;
  expect((await signInBySso(scene, made.email)).status).toBe(303);
  await withPassword(owner);
  await owner.call('PATCH', `/teams/${team.id}/members/${owner.memberId}`, { sso_exempt: true });
  expect((await put({ enforced: true })).body.enforced).toBe(true);
}

describe('a sign-in through SSO', () => {
  it('creates a person, who is in the team with its default role', async () => {
    const given = await teamAndPerson();
    await given.put({ default_role: 'viewer' });
    const done = await signInBySso(scene, given.email, { next: '/account?a=b' });
    expect([done.status, done.location]).toEqual([303, '/account?a=b']);
    const call = asSignedIn(scene, done.browser);
    const session = (await call('GET', '/auth/session')).body;
    expect(session).toMatchObject({
      user: { email: given.email, name: 'Ada', email_verified_at: expect.any(String) as string },
      current_team: { id: given.team.id, sso: { status: 'active', domains: [given.domain] } },
    });
    expect((await call('GET', '/domains')).status).toBe(200);
    expect((await fetchMembers(given)).find(({ email }) => email === given.email)).toMatchObject({ role: 'viewer' });
    const audit = (await given.owner.call('GET', '/audit')).body.data as { action: string; details: unknown }[];
    expect(audit.filter(({ action }) => action === 'team_member.linked')).toHaveLength(1);
    // The second time nothing is linked and no person is created.
    expect((await signInBySso(scene, given.email)).location).toBe('/account');
    const after = (await given.owner.call('GET', '/audit')).body.data as { action: string }[];
    expect(after.filter(({ action }) => action === 'team_member.linked')).toHaveLength(1);
    expect(await fetchMembers(given)).toHaveLength(2);
    expect(JSON.stringify(scene.log)).not.toContain(provider.secret);
  });

  it('requests what it needs with S256, and tells only the provider', async () => {
    const { email } = await teamAndPerson();
    const browser = new Browsing();
    const started = await browser.get(startUrl(scene, email));
    const to = new URL(started.location ?? '');
    expect(Object.fromEntries(to.searchParams)).toMatchObject({
      response_type: 'code',
      response_mode: 'query',
      scope: 'openid email profile',
      client_id: 'rasket',
      code_challenge_method: 'S256',
      redirect_uri: `${scene.url}/auth/sso/callback`,
      login_hint: email,
    });
    const [cookie] = started.headers.getSetCookie();
    expect(cookie).toMatch(/^__Host-rasket_sso=[^;]+; Max-Age=600; Path=\/; HttpOnly; SameSite=Lax; Secure$/);
    expect(started.headers.get('referrer-policy')).toBeTruthy();
    expect(started.headers.get('cache-control')).toBe('no-store');
    for (const name of ['state', 'nonce', 'code_challenge'])
      expect(to.searchParams.get(name)?.length).toBeGreaterThanOrEqual(43);
  });

  it('finds a verified account by its address in another spelling', async () => {
    const given = await teamAndPerson();
    const person = await people.person({ email: given.email });
    provider.person = { ...provider.person, email: given.email.toUpperCase() };
    const { browser } = await signInBySso(scene, given.email);
    expect((await asSignedIn(scene, browser)('GET', '/auth/me')).body.id).toBe(person.userId);
    expect((await person.call('GET', '/auth/me')).status).toBe(200);
  });

  it('with an unverified account keeps nothing of whoever created it', async () => {
    const given = await teamAndPerson();
    const squatter = await people.person({ email: given.email, isVerified: false });
    await withPassword(squatter);
    const { browser } = await signInBySso(scene, given.email);
    expect((await asSignedIn(scene, browser)('GET', '/auth/me')).body.id).toBe(squatter.userId);
    expect((await squatter.call('GET', '/auth/me')).status).toBe(401);
    const login = { email: given.email, password: 'long enough' };
    const answer = await scene.api('POST', '/auth/login', { body: login, headers: { origin: scene.url } });
    expect(answer.status).toBe(422);
  });

  it('is matched by identity when the address at the provider changes within the domains', async () => {
    const given = await teamAndPerson();
    await signInBySso(scene, given.email);
    provider.person = { ...provider.person, email: `married${made}@${given.domain}` };
    const { browser } = await signInBySso(scene, given.email);
    expect((await asSignedIn(scene, browser)('GET', '/auth/me')).body.email).toBe(given.email);
    expect(await fetchMembers(given)).toHaveLength(2);
  });

  it('takes the role of an open invitation and uses it up', async () => {
    const given = await teamAndPerson();
    await given.team.domain();
    const path = `/teams/${given.team.id}/invitations`;
    expect((await given.owner.call('POST', path, { email: given.email, role: 'admin' })).status).toBe(201);
    await signInBySso(scene, given.email);
    expect((await fetchMembers(given)).find(({ email }) => email === given.email)?.role).toBe('admin');
    expect((await given.owner.call('GET', path)).body.data).toEqual([]);
  });

  it('authenticates the client as it is registered: in a header or in the form', async () => {
    const { email } = await teamAndPerson();
    const methods = ['client_secret_basic', 'client_secret_post'];
    provider.wrong = { discovery: { token_endpoint_auth_methods_supported: methods } };
    provider.auth = 'client_secret_post';
    expect((await signInBySso(scene, email)).status).toBe(303);
    expect(provider.asked.filter((path) => path === '/token')).toHaveLength(2);
  });

  it('that happens twice at once creates one person', async () => {
    const given = await teamAndPerson();
    const both = await Promise.all([signInBySso(scene, given.email), signInBySso(scene, given.email)]);
    expect(both.map(({ status }) => status)).toEqual([303, 303]);
    expect(await fetchMembers(given)).toHaveLength(2);
  });
});

/** Expects that nobody is signed in, and that the page gives the reason. */
async function refusedWith(email: string, says: RegExp, status?: number): Promise<void> {
  const done = await signInBySso(scene, email);
  expect(done.browser.cookies.has('rasket_session')).toBe(false);
  expect(done.text).toMatch(says);
  expect(done.status).toBeGreaterThanOrEqual(400);
  if (status !== undefined) expect(done.status).toBe(status);
  expect(done.headers.get('content-type')).toBe('text/html; charset=utf-8');
}

describe('an answer of an SSO provider is refused', () => {
  const seconds = () => Math.floor(scene.clock.now() / 1000);
  it.each<[string, () => Wrongs]>([
    ['for another audience', () => ({ claims: { aud: 'somebody else' } })],
    [
      'for several, of which we are not the authorized party',
      () => ({ claims: { aud: ['rasket', 'other'], azp: 'other' } }),
    ],
    ['authorized for another party', () => ({ claims: { azp: 'other' } })],
    ['of another issuer', () => ({ claims: { iss: 'https://id.example.com' } })],
    ['with another nonce', () => ({ claims: { nonce: 'another' } })],
    ['without a nonce', () => ({ without: ['nonce'] })],
    ['without a subject', () => ({ without: ['sub'] })],
    ['that has expired', () => ({ claims: { exp: seconds() - 120 } })],
    ['without an end', () => ({ without: ['exp'] })],
    ['issued in the future', () => ({ claims: { iat: seconds() + 600, exp: seconds() + 1200 } })],
    ['issued yesterday', () => ({ claims: { iat: seconds() - 86_400 } })],
    ['not valid yet', () => ({ claims: { nbf: seconds() + 600 } })],
    ...(
      [
        'none',
        'HS256 by the secret',
        'HS256 by the public key',
        'by a foreign key',
        'RS256 said of it',
      ] satisfies Signing[]
    ).map((signing): [string, () => Wrongs] => [`signed ${signing}`, () => ({ signing })]),
    [
      'with none in its own list',
      () => ({ signing: 'none', discovery: { id_token_signing_alg_values_supported: ['none', 'ES256'] } }),
    ],
    [
      'with HS256 in its own list',
      () => ({
        signing: 'HS256 by the secret',
        discovery: { id_token_signing_alg_values_supported: ['HS256', 'ES256'] },
      }),
    ],
    ['that calls itself another issuer', () => ({ discovery: { issuer: 'https://id.example.com' } })],
    ['whose endpoint is a private address', () => ({ discovery: { token_endpoint: 'https://10.0.0.1/token' } })],
    ['whose endpoint is no http', () => ({ discovery: { token_endpoint: 'file:///etc/passwd' } })],
    ['whose answer names another issuer (mix-up)', () => ({ answer: { iss: 'https://id.example.com' } })],
    ['whose answer names no issuer, though it always does', () => ({ answer: { iss: null } })],
    ['whose code is unknown', () => ({ answer: { code: 'another' } })],
    [
      'that says no for another issuer',
      () => ({ answer: { code: null, error: 'access_denied', iss: 'https://id.example.com' } }),
    ],
  ])('with a token %s', async (_, wrong) => {
    const { email } = await teamAndPerson();
    provider.wrong = wrong();
    const started = await new Browsing().get(startUrl(scene, email));
    if (started.location === null) return expect([502, 503]).toContain(started.status);
    await refusedWith(email, /is not valid|does not respond/);
    provider.wrong = {};
    // The endpoints of the provider are cached for a while.
    scene.clock.advance(600_000);
    expect((await signInBySso(scene, email)).status).toBe(303);
  });

  it.each([
    ['an address that is not verified', { email_verified: false }, /has not verified your email/],
    ['an address of which it does not say so', { email_verified: undefined }, /has not verified your email/],
    ['an address outside of the domains', { email: 'ada@elsewhere.example' }, /not at a domain of your team/],
    ['an address in a subdomain', { email: 'ada@sub.sso1.example.org' }, /not at a domain of your team/],
    ['a text that is no address', { email: 'ada' }, /not at a domain of your team/],
    ['no address', { email: undefined }, /did not provide your email/],
  ])('with %s', async (_, claims, says) => {
    const { email } = await teamAndPerson();
    provider.person = { ...provider.person, ...claims };
    await refusedWith(email, says, 403);
  });

  it('for another identity with the same address, until an admin unlinks', async () => {
    const given = await teamAndPerson();
    const { browser } = await signInBySso(scene, given.email);
    provider.person = { ...provider.person, sub: 'somebody new' };
    await refusedWith(given.email, /linked to a different identity/, 403);
    const member = (await fetchMembers(given)).find(({ email }) => email === given.email);
    const place = `/teams/${given.team.id}/members/${member?.id}/sso`;
    const viewer = await people.person({ team: given.team, role: 'member' });
    expect((await viewer.call('DELETE', place)).status).toBe(403);
    expect((await given.owner.call('DELETE', place)).body).toMatchObject({ object: 'team_member', email: given.email });
    expect((await asSignedIn(scene, browser)('GET', '/auth/me')).status).toBe(401);
    expect((await signInBySso(scene, given.email)).status).toBe(303);
  });

  it('for people of a domain of another team', async () => {
    const victim = await teamAndPerson();
    await signInBySso(scene, victim.email);
    await using evil = await startStandInProvider(() => scene.clock.now());
    const attacker = await teamWithSso(scene, people, evil);
    evil.person = { sub: 'evil', email: victim.email, email_verified: true };
    const through = `anybody@${attacker.domain}`;
    await refusedWith(through, /not at a domain of your team/, 403);
    // An identity that was linked while the domain was its own does not work either.
    evil.person = { sub: 'evil', email: through, email_verified: true };
    expect((await signInBySso(scene, through)).status).toBe(303);
    await proveDomain(scene, attacker.owner, attacker.team, `second.${attacker.domain}`);
    await attacker.owner.call('DELETE', `/teams/${attacker.team.id}/sso/domains/${attacker.domain}`);
    evil.person = { ...evil.person, email: `anybody@second.${attacker.domain}` };
    await refusedWith(`anybody@second.${attacker.domain}`, /email address of your account is not at a domain/, 403);
  });
});

describe('an SSO callback', () => {
  it('is refused in another browser, without a cookie, and for another attempt', async () => {
    const { email } = await teamAndPerson();
    const mine = new Browsing();
    const theirs = new Browsing();
    const started = await mine.get(startUrl(scene, email));
    const back = await throughProvider(new Browsing(), started.location ?? '', scene.url);
    await theirs.get(startUrl(scene, email));
    for (const browser of [theirs, new Browsing()]) {
      const done = await browser.get(back);
      expect([done.status, browser.cookies.has('rasket_session')]).toEqual([400, false]);
      expect(done.text).toContain('started in another browser');
    }
    expect((await mine.get(back)).status).toBe(303);
  });

  it('cannot be used a second time, even with the cookie kept', async () => {
    const { email } = await teamAndPerson();
    const browser = new Browsing();
    const started = await browser.get(startUrl(scene, email));
    const kept = new Map(browser.cookies);
    const back = await throughProvider(new Browsing(), started.location ?? '', scene.url);
    expect((await browser.get(back)).status).toBe(303);
    const again = new Browsing();
    for (const [name, value] of kept) again.cookies.set(name, value);
    expect((await again.get(back)).text).toContain('was already used');
    expect(again.cookies.has('rasket_session')).toBe(false);
    expect((await browser.get(back)).text).toContain('started in another browser');
  });

  it('must come within ten minutes', async () => {
    const { email } = await teamAndPerson();
    const browser = new Browsing();
    const started = await browser.get(startUrl(scene, email));
    scene.clock.advance(600_000);
    const back = await throughProvider(new Browsing(), started.location ?? '', scene.url);
    expect((await browser.get(back)).text).toContain('more than ten minutes ago');
  });

  it('is no longer stored after an hour', async () => {
    const { email } = await teamAndPerson();
    await signInBySso(scene, email);
    const count = async () => (await scene.app.world.db.get<{ n: number }>('select count(*) as n from sso_answers'))?.n;
    expect(Number(await count())).toBeGreaterThan(0);
    scene.clock.advance(3_600_000);
    await scene.app.jobs.find(({ name }) => name === 'remove-expired-sessions')?.run();
    expect(Number(await count())).toBe(0);
  });

  it('goes to the provider that the attempt began with, whichever other answers', async () => {
    // The browser is redirected from the provider of an attacker to an honest one, and returns with its code.
    const honest = await teamAndPerson();
    await using evil = await startStandInProvider(() => scene.clock.now());
    const attacker = await teamWithSso(scene, people, evil);
    const browser = new Browsing();
    const started = await browser.get(startUrl(scene, `me@${attacker.domain}`));
    const atHonest = new URL(started.location ?? '');
    atHonest.host = new URL(provider.issuer).host;
    const back = await throughProvider(new Browsing(), atHonest.href, scene.url);
    const done = await browser.get(back);
    expect([done.status, browser.cookies.has('rasket_session')]).toEqual([502, false]);
    expect([...evil.asked, ...provider.asked]).not.toContain('/token');
    expect(await fetchMembers(honest)).toHaveLength(1);
  });
});

describe('keys of an SSO provider', () => {
  it('that are new are fetched once, and not again within a minute', async () => {
    const { email } = await teamAndPerson();
    const asked = () => provider.asked.filter((path) => path === '/jwks').length;
    expect([(await signInBySso(scene, email)).status, asked()]).toEqual([303, 1]);
    scene.clock.advance(61_000);
    provider.rotate();
    expect([(await signInBySso(scene, email)).status, asked()]).toEqual([303, 2]);
    expect([(await signInBySso(scene, email)).status, asked()]).toEqual([303, 2]);
    provider.rotate();
    expect([(await signInBySso(scene, email)).status, asked()]).toEqual([502, 2]);
    scene.clock.advance(61_000);
    expect([(await signInBySso(scene, email)).status, asked()]).toEqual([303, 3]);
  });

  it('that were withdrawn are rejected after ten minutes', async () => {
    const { email } = await teamAndPerson();
    await signInBySso(scene, email);
    provider.wrong = {
      serve: { path: '/jwks', answer: (r) => r.setHeader('content-type', 'application/json').end('{"keys":[]}') },
    };
    scene.clock.advance(601_000);
    await refusedWith(email, /is not valid/);
  });
});

describe('a failing SSO provider', () => {
  it('that is down is reported on a page with advice', async () => {
    const { email } = await teamAndPerson();
    await provider.close();
    const page = await new Browsing().get(startUrl(scene, email));
    expect(page.status).toBe(503);
    expect(page.text).toMatch(/does not respond.*An owner who is exempt/s);
    provider = await startStandInProvider(() => scene.clock.now());
  });

  it('an SSO provider that went down after somebody signed in is reported on a page of ours, not by a dead address', async () => {
    const { email } = await teamAndPerson();
    expect((await signInBySso(scene, email)).status).toBe(303);
    await provider.close();
    scene.clock.advance(10_000);
    const page = await new Browsing().get(startUrl(scene, email));
    provider = await startStandInProvider(() => scene.clock.now());
    expect([page.status, page.location]).toEqual([503, null]);
    expect(page.text).toMatch(/does not respond.*An owner who is exempt/s);
  });

  it('that did not answer is tried again after five seconds', async () => {
    const { email } = await teamAndPerson();
    const down = (response: { writeHead: (status: number) => { end: () => void } }) => response.writeHead(503).end();
    provider.wrong = { serve: { path: '/.well-known/openid-configuration', answer: down } };
    // The connection was set up a moment ago, which read the metadata too.
    provider.asked.length = 0;
    for (let n = 0; n < 5; n++) expect((await new Browsing().get(startUrl(scene, email))).status).toBe(503);
    expect(provider.asked).toHaveLength(1);
    provider.wrong = {};
    scene.clock.advance(5000);
    expect((await signInBySso(scene, email)).status).toBe(303);
  });

  it('that is slow is reported on a page after the timeout', async () => {
    const { email } = await teamAndPerson();
    const waits = Promise.withResolvers<void>();
    provider.wrong = { serve: { path: '/token', answer: () => waits.resolve() } };
    const page = signInBySso(scene, email);
    await waits.promise;
    scene.clock.advance(10_000);
    expect([(await page).status, (await page).text]).toEqual([503, expect.stringContaining('does not respond')]);
  });

  it.each(['/.well-known/openid-configuration', '/token', '/jwks'])(
    'that answers 10 MB at %s is reported on a page',
    async (path) => {
      const { email } = await teamAndPerson();
      let sent = 0;
      provider.wrong = {
        serve: {
          path,
          answer(response) {
            response.writeHead(200, { 'content-type': 'application/json' });
            const piece = Buffer.alloc(65_536, ' ');
            const more = (): void => {
              while (sent < 10_485_760 && !response.destroyed) {
                sent += piece.length;
                if (!response.write(piece)) return void response.once('drain', more);
              }
              response.end('{}');
            };
            more();
          },
        },
      };
      await refusedWith(email, /is not valid/, 502);
    },
  );

  it.each([
    ['redirects', '/token', 302],
    ['fails', '/token', 500],
  ])('that %s is reported on a page', async (_, path, status) => {
    const { email } = await teamAndPerson();
    const answer: NonNullable<Wrongs['serve']>['answer'] = (response) =>
      void response.writeHead(status, { location: `${provider.issuer}/elsewhere` }).end();
    provider.wrong = { serve: { path, answer } };
    await refusedWith(email, /is not valid/, 502);
    expect(provider.asked).not.toContain('/elsewhere');
  });

  it('that refuses the sign-in is reported in its own words, escaped', async () => {
    const { email } = await teamAndPerson();
    provider.wrong = { answer: { code: null, error: '<b>access_denied</b>' } };
    await refusedWith(email, /refused to sign you in.*&lt;b&gt;access_denied/s, 403);
  });
});

describe('GET /auth/sso/start', () => {
  it('gives the same answer for all addresses of a domain, whether or not the account exists', async () => {
    const person = await people.person({ email: 'real@nosso.example' });
    const page = (email: string) => new Browsing().get(startUrl(scene, email));
    const real = await page(person.email);
    const unknown = await page('nobody@nosso.example');
    expect([real.status, real.text.replaceAll('real@', 'nobody@')]).toEqual([404, unknown.text]);
    expect(real.text).toContain('Single sign-on is not set up for addresses of this domain');
    const { domain } = await teamAndPerson();
    expect((await page(`nobody@${domain}`)).status).toBe(303);
    expect((await page('no address')).text).toContain('Enter a valid email address');
    expect((await new Browsing().get(`${scene.url}/auth/sso/start`)).text).toContain('<form method="post"');
  });

  it.each([
    '//evil.example',
    'https://evil.example',
    '/\\evil.example',
    '/.//evil.example',
    '\t//evil.example',
    'javascript:alert(1)',
  ])('does not redirect to %j', async (next) => {
    const { email } = await teamAndPerson();
    const done = await signInBySso(scene, email, { next });
    expect([done.status, done.location]).toEqual([303, '/account']);
  });

  it('starts from its form as well', async () => {
    const { email } = await teamAndPerson();
    const post = (origin: string) =>
      fetch(`${scene.url}/auth/sso/start`, {
        method: 'POST',
        redirect: 'manual',
        body: new URLSearchParams({ email }),
        headers: { origin },
      });
    expect((await post(scene.url)).headers.get('location')).toContain(provider.issuer);
    expect((await post('https://evil.example')).status).toBe(403);
  });
});

/** Checks that every call and the account page of a person with a password name the team and its sign-in. */
async function explainsItself({ call, headers }: Person, { id }: Team) {
  const { name } = (await scene.app.world.db.get<{ name: string }>('select name from teams where id = ?', [id])) ?? {};
  const says = `The team "${name}" enforces single sign-on, and this session began with a password; sign in through its provider: ${scene.url}/auth/sso/start`;
  for (const path of ['/domains', '/emails']) {
    const refused = await call('GET', path);
    expect([refused.status, refused.body.message]).toEqual([403, says]);
  }
  const page = await (await fetch(`${scene.url}/account`, { headers: { cookie: headers['cookie'] ?? '' } })).text();
  expect(page).toContain('enforces single sign-on, and this session began with a password');
  expect(page).toContain('href="/auth/sso/start"');
}

describe('access with SSO', () => {
  it('through one team’s provider reaches that team alone', async () => {
    const first = await teamAndPerson();
    const { person } = provider;
    await using other = await startStandInProvider(() => scene.clock.now());
    const second = await teamWithSso(scene, people, other);
    other.person = { sub: 'x', email: `x@${second.domain}`, email_verified: true };
    await enforce({ ...second, email: `x@${second.domain}` });
    await enforce(first);
    provider.person = person;
    const third = await scene.team();
    const done = await signInBySso(scene, first.email);
    const call = asSignedIn(scene, done.browser);
    const userId = (await call('GET', '/auth/me')).body.id as string;
    const join = (team: Team, isExempt: number) =>
      scene.app.world.db.insertMany(
        'team_members',
        ['id', 'team_id', 'user_id', 'role', 'sso_exempt', 'created_at'],
        [[crypto.randomUUID(), team.id, userId, 'owner', isExempt, scene.clock.now()]],
      );
    // An exempt person signs in with a password, not through the provider of another team.
    await join(second.team, 1);
    await join(third, 0);
    const moved = async (team: Team) => (await call('POST', `/teams/${team.id}/switch`)).status;
    expect([await moved(second.team), await moved(third), await moved(first.team)]).toEqual([403, 403, 200]);
    expect((await call('GET', '/domains')).status).toBe(200);
  });

  it('with a password is not possible to an enforced team, except for an exempt owner while the provider is down', async () => {
    const given = await teamAndPerson();
    await enforce(given);
    const member = await people.person({ team: given.team, role: 'admin' });
    await withPassword(member);
    await provider.close();
    const logIn = async ({ email }: Person) => {
      const body = { email, password: 'long enough' };
      return (await scene.api('POST', '/auth/login', { body, headers: { origin: scene.url } })).body.current_team;
    };
    expect(await logIn(member)).toBeNull();
    await explainsItself(member, given.team);
    expect((await logIn(given.owner)).id).toBe(given.team.id);
    scene.clock.advance(601_000);
    expect((await new Browsing().get(startUrl(scene, given.email))).status).toBe(503);
    provider = await startStandInProvider(() => scene.clock.now());
  });

  it('ends at once for a removed person, and stays closed until an invitation', async () => {
    const given = await teamAndPerson();
    await given.team.domain();
    const done = await signInBySso(scene, given.email);
    const call = asSignedIn(scene, done.browser);
    const member = (await fetchMembers(given)).find(({ email }) => email === given.email);
    await given.owner.call('DELETE', `/teams/${given.team.id}/members/${member?.id}`);
    expect((await call('GET', '/auth/me')).status).toBe(401);
    await refusedWith(given.email, /no longer a member of this team/, 403);
    const invited = { email: given.email, role: 'viewer' };
    expect((await given.owner.call('POST', `/teams/${given.team.id}/invitations`, invited)).status).toBe(201);
    expect((await signInBySso(scene, given.email)).status).toBe(303);
    // A person removed before having signed in through it cannot sign in either.
    const late = await people.person({ team: given.team, email: `late${made}@${given.domain}` });
    await given.owner.call('DELETE', `/teams/${given.team.id}/members/${late.memberId}`);
    provider.person = { sub: 'late', email: late.email, email_verified: true };
    await refusedWith(late.email, /no longer a member of this team/, 403);
  });

  it('ends with the connection, and with a replaced one', async () => {
    const given = await teamAndPerson();
    const first = await signInBySso(scene, given.email);
    await given.put({ default_role: 'viewer' });
    expect((await asSignedIn(scene, first.browser)('GET', '/auth/me')).status).toBe(200);
    await given.put({ client_id: 'another', client_secret: provider.secret });
    expect((await asSignedIn(scene, first.browser)('GET', '/auth/me')).status).toBe(401);
    provider.clientId = 'another';
    const second = await signInBySso(scene, given.email);
    expect(second.status).toBe(303);
    expect((await given.owner.call('DELETE', `/teams/${given.team.id}/sso`)).status).toBe(200);
    expect((await asSignedIn(scene, second.browser)('GET', '/auth/me')).status).toBe(401);
    expect((await given.owner.call('GET', '/auth/me')).status).toBe(200);
    expect((await new Browsing().get(startUrl(scene, given.email))).status).toBe(404);
  });

  it('is not granted to a sign-in that began before the connection was replaced', async () => {
    const given = await teamAndPerson();
    const browser = new Browsing();
    const started = await browser.get(startUrl(scene, given.email));
    const back = await throughProvider(new Browsing(), started.location ?? '', scene.url);
    await given.put({ client_id: 'another', client_secret: 'x' });
    expect((await browser.get(back)).text).toContain('changed its single sign-on settings in the meantime');
  });

  it('does not require our second factor', async () => {
    const given = await teamAndPerson();
    const person = await people.person({ email: given.email });
    await scene.app.world.db.run('update users set mfa_enabled_at = ? where id = ?', [
      scene.clock.now(),
      person.userId,
    ]);
    expect((await signInBySso(scene, given.email)).location).toBe('/account');
  });
});
