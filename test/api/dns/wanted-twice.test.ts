import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Scene, Team } from '../../rig/scene.ts';
import type { UpdateServer } from '../../rig/update-server.ts';
import { startOffice } from './office.ts';

let scene: Scene;
let server: UpdateServer;
let host: string;
let count = 0;

beforeAll(async () => {
  ({ scene, server } = await startOffice());
});

beforeEach(() => {
  server.records = [];
  host = `two${++count}.example.com`;
  // Its mail goes nowhere yet.
  scene.dns.set(`send.${host}`, 'MX', []);
});

afterAll(async () => {
  await scene.close();
  await server.close();
});

const create = async (team: Team, body: object) =>
  (await scene.api('POST', '/domains', { key: team.key, body })).body as { id: string; records: object[] };
const configure = async (team: Team, id: string, body = {}) =>
  (await scene.api('POST', `/domains/${id}/dns/configure`, { key: team.key, body })).body;
const runJob = (): Promise<unknown> | undefined => scene.app.jobs.find((job) => job.name === 'publish-dns')?.run();
const remove = async (team: Team, id: string) => {
  await scene.api('DELETE', `/domains/${id}`, { key: team.key });
  await runJob();
};
const mx = (): string[] => server.lines().filter((line) => line.startsWith(`send.${host}. `) && line.includes(' MX '));

describe.each([
  ['of one team', false],
  ['of two teams', true],
])('the MX record of a return path, and of a domain of its name that receives, %s', (_, isForeign) => {
  /** The upper wants it for its return path, the lower because it receives. */
  async function both(first: 'upper' | 'lower') {
    const team = await scene.team();
    const other = isForeign ? await scene.team() : team;
    const upper = { team, ...(await create(team, { name: host })) };
    const receiving = { capabilities: { receiving: 'enabled' } };
    const lower = { team: other, ...(await create(other, { name: `send.${host}`, ...receiving })) };
    const order = first === 'upper' ? [upper, lower] : [lower, upper];
    for (const { id, team: owner } of order) expect(await configure(owner, id)).toHaveProperty('changes');
    expect(mx()).toHaveLength(1);
    return { upper, lower };
  }

  test.each(['upper', 'lower'] as const)('published by the %s, it stays until neither wants it', async (first) => {
    for (const leaving of ['upper', 'lower'] as const) {
      const domains = await both(first);
      const staying = leaving === 'upper' ? domains.lower : domains.upper;
      await remove(domains[leaving].team, domains[leaving].id);
      expect(mx()).toHaveLength(1);
      expect((await configure(staying.team, staying.id, { dry_run: true })).changes).toEqual([]);
      await remove(staying.team, staying.id);
      expect(server.lines()).toEqual([]);
    }
  });

  test('taking the records of one back leaves it to the other', async () => {
    const { upper, lower } = await both('lower');
    await configure(lower.team, lower.id, { remove: true });
    expect(mx()).toHaveLength(1);
    await configure(upper.team, upper.id, { remove: true });
    expect(server.lines()).toEqual([]);
  });
});

test('a domain that nobody has verified or published keeps no record of others', async () => {
  const [team, other] = [await scene.team(), await scene.team()];
  const { id } = await create(team, { name: host });
  await configure(team, id);
  expect(await create(other, { name: `send.${host}`, capabilities: { receiving: 'enabled' } })).toHaveProperty('id');
  await remove(team, id);
  expect(server.lines()).toEqual([]);
});
