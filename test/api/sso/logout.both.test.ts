// The end of sessions that began through an identity provider: by its logout tokens, and after sso.session_hours.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createOauth } from '../../rig/oauth.ts';
import { createPeople, type People } from '../../rig/people.ts';
import { startScene, type Scene } from '../../rig/scene.ts';
import { asSignedIn, signInBySso, teamWithSso } from '../../rig/sso.ts';
import { startStandInProvider, type StandInProvider } from '../../rig/stand-in-provider.ts';

const HOUR_MS = 3_600_000;

let scene: Scene;
let people: People;
let provider: StandInProvider;
beforeAll(async () => {
  scene = await startScene({ config: { sso: { allow_private: ['127.0.0.0/8'], session_hours: 2 } } });
  people = createPeople(scene);
  provider = await startStandInProvider(() => scene.clock.now());
});
afterAll(async () => {
  await provider.close();
  await scene.close();
});

let made = 0;
async function signedIn(sid?: string) {
  const given = await teamWithSso(scene, people, provider);
  const sub = `subject ${++made}`;
  const email = `ada${made}@${given.domain}`;
  const again = async (session?: string) => {
    provider.person = { sub, email, email_verified: true, ...(session === undefined ? {} : { sid: session }) };
    const done = await signInBySso(scene, email);
    expect(done.status).toBe(303);
    const call = asSignedIn(scene, done.browser);
    return { call, status: async () => (await call('GET', '/auth/session')).status };
  };
  return { ...given, sub, email, again, ...(await again(sid)) };
}

async function send(fields: Record<string, string>) {
  const response = await fetch(`${scene.url}/auth/sso/backchannel-logout`, {
    method: 'POST',
    body: new URLSearchParams(fields),
  });
  const text = await response.text();
  return { status: response.status, text, body: response.ok ? {} : JSON.parse(text), headers: response.headers };
}
const logOut = (token: string) => send({ logout_token: token });

