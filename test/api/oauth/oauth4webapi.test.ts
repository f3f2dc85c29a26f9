// A client that others have written runs unmodified: register, authorize, exchange, refresh, revoke.
import * as client from 'oauth4webapi';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { oauthOf, REDIRECT_URI } from '../../rig/oauth.ts';
import { peopleOf, type Person } from '../../rig/people.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

let scene: Scene;
let team: Team;
let owner: Person;
beforeAll(async () => {
  scene = await startScene({ roles: ['http'] });
  team = await scene.team();
  owner = await peopleOf(scene).person({ team, role: 'owner' });
});
afterAll(() => scene.close());

/** The scene speaks plain HTTP; nothing else of the client is set. */
const plain = { [client.allowInsecureRequests]: true };

it.each(['', '/mcp'])('oauth4webapi goes the whole way, for the resource %j', async (path) => {
  const resource = new URL(`${scene.app.world.origin()}${path}`);
  const found = await client.resourceDiscoveryRequest(resource, plain);
  const protectedResource = await client.processResourceDiscoveryResponse(resource, found);
  const issuer = new URL(protectedResource.authorization_servers?.[0] ?? '');
  const discovered = await client.discoveryRequest(issuer, { ...plain, algorithm: 'oauth2' });
  const server = await client.processDiscoveryResponse(issuer, discovered);

  const metadata = { client_name: 'oauth4webapi', redirect_uris: [REDIRECT_URI], token_endpoint_auth_method: 'none' };
  const registration = await client.dynamicClientRegistrationRequest(server, metadata, plain);
  const app = (await client.processDynamicClientRegistrationResponse(registration)) as client.Client;

  const verifier = client.generateRandomCodeVerifier();
  const state = client.generateRandomState();
  const asked = new URL(server.authorization_endpoint ?? '');
  asked.search = new URLSearchParams({
    ...{ client_id: app.client_id, redirect_uri: REDIRECT_URI, response_type: 'code', scope: 'team:read', state },
    ...{ code_challenge: await client.calculatePKCECodeChallenge(verifier), code_challenge_method: 'S256' },
    resource: resource.href,
  }).toString();
  const browser = oauthOf(scene).visitorOf(owner);
  const page = await browser.follow(browser.open(asked.pathname + asked.search));
  const answered = new URL((await browser.send(page, 'Allow')).leadsTo ?? '');

  const callback = client.validateAuthResponse(server, app, answered, state);
  const more = { ...plain, additionalParameters: { resource: resource.href } };
  const exchange = await client.authorizationCodeGrantRequest(
    ...([server, app, client.None(), callback, REDIRECT_URI, verifier, more] as const),
  );
  const tokens = await client.processAuthorizationCodeResponse(server, app, exchange);
  const url = new URL('/team', scene.app.world.origin());
  const ask = (token: string) => client.protectedResourceRequest(token, 'GET', url, new Headers(), null, plain);
  if (path === '') expect(((await (await ask(tokens.access_token)).json()) as { id: string }).id).toBe(team.id);
  else await expect(ask(tokens.access_token)).rejects.toBeInstanceOf(client.WWWAuthenticateChallengeError);

  const refresh = await client.refreshTokenGrantRequest(server, app, client.None(), tokens.refresh_token ?? '', more);
  const second = await client.processRefreshTokenResponse(server, app, refresh);
  expect(second.access_token).not.toBe(tokens.access_token);

  const revocation = await client.revocationRequest(server, app, client.None(), second.refresh_token ?? '', plain);
  await client.processRevocationResponse(revocation);
  await expect(ask(second.access_token)).rejects.toBeInstanceOf(client.WWWAuthenticateChallengeError);
});
