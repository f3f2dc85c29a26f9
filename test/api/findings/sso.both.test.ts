// the provider of a team's single sign-on, and the proof of its domains --> GET /findings of the team, and of the operator
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { createPeople } from '../../rig/people.ts';
import { startScene, type Scene } from '../../rig/scene.ts';
import { Browsing, signInBySso, startUrl, teamWithSso, throughProvider } from '../../rig/sso.ts';
import { startStandInProvider, type StandInProvider, type Wrongs } from '../../rig/stand-in-provider.ts';
import type { Told } from './read-findings.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

let scene: Scene;
let provider: StandInProvider;
beforeAll(async () => {
  scene = await startScene({ config: { sso: { allow_private: ['127.0.0.0/8'] } } });
});
afterAll(() => scene.close());
beforeEach(async () => {
  provider = await startStandInProvider(() => scene.clock.now());
  return () => provider.close();
});

/** No account of this installation can be mailed, which is a finding too. */
const ofSso = ({ body }: { body: { findings: Told[] } }): Told[] =>
  body.findings.filter(({ code }) => code.startsWith('sso_'));

let made = 0;
async function teamAndPerson() {
  const given = await teamWithSso(scene, createPeople(scene), provider);
  const email = `ada${++made}@${given.domain}`;
  provider.person = { sub: `subject ${made}`, email, email_verified: true };
  const told = async (): Promise<Told[]> => ofSso(await given.owner.call('GET', '/findings'));
  return { ...given, email, told, codes: async () => (await told()).map(({ code }) => code) };
}

const job = (name: string) => scene.app.jobs.find((one) => one.name === name)?.run();
const recheck = () => job('recheck-sso-providers');
const host = () => new URL(provider.issuer).host;
const iso = (at: number): string => new Date(at).toISOString();
const down: Wrongs = {
  serve: { path: '/.well-known/openid-configuration', answer: (response) => response.writeHead(503).end() },
};

it('an SSO provider that is down is reported with the start time and its answer, until it works', async () => {
  const { told, codes, email } = await teamAndPerson();
  const stranger = await scene.team();
  await recheck();
  expect(await codes()).toEqual([]);
  provider.wrong = down;
  const since = scene.clock.now();
  await recheck();
  expect(await codes(), 'for a minute it may be started again').toEqual([]);
  scene.clock.advance(10 * MINUTE_MS);
  await recheck();
  const finding = {
    code: 'sso_provider_down',
    severity: 'error',
    subjects: [host()],
    since: iso(since),
    count: 1,
    summary: `The identity provider ${host()} does not answer, so nobody can sign in through it: ${provider.issuer} answered 503.`,
    advice: { words: expect.any(String), command: 'rasket sso get' },
  };
  expect(await told()).toMatchObject([finding]);
  const operator = await scene.api('GET', '/operator/findings', { key: await scene.operator() });
  expect(ofSso(operator)).toMatchObject([finding]);
  expect(ofSso(await scene.api('GET', '/findings', { key: stranger.key }))).toEqual([]);
  provider.wrong = {};
  await recheck();
  expect(await codes()).toEqual([]);
  expect((await signInBySso(scene, email)).status).toBe(303);
});

it('an SSO provider that a sign-in found down is reported too, until a later sign-in works', async () => {
  const { codes, email } = await teamAndPerson();
  provider.wrong = down;
  expect((await new Browsing().get(startUrl(scene, email))).status).toBe(503);
  provider.wrong = {};
  scene.clock.advance(2 * MINUTE_MS);
  expect(await codes()).toEqual(['sso_provider_down']);
  expect((await signInBySso(scene, email)).status).toBe(303);
  expect(await codes()).toEqual([]);
});

it('an SSO provider that answers wrongly is reported until somebody has signed in, whatever its metadata says', async () => {
  const { told, codes, email } = await teamAndPerson();
  provider.wrong = { claims: { aud: 'somebody else' } };
  expect((await signInBySso(scene, email)).status).toBe(502);
  scene.clock.advance(11 * MINUTE_MS);
  await recheck();
  const [finding] = await told();
  expect(finding).toMatchObject({ code: 'sso_provider_wrong', subjects: [host()], severity: 'error' });
  expect(finding?.summary).toMatch(/returns invalid responses.*JWT claim value encountered \(aud\)/);
  provider.wrong = {};
  expect((await signInBySso(scene, email)).status).toBe(303);
  expect(await codes()).toEqual([]);
});

