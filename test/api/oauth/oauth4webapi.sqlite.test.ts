// An unmodified client library works: register, authorize, exchange, refresh, revoke.
import { WWWAuthenticateChallengeError } from 'oauth4webapi';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { oauth4webapiAt } from '../../rig/app-clients.ts';
import { letInBy } from '../../rig/oauth.ts';
import { createPeople } from '../../rig/people.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

let scene: Scene;
let team: Team;
beforeAll(async () => {
  scene = await startScene({ roles: ['http'] });
  team = await scene.team();
});
afterAll(() => scene.close());

it.each(['', '/mcp'])('oauth4webapi completes the whole flow for the resource %j', async (path) => {
  const owner = await createPeople(scene).person({ team, role: 'owner' });
  const client = await oauth4webapiAt(letInBy(scene, owner), { path, scope: 'team:read' });
  const { access_token: token, refresh_token: refreshToken = '' } = client.tokens;
  if (path === '') expect(((await (await client.get('/team', token)).json()) as { id: string }).id).toBe(team.id);
  else await expect(client.get('/team', token)).rejects.toBeInstanceOf(WWWAuthenticateChallengeError);

  const second = await client.refresh(refreshToken);
  expect(second.access_token).not.toBe(token);

  await client.revoke(second.refresh_token ?? '');
  await expect(client.get('/team', second.access_token)).rejects.toBeInstanceOf(WWWAuthenticateChallengeError);
});
