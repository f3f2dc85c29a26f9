import { expect, it } from 'vitest';
import { startOidcProvider } from '../../rig/oidc-provider.ts';
import { createPeople } from '../../rig/people.ts';
import { startScene } from '../../rig/scene.ts';
import { asSignedIn, signInBySso, teamWithSso } from '../../rig/sso.ts';

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
