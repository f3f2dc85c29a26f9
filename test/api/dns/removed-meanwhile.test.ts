import { expect, test } from 'vitest';
import { publishConfigured } from '../../../src/mail/domain-dns/index.ts';
import { useOffice } from './office.ts';

const office = useOffice();
const { configure, runJob } = office;
const create = () => office.create(office.host);
const remove = (id: string) => office.scene.api('DELETE', `/domains/${id}`, { key: office.team.key });
const ten = 10 * 60_000;

test.each([
  ['here', runJob],
  // A node knows only its own work in progress.
  ['on another node', () => publishConfigured({ ...office.scene.app.world })],
])('a domain that is removed while its records are published leaves none when the job runs %s', async (_, look) => {
  const { id } = await create();
  office.server.faults.holdUpdate = async () => {
    await remove(id);
    await look();
    office.server.faults = {};
  };
  expect((await configure(id)).status).toBe(200);
  expect(office.server.lines()).not.toEqual([]);
  await runJob();
  expect(office.server.lines()).toEqual([]);
  const db = office.scene.app.world.db;
  expect(await db.all('select 1 from dns_published where domain_id = ?', [id])).toEqual([]);
  expect(await db.all('select 1 from dns_setups where domain_id = ?', [id])).toEqual([]);
});

test('a domain that is removed while its records are published leaves none when the answer to the update is lost', async () => {
  const { id } = await create();
  office.server.faults.holdUpdate = async () => {
    await remove(id);
    await runJob();
    office.server.faults.breaksTcp = true;
  };
  expect((await configure(id)).status).toBe(503);
  expect(office.server.lines()).not.toEqual([]);
  office.server.faults = {};
  office.scene.clock.advance(ten);
  await runJob();
  expect(office.server.lines()).toEqual([]);
});

test('a refused update is not completed later', async () => {
  const { id } = await create();
  office.server.faults.updateCode = 5;
  expect((await configure(id)).status).toBe(422);
  office.server.faults = {};
  office.scene.clock.advance(ten);
  await runJob();
  expect(office.server.lines()).toEqual([]);
});

test('an update whose outcome is unknown is completed later', async () => {
  const { id, records } = await create();
  office.server.faults.breaksTcp = true;
  expect((await configure(id)).status).toBe(503);
  office.server.records = [];
  office.server.faults = {};
  await runJob();
  expect(office.server.lines()).toEqual([]);
  office.scene.clock.advance(ten);
  await runJob();
  expect(office.server.lines()).toHaveLength(records.length);
});

test('a second call for a domain that is being published is refused with 409', async () => {
  const { id, records } = await create();
  const answers: Awaited<ReturnType<typeof configure>>[] = [];
  office.server.faults.holdUpdate = async () => {
    office.server.faults = {};
    answers.push(await configure(id));
  };
  expect((await configure(id)).status).toBe(200);
  expect(answers).toMatchObject([
    { status: 409, body: { message: expect.stringContaining('already being published') } },
  ]);
  expect(office.server.lines()).toHaveLength(records.length);
});