describe('a logout token of the provider', () => {
  it('a logout token with the id of a session ends that session alone', async () => {
    const one = await signedIn('session one');
    const two = await one.again('session two');
    const sent = await logOut(provider.logoutToken({ sub: one.sub, sid: 'session one' }));
    expect([sent.status, sent.text, sent.headers.get('cache-control')]).toEqual([200, '', 'no-store']);
    expect([await one.status(), await two.status()]).toEqual([401, 200]);
    expect((await logOut(provider.logoutToken({ sid: 'session two' }))).status).toBe(200);
    expect(await two.status()).toBe(401);
    const { data } = (await one.owner.call('GET', '/audit')).body;
    expect(data.filter(({ action }: { action: string }) => action === 'team_sso.signed_out')).toHaveLength(2);
  });

  it('a logout token with the id of a session and a person ends the sessions for which the provider named no id as well', async () => {
    const one = await signedIn();
    expect((await logOut(provider.logoutToken({ sub: one.sub, sid: 'never seen' }))).status).toBe(200);
    expect(await one.status()).toBe(401);
  });

  it('a logout token with a person alone ends all their sessions through the provider and their apps in the team, and nothing else', async () => {
    const one = await signedIn('first of them');
    const two = await one.again('second of them');
    const { user } = (await one.call('GET', '/auth/session')).body;
    const withPassword = await people.session({ userId: user.id, email: one.email, memberId: '' }, one.team.id);
    const oauth = createOauth(scene);
    const app = await oauth.register();
    const tokens = await oauth.letIn(withPassword, app);
    const stranger = await signedIn('of somebody else');
    expect((await logOut(provider.logoutToken({ sub: one.sub }))).status).toBe(200);
    expect([await one.status(), await two.status(), await stranger.status()]).toEqual([401, 401, 200]);
    expect((await scene.api('GET', '/team', { key: tokens.access_token })).status).toBe(401);
    expect((await withPassword.call('GET', '/auth/session')).status).toBe(200);
  });

  it('a logout token for a session or person that is unknown is accepted and ends nothing', async () => {
    const one = await signedIn('known');
    const sent = [
      await logOut(provider.logoutToken({ sid: 'unknown' })),
      await logOut(provider.logoutToken({ sub: 'unknown' })),
      await logOut(provider.logoutToken({ sub: 'unknown', sid: 'known' })),
      await logOut(provider.logoutToken({ sub: one.sub, sid: 'unknown' })),
    ];
    expect(sent.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(await one.status()).toBe(200);
  });

  it('a logout token is accepted in each team that is this client of the provider', async () => {
    const one = await signedIn();
    const other = await signedIn();
    for (const { sub } of [one, other]) expect((await logOut(provider.logoutToken({ sub }))).status).toBe(200);
    expect([await one.status(), await other.status()]).toEqual([401, 401]);
  });

  it('a logout token is accepted once', async () => {
    const one = await signedIn('to be replayed');
    const token = provider.logoutToken({ sub: one.sub });
    expect((await logOut(token)).status).toBe(200);
    const later = await one.again('after it');
    const replay = await logOut(token);
    expect([replay.status, replay.body]).toEqual([
      400,
      { error: 'invalid_request', error_description: 'logout_token was used before.' },
    ]);
    expect(await later.status()).toBe(200);
  });

  it('a logout token is verified with new keys of the provider', async () => {
    const one = await signedIn();
    provider.rotate();
    scene.clock.advance(61_000);
    expect((await logOut(provider.logoutToken({ sub: one.sub }))).status).toBe(200);
    expect(await one.status()).toBe(401);
  });

  const seconds = () => Math.floor(scene.clock.now() / 1000);
  const hostile: [string, (sub: string) => string, RegExp][] = [
    ['from another issuer', (sub) => provider.logoutToken({ sub, iss: 'https://evil.example' }), /not connected here/],
    ['for another client', (sub) => provider.logoutToken({ sub, aud: 'other' }), /not connected here/],
    ['for two clients', (sub) => provider.logoutToken({ sub, aud: ['rasket', 'other'] }), /not connected here/],
    ['without a client', (sub) => provider.logoutToken({ sub, aud: undefined }), /not connected here/],
    ['without a signature', (sub) => provider.logoutToken({ sub }, { signing: 'none' }), /is not valid/],
    [
      'signed with the public key as a shared secret',
      (sub) => provider.logoutToken({ sub }, { signing: 'HS256 by the public key' }),
      /alg/,
    ],
    [
      'signed with the client secret',
      (sub) => provider.logoutToken({ sub }, { signing: 'HS256 by the secret' }),
      /alg/,
    ],
    ['signed with a foreign key', (sub) => provider.logoutToken({ sub }, { signing: 'by a foreign key' }), /signature/],
    ['that calls its signature RS256', (sub) => provider.logoutToken({ sub }, { signing: 'RS256 said of it' }), /alg/],
    ['that is expired', (sub) => provider.logoutToken({ sub, exp: seconds() - 61 }), /exp/],
    ['without an end', (sub) => provider.logoutToken({ sub, exp: undefined }), /exp/],
    [
      'that was issued long ago',
      (sub) => provider.logoutToken({ sub, iat: seconds() - 661, exp: seconds() + 3600 }),
      /iat/,
    ],
    ['that was issued in the future', (sub) => provider.logoutToken({ sub, iat: seconds() + 61 }), /iat/],
    ['without a time', (sub) => provider.logoutToken({ sub, iat: undefined }), /iat/],
    ['with a nonce', (sub) => provider.logoutToken({ sub, nonce: 'n' }), /must not have a nonce/],
    ['without an id', (sub) => provider.logoutToken({ sub, jti: undefined }), /jti/],
    ['without the logout event', (sub) => provider.logoutToken({ sub, events: { other: {} } }), /no logout event/],
    ['without events', (sub) => provider.logoutToken({ sub, events: undefined }), /no logout event/],
    ['without person and session', () => provider.logoutToken({}), /neither sub nor sid/],
    ['with a session id that is a number', (sub) => provider.logoutToken({ sub, sid: 7 }), /not a text/],
    ['of another type', (sub) => provider.logoutToken({ sub }, { typ: 'at+jwt' }), /type other than logout\+jwt/],
    ['that is no token', () => 'nonsense', /is not a JSON Web Token/],
    ['that is too long', () => 'x'.repeat(16_385), /at most 16384 characters/],
  ];
  it.each(hostile)('a logout token %s is refused and ends nothing', async (_what, build, says) => {
    const one = await signedIn('kept');
    const sent = await logOut(build(one.sub));
    expect([sent.status, sent.body.error]).toEqual([400, 'invalid_request']);
    expect(sent.body.error_description).toMatch(says);
    expect(await one.status()).toBe(200);
  });

  it('a logout token that is missing or sent twice is refused', async () => {
    expect((await send({})).status).toBe(400);
    const url = `${scene.url}/auth/sso/backchannel-logout`;
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const twice = await fetch(url, { method: 'POST', headers, body: 'logout_token=a&logout_token=b' });
    expect(twice.status).toBe(400);
  });

  it('a logout token that cannot be verified because the provider is down can be sent again', async () => {
    const one = await signedIn();
    provider.rotate();
    scene.clock.advance(11 * 60_000);
    const token = provider.logoutToken({ sub: one.sub });
    provider.wrong = { serve: { path: '/jwks', answer: (response) => response.writeHead(503).end() } };
    const sent = await logOut(token);
    expect([sent.status, sent.body.error]).toEqual([503, 'temporarily_unavailable']);
    provider.wrong = {};
    expect(await one.status()).toBe(200);
    expect((await logOut(token)).status).toBe(200);
    expect(await one.status()).toBe(401);
  });
});

describe('a session through the provider', () => {
  it('a session through the provider ends after sso.session_hours with its programs, and one with a password does not', async () => {
    const one = await signedIn();
    scene.clock.advance(HOUR_MS);
    const begun = (await scene.api('POST', '/auth/device', { body: { client_name: 'rasket on a-laptop' } })).body;
    expect((await one.call('POST', '/auth/device/approve', { user_code: begun.user_code })).status).toBe(200);
    const { token: key } = (await scene.api('POST', '/auth/device/token', { body: { device_code: begun.device_code } }))
      .body;
    const program = async () => (await scene.api('GET', '/auth/session', { key })).status;
    scene.clock.advance(HOUR_MS - 1000);
    expect([await one.status(), await program()]).toEqual([200, 200]);
    scene.clock.advance(1000);
    expect([await one.status(), await program()]).toEqual([401, 401]);
    expect((await one.owner.call('GET', '/auth/session')).status).toBe(200);
  });

  it('the cookie of a session through the provider lasts in the browser as long as the session', async () => {
    const given = await teamWithSso(scene, people, provider);
    const email = `grace@${given.domain}`;
    provider.person = { sub: 'grace', email, email_verified: true };
    const { headers } = await signInBySso(scene, email);
    expect(headers.getSetCookie().join('\n')).toContain('Max-Age=7200');
  });
});
