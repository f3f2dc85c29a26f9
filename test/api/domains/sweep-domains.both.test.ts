import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { publish, startScene, type Scene, type Team } from '../../rig/scene.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await startScene();
});
afterAll(() => scene.close());

const sweep = async () => {
  scene.clock.advance(1);
  await scene.app.jobs.find((job) => job.name === 'sweep-domains')?.run();
};
const loadStatus = async (id: string) =>
  (await scene.app.world.db.get('select status from domains where id = ?', [id]))?.status;
async function registered(team: Team, names: string[]): Promise<{ id: string; name: string }[]> {
  const made = [];
  for (const name of names) {
    const { body } = await scene.api('POST', '/domains', { key: team.key, body: { name } });
    publish(scene.dns, body);
    made.push({ id: body.id as string, name });
  }
  return made;
}

describe('the domain sweep', () => {
  it('checks eight domains at a time, and every domain in the end', async () => {
    const team = await scene.team();
    const names = Array.from({ length: 12 }, (_, n) => `s${n}.sweep.example`);
    const domains = await registered(team, names);
    const asked = () => names.filter((name) => scene.dns.queries.some((query) => query.name.endsWith(name))).length;
    const open = scene.dns.hold();
    const sweeping = sweep();
    await expect.poll(asked).toBe(8);
    for (let turn = 0; turn < 50; turn++) await new Promise((next) => setImmediate(next));
    expect(asked()).toBe(8);
    open();
    await sweeping;
    expect(asked()).toBe(12);
    for (const { id } of domains) expect(await loadStatus(id)).toBe('verified');
  });

  it('skips a domain that fails with an error, logs it, and tries it again next time', async () => {
    const team = await scene.team();
    const [broken, whole] = await registered(team, ['broken.sweep.example', 'whole.sweep.example']);
    const { db } = scene.app.world;
    const keys = await db.all<{ id: string; private_key_sealed: string }>(
      'select id, private_key_sealed from dkim_keys where domain_id = ?',
      [broken?.id ?? ''],
    );
    await db.run(`update dkim_keys set private_key_sealed = 'v1.x' where domain_id = ?`, [broken?.id ?? '']);
    await sweep();
    expect([await loadStatus(broken?.id ?? ''), await loadStatus(whole?.id ?? '')]).toEqual([
      'not_started',
      'verified',
    ]);
    expect(scene.log.filter((line) => line.includes('a domain could not be checked'))).toHaveLength(1);
    for (const { id, private_key_sealed: sealed } of keys) {
      await db.run('update dkim_keys set private_key_sealed = ? where id = ?', [sealed, id]);
    }
    await sweep();
    expect(await loadStatus(broken?.id ?? '')).toBe('verified');
  });

  it('writes nothing and sends no event for unchanged domains', async () => {
    const team = await scene.team();
    const domain = await team.domain();
    const rows = () => scene.app.world.db.all('select * from domain_records where domain_id = ?', [domain.id]);
    const before = await rows();
    const events = (await scene.events(domain.id)).length;
    for (let time = 0; time < 3; time++) await sweep();
    expect([await rows(), (await scene.events(domain.id)).length]).toEqual([before, events]);
  });

  it('adds records that the configuration now requires to older domains', async () => {
    const team = await scene.team();
    const domain = await team.domain();
    const { db } = scene.app.world;
    await db.run(`delete from domain_records where domain_id = ? and record = 'DMARC'`, [domain.id]);
    await sweep();
    const sql = `select count(*) as n from domain_records where domain_id = ? and record = 'DMARC'`;
    expect(await db.get(sql, [domain.id])).toEqual({ n: 1 });
    expect(await loadStatus(domain.id)).toBe('verified');
  });
});

describe('a DNS answer that is older than a change', () => {
  it('does not verify a regenerated key by the answer for the old one', async () => {
    const team = await scene.team();
    const domain = await team.domain();
    scene.clock.advance(60_000);
    const asked = scene.dns.queries.length;
    const open = scene.dns.hold();
    const verifying = scene.api('POST', `/domains/${domain.id}/verify`, { key: team.key });
    await expect.poll(() => scene.dns.queries.length).toBeGreaterThanOrEqual(asked + 5);
    scene.clock.advance(60_000);
    const body = { key_bits: 1024 };
    const replaced = await scene.api('POST', `/domains/${domain.id}/dkim/regenerate`, { key: team.key, body });
    expect(replaced.status).toBe(200);
    open();
    expect((await verifying).status).toBe(200);
    expect(await loadStatus(domain.id)).toBe('pending');
  });

  it('neither verifies nor fails receiving that was enabled meanwhile', async () => {
    const team = await scene.team();
    const domain = await team.domain();
    scene.dns.set(domain.name, 'MX', ['10 rasket.test']);
    scene.clock.advance(60_000);
    const asked = scene.dns.queries.length;
    const open = scene.dns.hold();
    const verifying = scene.api('POST', `/domains/${domain.id}/verify`, { key: team.key });
    await expect.poll(() => scene.dns.queries.length).toBeGreaterThanOrEqual(asked + 5);
    // The record changes as by another node, without waiting for DNS.
    const { db, clock } = scene.app.world;
    await db.run(`update domains set receiving = 'enabled', receiving_since = ? where id = ?`, [
      clock.now(),
      domain.id,
    ]);
    open();
    await verifying;
    expect(await loadStatus(domain.id)).toBe('partially_verified');
    await sweep();
    expect(await loadStatus(domain.id)).toBe('verified');
  });
});