it('an SSO connection keeps its last failure with time and reason, and says when it works again', async () => {
  const { owner, team, email } = await teamAndPerson();
  const shown = async () => (await owner.call('GET', `/teams/${team.id}/sso`)).body;
  expect(await shown()).toMatchObject({ failing_since: null, last_failure: null });
  const { secret } = provider;
  provider.secret = 'a new one';
  const first = scene.clock.now();
  expect((await signInBySso(scene, email)).status).toBe(502);
  scene.clock.advance(MINUTE_MS);
  expect((await signInBySso(scene, email)).status).toBe(502);
  const wrong = {
    at: iso(scene.clock.now()),
    kind: 'provider_wrong',
    reason: expect.stringContaining('it said invalid_client'),
  };
  expect(await shown()).toMatchObject({ failing_since: iso(first), last_failure: wrong });
  const readAccount = async () =>
    (await fetch(`${scene.url}/account`, { headers: { cookie: owner.headers['cookie'] ?? '' } })).text();
  expect(await readAccount()).toContain('it said invalid_client');
  provider.secret = secret;
  expect((await signInBySso(scene, email)).status).toBe(303);
  expect(await shown()).toMatchObject({ failing_since: null, last_failure: wrong });
  expect(await readAccount()).not.toContain('it said invalid_client');
  provider.wrong = down;
  await recheck();
  expect((await shown()).last_failure).toEqual({
    at: iso(scene.clock.now()),
    kind: 'provider_down',
    reason: `${provider.issuer} answered 503`,
  });
});

it('an SSO connection shows who was not admitted and the reason, which is no finding', async () => {
  const { owner, team, email, codes } = await teamAndPerson();
  provider.person = { ...provider.person, email_verified: false };
  expect((await signInBySso(scene, email)).status).toBe(403);
  scene.clock.advance(2 * MINUTE_MS);
  expect((await owner.call('GET', `/teams/${team.id}/sso`)).body).toMatchObject({
    failing_since: null,
    last_failure: {
      kind: 'not_admitted',
      reason: `${email} was not signed in: the provider has not verified the email address`,
    },
  });
  expect(await codes()).toEqual([]);
});

it('an SSO provider that does not know our client is reported in its words, until the connection is changed', async () => {
  const { told, codes, email, put } = await teamAndPerson();
  const { secret } = provider;
  provider.secret = 'a new one';
  expect((await signInBySso(scene, email)).status).toBe(502);
  scene.clock.advance(2 * MINUTE_MS);
  expect((await told())[0]?.summary).toContain('it said invalid_client');
  provider.secret = secret;
  await put({ client_secret: secret });
  expect(await codes()).toEqual([]);
});

it('input from a browser causes no finding about an SSO provider', async () => {
  const { owner, team, codes, email } = await teamAndPerson();
  const answers: NonNullable<Wrongs['answer']>[] = [
    { code: 'made up' },
    { code: null },
    { iss: 'https://evil.example' },
  ];
  for (const wrong of answers) {
    const browser = new Browsing();
    const { location } = await browser.get(startUrl(scene, email));
    provider.wrong = { answer: wrong };
    const back = await throughProvider(new Browsing(), location ?? '', scene.url);
    provider.wrong = {};
    expect((await browser.get(back)).status).toBe(502);
  }
  scene.clock.advance(2 * MINUTE_MS);
  expect(await codes()).toEqual([]);
  expect((await owner.call('GET', `/teams/${team.id}/sso`)).body.last_failure).toBeNull();
});

it('a domain that is no longer proven is reported with its reason, until it is proven again', async () => {
  const { team, owner, domain, told, codes } = await teamAndPerson();
  const { record } = (await owner.call('GET', `/teams/${team.id}/sso`)).body.domains[0];
  scene.dns.set(record.name, 'TXT', []);
  for (let day = 0; day < 4; day++) {
    scene.clock.advance(DAY_MS);
    await job('recheck-sso-domains');
  }
  expect(await told()).toMatchObject([
    {
      code: 'sso_domain_lost',
      severity: 'error',
      subjects: [domain],
      since: iso(scene.clock.now()),
      summary: expect.stringMatching(`The domain ${domain} is no longer verified.*There is no TXT record`),
      advice: { command: `rasket sso verify-domain ${domain}` },
    },
  ]);
  const verify = () => owner.call('POST', `/teams/${team.id}/sso/domains/${domain}/verify`);
  await verify();
  expect(await codes()).toEqual(['sso_domain_lost']);
  scene.dns.set(record.name, 'TXT', [[record.value]]);
  expect((await verify()).body.status).toBe('verified');
  expect(await codes()).toEqual([]);
});
