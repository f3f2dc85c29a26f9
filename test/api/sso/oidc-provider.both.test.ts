import { expect, it } from 'vitest';
import { startOidcProvider } from '../../rig/oidc-provider.ts';
import { createPeople } from '../../rig/people.ts';
import { startScene } from '../../rig/scene.ts';
import { asSignedIn, Browsing, signInBySso, startUrl, teamWithSso, throughProvider } from '../../rig/sso.ts';

it.each([undefined, 'client_secret_post'] as const)(
  'people sign in through the provider of the package oidc-provider, with the client registered as %s',
  async (auth) => {
    await using scene = await startScene({ config: { sso: { allow_private: ['127.0.0.0/8'] } } });
    await using provider = await startOidcProvider({
      redirectUri: `${scene.url}/auth/sso/callback`,
      ...(auth ? { auth } : {}),
    });
    const { team, domain } = await teamWithSso(scene, createPeople(scene), provider);
    const email = `grace@${domain}`;
    // The address is at the userinfo endpoint, and not in the token.
    provider.person = { sub: 'grace-1', email, email_verified: true, name: 'Grace' };
    const done = await signInBySso(scene, email, { next: '/account' });
    expect([done.status, done.location, scene.log.filter((line) => line.includes('provider failed'))]).toEqual([
      303,
      '/account',
      [],
    ]);
    const call = asSignedIn(scene, done.browser);
    expect((await call('GET', '/auth/session')).body).toMatchObject({
      user: { email, name: 'Grace' },
      current_team: { id: team.id, sso: { status: 'active', issuer: provider.issuer } },
    });
    provider.person = { ...provider.person, email_verified: false };
    expect((await signInBySso(scene, email)).text).toContain('has not verified your email');
  },
);

it('a sign-out at the provider of the package oidc-provider ends the session and its programs here', async () => {
  await using scene = await startScene({ config: { sso: { allow_private: ['127.0.0.0/8'] } } });
  await using provider = await startOidcProvider({
    redirectUri: `${scene.url}/auth/sso/callback`,
    logoutUri: `${scene.url}/auth/sso/backchannel-logout`,
  });
  const { team, domain, owner } = await teamWithSso(scene, createPeople(scene), provider);
  const { backchannel_logout_uri: shown } = (await owner.call('GET', `/teams/${team.id}/sso`)).body;
  expect(shown).toBe(`${scene.url}/auth/sso/backchannel-logout`);
  const email = `grace@${domain}`;
  provider.person = { sub: 'grace-1', email, email_verified: true, name: 'Grace' };
  const signIn = async () => {
    const at = { ours: new Browsing(), theirs: new Browsing() };
    const { location } = await at.ours.get(startUrl(scene, email));
    const done = await at.ours.get(await throughProvider(at.theirs, location ?? '', scene.url));
    expect(done.status).toBe(303);
    return { ...at, call: asSignedIn(scene, at.ours) };
  };
  const one = await signIn();
  const other = await signIn();
  const begun = (await scene.api('POST', '/auth/device', { body: { client_name: 'rasket on a-laptop' } })).body;
  expect((await one.call('POST', '/auth/device/approve', { user_code: begun.user_code })).status).toBe(200);
  const { token: key } = (await scene.api('POST', '/auth/device/token', { body: { device_code: begun.device_code } }))
    .body;
  expect((await scene.api('GET', '/auth/session', { key })).status).toBe(200);
  await provider.signOut(one.theirs);
  const statuses = [
    (await one.call('GET', '/auth/session')).status,
    (await scene.api('GET', '/auth/session', { key })).status,
    (await other.call('GET', '/auth/session')).status,
  ];
  expect(statuses).toEqual([401, 401, 200]);
});
