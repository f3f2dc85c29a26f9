import { expect, test } from 'vitest';
import type { Team } from '../../rig/scene.ts';
import { createClaiming } from '../domain-claims/claiming.ts';
import { useOffice } from './office.ts';

const office = useOffice();
const { configure, create, runJob } = office;
const { claimed, domainOf, prove, verify } = createClaiming(() => office.scene);
const remove = async (team: Team, id: string) => {
  await office.scene.api('DELETE', `/domains/${id}`, { key: team.key });
  await runJob();
};
const lines = () => office.server.lines();
const keysIn = () => lines().filter((line) => line.includes('._domainkey.'));
const memory = async () => {
  const { db } = office.scene.app.world;
  return [...(await db.all('select * from dns_published')), ...(await db.all('select * from dns_setups'))];
};
const run = (sql: string, id: string) => office.scene.app.world.db.run(sql, [id]);

/** Creates a name that has changed hands; `provider` is the one with which its previous owner published. */
async function moved(provider = 'office') {
  const { owner, claimant, held, opened } = await claimed(office.host);
  expect((await configure(held.id, {}, owner.key)).status).toBe(200);
  await run(`update dns_setups set provider = '${provider}' where domain_id = ?`, held.id);
  await run(`update dns_published set provider = '${provider}' where domain_id = ?`, held.id);
  prove(opened);
  expect((await verify(claimant, opened)).body.status).toBe('completed');
  await runJob();
  return { owner, claimant, held, taken: { id: opened.domain_id as string } };
}

test.each(['new owner', 'owner of before'])(
  'a record that a new owner wants but does not publish stays while the name is in use, and goes with both domains, the %s first',
  async (first) => {
    const { owner, claimant, held, taken } = await moved();
    expect(keysIn()).toEqual([]);
    expect(lines()).not.toEqual([]);
    const kept = lines();
    await runJob();
    expect(lines()).toEqual(kept);
    if (first === 'new owner') {
      await remove(claimant, taken.id);
      await remove(owner, held.id);
    } else {
      await remove(owner, held.id);
      expect(lines()).toEqual(kept);
      await remove(claimant, taken.id);
    }
    expect(lines()).toEqual([]);
    expect(await memory()).toEqual([]);
  },
);

test('a new owner that publishes with the same provider takes over the records', async () => {
  const { owner, claimant, held, taken } = await moved();
  expect((await configure(taken.id, {}, claimant.key)).status).toBe(200);
  await runJob();
  await remove(owner, held.id);
  expect(lines()).toHaveLength((await domainOf(claimant, taken.id)).records.length);
  await configure(taken.id, { remove: true }, claimant.key);
  expect(lines()).toEqual([]);
  expect(await memory()).toEqual([]);
});

test('a new owner that may not use the old provider learns nothing of it and publishes with its own', async () => {
  const { owner, claimant, held, taken } = await moved('closed');
  const nothing = await configure(taken.id, { remove: true }, claimant.key);
  expect(nothing).toMatchObject({ status: 200, body: { provider: 'office', changes: [] } });
  const made = await configure(taken.id, {}, claimant.key);
  expect(made).toMatchObject({ status: 200, body: { provider: 'office' } });
  expect(keysIn()).not.toEqual([]);
  await remove(claimant, taken.id);
  await remove(owner, held.id);
  expect(lines()).toEqual([]);
  expect(await memory()).toEqual([]);
});

test('records remembered from a provider that the team may not use neither lock the team out nor name that provider', async () => {
  const { id } = await create(office.host);
  await configure(id);
  await run(`update dns_published set provider = 'closed' where domain_id = ?`, id);
  await run('delete from dns_setups where domain_id = ?', id);
  for (const body of [{ remove: true }, {}, { provider: 'office' }]) {
    const answer = await configure(id, body);
    expect(answer.status).toBe(200);
    expect(answer.text).not.toContain('closed');
  }
  await remove(office.team, id);
});

test('a removed record that a verified domain without publishing of its own still wants goes with that domain', async () => {
  const { team } = office;
  office.scene.dns.set(`send.${office.host}`, 'MX', []);
  const receiving = { name: `send.${office.host}`, capabilities: { receiving: 'enabled' } };
  const upper = await create(office.host);
  await configure(upper.id);
  const lower = (await office.scene.api('POST', '/domains', { key: team.key, body: receiving })).body;
  await run('update domains set held_at = created_at where id = ?', lower.id);
  await configure(upper.id, { remove: true });
  expect(lines()).toHaveLength(1);
  await office.scene.api('PATCH', `/domains/${upper.id}`, { key: team.key, body: { click_tracking: true } });
  await runJob();
  expect(lines()).toHaveLength(1);
  await remove(team, lower.id);
  expect(lines()).toEqual([]);
  await remove(team, upper.id);
  expect(await memory()).toEqual([]);
});
