import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { publishConfigured } from '../../../src/flow/dns-setup/index.ts';
import type { Scene, Team } from '../../rig/scene.ts';
import type { UpdateServer } from '../../rig/update-server.ts';
import { startOffice } from './office.ts';

let scene: Scene;
let server: UpdateServer;
let team: Team;
let host: string;
let count = 0;

beforeAll(async () => {
  // What happens while an update is under way must not count as a server that is silent.
  ({ scene, server } = await startOffice({ timeoutMs: 20_000 }));
});

beforeEach(async () => {
  server.records = [];
  server.faults = {};
  team = await scene.team();
  host = `mail${++count}.example.com`;
});

afterAll(async () => {
  await scene.close();
  await server.close();
});

const create = async (name = host) => (await scene.api('POST', '/domains', { key: team.key, body: { name } })).body;
const configure = (id: string, body = {}) => scene.api('POST', `/domains/${id}/dns/configure`, { key: team.key, body });
const remove = (id: string) => scene.api('DELETE', `/domains/${id}`, { key: team.key });
const runJob = (): Promise<unknown> | undefined => scene.app.jobs.find((job) => job.name === 'publish-dns')?.run();
const ten = 10 * 60_000;

test.each([
  ['here', runJob],
  // A node knows only what it is doing itself.
  ['on another node', () => publishConfigured({ ...scene.app.world })],
])('a domain removed while its records are published leaves none, whoever looks meanwhile: %s', async (_, look) => {
  const { id } = await create();
  server.faults.holdUpdate = async () => {
    await remove(id);
    await look();
    server.faults = {};
  };
  expect((await configure(id)).status).toBe(200);
  expect(server.lines()).not.toEqual([]);
  await runJob();
  expect(server.lines()).toEqual([]);
  const db = scene.app.world.db;
  expect(await db.all('select 1 from dns_published where domain_id = ?', [id])).toEqual([]);
  expect(await db.all('select 1 from dns_setups where domain_id = ?', [id])).toEqual([]);
});

test('so it is when the update arrives and its answer is lost', async () => {
  const { id } = await create();
  server.faults.holdUpdate = async () => {
    await remove(id);
    await runJob();
    server.faults.breaksTcp = true;
  };
  expect((await configure(id)).status).toBe(503);
  expect(server.lines()).not.toEqual([]);
  server.faults = {};
  scene.clock.advance(ten);
  await runJob();
  expect(server.lines()).toEqual([]);
});

test('what was refused is not brought to an end later', async () => {
  const { id } = await create();
  server.faults.updateCode = 5;
  expect((await configure(id)).status).toBe(422);
  server.faults = {};
  scene.clock.advance(ten);
  await runJob();
  expect(server.lines()).toEqual([]);
});

test('a change that nobody could be told the end of is brought to one', async () => {
  const { id, records } = await create();
  server.faults.breaksTcp = true;
  expect((await configure(id)).status).toBe(503);
  server.records = [];
  server.faults = {};
  await runJob();
  expect(server.lines()).toEqual([]);
  scene.clock.advance(ten);
  await runJob();
  expect(server.lines()).toHaveLength(records.length);
});
