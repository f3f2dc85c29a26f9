import { expect, test } from 'vitest';
import { publish } from '../../rig/scene.ts';
import { useOffice } from '../dns/office.ts';
import { createClaiming, HOUR_MS, MINUTE_MS } from './claiming.ts';

const office = useOffice();
const { create, configure, runJob } = office;
const { claim, claimed, domainOf, prove, sweep, verify } = createClaiming(() => office.scene);
const lines = () => office.server.lines();

/** Creates a name that its owner had published automatically, and that another team has just claimed. */
async function moved() {
  const scene = await claimed(office.host);
  const { owner, claimant, held, opened } = scene;
  expect((await configure(held.id, {}, owner.key)).status).toBe(200);
  prove(opened);
  expect((await verify(claimant, opened)).body.status).toBe('completed');
  await runJob();
  return scene;
}

test('while a completed claim reserves the name, its old owner publishes nothing, not even the proof for a claim of its own', async () => {
  const { owner, held, name } = await moved();
  const before = lines();
  const locked = { status: 409, body: { name: 'resource_locked' } };
  office.scene.clock.advance(72 * HOUR_MS - MINUTE_MS);
  await sweep();
  expect(await configure(held.id, {}, owner.key)).toMatchObject({ ...locked, body: { claimable: true } });
  expect((await claim(owner, name)).status).toBe(201);
  expect(await configure(held.id, {}, owner.key)).toMatchObject(locked);
  expect(lines()).toEqual(before);
});

test('when the claim fails in the end, the old owner publishes again, and the name is its own again', async () => {
  const { owner, claimant, held, opened } = await moved();
  office.scene.clock.advance(72 * HOUR_MS);
  await sweep();
  expect((await domainOf(claimant, opened.domain_id)).status).toBe('failed');
  expect((await configure(held.id, {}, owner.key)).status).toBe(200);
  const domain = await domainOf(owner, held.id);
  expect(lines()).toHaveLength(domain.records.length);
  await runJob();
  expect(lines()).toHaveLength(domain.records.length);
  publish(office.scene.dns, domain);
  office.scene.clock.advance(MINUTE_MS);
  await office.scene.api('POST', `/domains/${held.id}/verify`, { key: owner.key });
  expect((await domainOf(owner, held.id)).status).toBe('verified');
});

test('the old owner also publishes again when the new owner removes the domain', async () => {
  const { owner, claimant, held, opened } = await moved();
  await office.scene.api('DELETE', `/domains/${opened.domain_id}`, { key: claimant.key });
  expect((await configure(held.id, {}, owner.key)).status).toBe(200);
});

test('a name that its new owner has verified stays its own, whatever the old owner calls', async () => {
  const { owner, claimant, held, opened } = await moved();
  publish(office.scene.dns, await domainOf(claimant, opened.domain_id));
  office.scene.clock.advance(100 * HOUR_MS);
  await sweep();
  expect((await domainOf(claimant, opened.domain_id)).status).toBe('verified');
  expect((await configure(held.id, {}, owner.key)).status).toBe(409);
  expect(await create(office.host, (await office.scene.team()).key)).toMatchObject({ name: 'resource_locked' });
});

test('a claimant that may use the provider publishes its proof with it, and then its records by itself', async () => {
  const { claimant, opened } = await claimed(office.host);
  const { body } = await configure(opened.domain_id, {}, claimant.key);
  expect(body.changes).toMatchObject([{ action: 'create', type: 'TXT', value: opened.record.value }]);
  prove(opened);
  expect((await verify(claimant, opened)).body.status).toBe('completed');
  await runJob();
  expect(lines()).toHaveLength((await domainOf(claimant, opened.domain_id)).records.length);
  expect(lines().join('\n')).not.toContain(opened.record.value);
});
