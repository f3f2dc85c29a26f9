// Clients of /mcp get a token by themselves, keep it fresh, and ask again once it was revoked.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ASSISTANT_SCOPES } from '../../../src/contract/index.ts';
import { SIGNING_IN } from '../../rig/app-clients.ts';
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

const HOUR_MS = 3_600_000;

describe.each(Object.entries(SIGNING_IN))('an unmodified client of %s', (revision, signIn) => {
  it('needs only the address to register, get consent and call tools', async () => {
    const place = letInBy(scene, await createPeople(scene).person({ team, role: 'owner' }));
    await using client = await signIn(place);
    expect(client.revision).toBe(revision);
    const asked = client.kept.asked.map(({ searchParams }) => searchParams);
    expect(asked.map((one) => one.get('resource'))).toEqual([`${place.origin}/mcp`]);
    expect(asked[0]?.get('scope')?.split(' ').sort()).toEqual([...ASSISTANT_SCOPES].sort());
    expect((await client.tools()).length).toBeGreaterThan(20);
    expect((await client.call('getTeam')).value()).toMatchObject({ id: team.id });
  });

  it('refreshes an expired token without a person', async () => {
    await using client = await signIn(letInBy(scene, await createPeople(scene).person({ team, role: 'owner' })));
    const before = { ...client.kept.tokens };
    scene.clock.advance(HOUR_MS + 1000);
    expect((await client.call('getTeam')).value()).toMatchObject({ id: team.id });
    expect(client.kept.tokens?.access_token).not.toBe(before.access_token);
    expect(client.kept.tokens?.refresh_token).not.toBe(before.refresh_token);
    expect(client.kept.asked).toHaveLength(1);
  });

  it('asks the person again after the grant was revoked', async () => {
    const person = await createPeople(scene).person({ team, role: 'owner' });
    await using client = await signIn(letInBy(scene, person));
    const { body } = await person.call('GET', '/oauth/grants');
    expect((await person.call('DELETE', `/oauth/grants/${body.data[0].id}`)).status).toBe(200);
    await expect(client.call('getTeam')).rejects.toThrow('Unauthorized');
    expect(client.kept).toMatchObject({ asked: [{}, {}] });
    expect(client.kept.tokens).toBeUndefined();
  });
});
