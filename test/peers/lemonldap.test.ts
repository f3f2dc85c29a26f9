// rasket <-- who somebody is -- LemonLDAP::NG, a provider of other people, in Perl
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createPeople, type People } from '../rig/people.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { asSignedIn, Browsing, proveDomain, startUrl, teamWithSso, type Visit } from '../rig/sso.ts';
import { startLemonldap, throughPortal, type Lemonldap } from './lemonldap.ts';
import { describePeers } from './peers.ts';

/** The domain of the people in the demonstration. */
const DOMAIN = 'badwolf.org';

describePeers('LemonLDAP::NG', ['lemonldap-ng'], () => {
  let [scene, people, provider]: [Scene, People, Lemonldap] = [undefined, undefined, undefined] as never;
  beforeEach(async () => {
    scene = await startScene({ config: { sso: { allow_private: ['127.0.0.0/8'] } } });
    people = createPeople(scene);
    provider = await startLemonldap({ redirectUri: `${scene.url}/auth/sso/callback` });
  });
  afterEach(async () => {
    await provider?.close();
    await scene.close();
  });

  async function connected() {
    const made = await teamWithSso(scene, people, provider);
    await proveDomain(scene, made.owner, made.team, DOMAIN);
    return made;
  }

  async function signIn(person: string): Promise<Visit & { browser: Browsing }> {
    const browser = new Browsing();
    const started = await browser.get(startUrl(scene, `${person}@${DOMAIN}`, '/account'));
    if (started.location === null) return { ...started, browser };
    const back = await throughPortal(started.location, person);
    expect(back).toContain(`${scene.url}/auth/sso/callback?`);
    return { ...(await browser.get(back)), browser };
  }

  it('signs its users in', async () => {
    const { team } = await connected();
    const done = await signIn('rtyler');
    const failed = scene.log.filter((line) => line.includes('provider failed'));
    expect([done.status, done.location, failed]).toEqual([303, '/account', []]);
    expect((await asSignedIn(scene, done.browser)('GET', '/auth/session')).body).toMatchObject({
      user: { email: `rtyler@${DOMAIN}`, name: 'Rose Tyler' },
      current_team: { id: team.id, sso: { status: 'active', issuer: provider.issuer } },
    });
  });

  it('refuses a wrong client secret, and nobody is signed in until it is right', async () => {
    const { put } = await connected();
    await put({ client_secret: 'another' });
    const refused = await signIn('dwho');
    expect([refused.status, refused.browser.cookies.has('rasket_session')]).toEqual([502, false]);
    expect(scene.log.join('\n')).toContain('invalid_client');
    await put({ client_secret: provider.secret });
    expect((await signIn('dwho')).status).toBe(303);
  });

  it('can sign with a new key, which is loaded when a token names it', async () => {
    await connected();
    expect((await signIn('msmith')).status).toBe(303);
    await provider.rotate();
    scene.clock.advance(61_000);
    expect((await signIn('msmith')).status).toBe(303);
  });

  it('can be down, and people sign in when it is up again', async () => {
    await connected();
    expect((await signIn('dwho')).status).toBe(303);
    await provider.stop();
    scene.clock.advance(601_000);
    const page = await new Browsing().get(startUrl(scene, `dwho@${DOMAIN}`));
    expect([page.status, page.text]).toEqual([503, expect.stringContaining('does not respond')]);
    await provider.start();
    scene.clock.advance(5000);
    expect((await signIn('dwho')).status).toBe(303);
  });
});
