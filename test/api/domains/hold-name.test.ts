import { afterAll, beforeAll, expect, it } from 'vitest';
import { publish, startScene, type Scene, type Team } from '../../rig/scene.ts';
import { createClaiming, HOUR_MS, MINUTE_MS, newName } from '../domain-claims/claiming.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await startScene();
});
afterAll(() => scene.close());

const {
  claim,
  claimed,
  domainOf,
  prove,
  publishDomain,
  read,
  sweep,
  verify: verifyClaim,
} = createClaiming(() => scene);

const create = (team: Team, name: string) => scene.api('POST', '/domains', { key: team.key, body: { name } });
const verify = (team: Team, id: string) => scene.api('POST', `/domains/${id}/verify`, { key: team.key });
const regenerate = (team: Team, id: string) =>
  scene.api('POST', `/domains/${id}/dkim/regenerate`, { key: team.key, body: { key_bits: 2048 } });

/** Creates a name that one team has verified, and the copy of another whose records are in DNS as well. */
async function contested() {
  const owner = await scene.team();
  const rival = await scene.team();
  const name = newName();
  const { body: theirs } = await create(rival, name);
  const held = await owner.domain(name);
  publish(scene.dns, theirs);
  scene.clock.advance(MINUTE_MS);
  return { owner, rival, name, held, theirs };
}

const taken = { status: 409, body: { name: 'resource_locked', claimable: true } };

it('a regenerated key does not release the name to a team that has published records for it', async () => {
  const { owner, rival, name, held, theirs } = await contested();
  const { body: renewed } = await regenerate(owner, held.id);
  expect(renewed.status).toBe('pending');
  expect(await verify(rival, theirs.id)).toMatchObject(taken);
  await sweep();
  expect((await domainOf(rival, theirs.id)).status).not.toBe('verified');
  expect(await create(await scene.team(), name)).toMatchObject(taken);
  expect((await claim(owner, name)).body.message).toContain('there is nothing to claim');
  // It can be claimed, and the claim is checked as usual.
  expect((await claim(rival, name)).status).toBe(201);
  publish(scene.dns, renewed);
  scene.clock.advance(MINUTE_MS);
  expect((await verify(owner, held.id)).status).toBe(200);
  expect((await domainOf(owner, held.id)).status).toBe('verified');
});

it('the name is released once the regenerated key has not appeared in time, and not before', async () => {
  const { owner, rival, held, theirs } = await contested();
  await regenerate(owner, held.id);
  scene.clock.advance(72 * HOUR_MS - 1);
  await sweep();
  expect(await verify(rival, theirs.id)).toMatchObject(taken);
  scene.clock.advance(MINUTE_MS);
  await sweep();
  expect((await domainOf(owner, held.id)).status).toBe('failed');
  await verify(rival, theirs.id);
  expect((await domainOf(rival, theirs.id)).status).toBe('verified');
  // A new key for a failed domain does not get the name back.
  await regenerate(owner, held.id);
  scene.clock.advance(MINUTE_MS);
  expect(await verify(owner, held.id)).toMatchObject(taken);
});

it('the name is released when its owner removes the domain', async () => {
  const { owner, rival, held, theirs } = await contested();
  await regenerate(owner, held.id);
  await scene.api('DELETE', `/domains/${held.id}`, { key: owner.key });
  await verify(rival, theirs.id);
  expect((await domainOf(rival, theirs.id)).status).toBe('verified');
});

it('a completed claim reserves the name for 72 hours, and its old owner cannot register it again', async () => {
  const { owner, claimant, held, name, opened } = await claimed();
  const published = await domainOf(owner, held.id);
  prove(opened);
  await verifyClaim(claimant, opened);
  expect((await read(claimant, opened)).status).toBe('completed');
  expect((await domainOf(claimant, opened.domain_id)).status).toBe('pending');
  publish(scene.dns, published);
  await scene.api('DELETE', `/domains/${held.id}`, { key: owner.key });
  expect(await create(owner, name)).toMatchObject(taken);

  scene.clock.advance(72 * HOUR_MS + MINUTE_MS);
  await sweep();
  expect((await domainOf(claimant, opened.domain_id)).status).toBe('failed');
  const { status, body: again } = await create(owner, name);
  expect(status).toBe(201);
  await publishDomain(owner, again.id);
  await verify(owner, again.id);
  expect((await domainOf(owner, again.id)).status).toBe('verified');
});

it('a copy that had failed before its claim was completed gets a new waiting period', async () => {
  const owner = await scene.team();
  const claimant = await scene.team();
  const name = newName();
  const { body: own } = await create(claimant, name);
  await verify(claimant, own.id);
  scene.clock.advance(72 * HOUR_MS);
  await sweep();
  expect((await domainOf(claimant, own.id)).status).toBe('failed');
  await owner.domain(name);
  scene.clock.advance(72 * HOUR_MS);
  const { body: opened } = await claim(claimant, name);
  prove(opened);
  await verifyClaim(claimant, opened);
  expect((await domainOf(claimant, own.id)).status).toBe('pending');
  scene.clock.advance(71 * HOUR_MS);
  await sweep();
  expect(await create(await scene.team(), name)).toMatchObject(taken);
});
