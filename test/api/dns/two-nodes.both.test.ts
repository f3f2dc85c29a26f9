import { expect, test } from 'vitest';
import { configureDomainDns, publishConfigured } from '../../../src/mail/domain-dns/index.ts';
import { createGroupCommit } from '../../../src/platform/db/index.ts';
import { useOffice } from './office.ts';

const office = useOffice();
const { configure, runJob } = office;
const create = () => office.create(office.host);
const call = (method: string, id: string, body?: object) =>
  office.scene.api(method, `/domains/${id}`, { key: office.team.key, ...(body ? { body } : {}) });
const ten = 10 * 60_000;

// Creates a node, which knows only its own work in progress, and commits by itself.
const otherNode = () => ({ ...office.scene.app.world, commits: createGroupCommit(office.scene.app.world.db) });
const configureElsewhere = (id: string, input = {}) =>
  configureDomainDns(
    { store: otherNode(), teamId: office.team.id, actor: { kind: 'job', name: 'test' }, requestId: 'other-node' },
    id,
    input,
  );
const setups = (id: string) => office.scene.app.world.db.all('select * from dns_setups where domain_id = ?', [id]);

/** Runs the work once, when an update has arrived and before it is processed. */
function duringUpdate(work: () => Promise<unknown>): void {
  office.server.faults.holdUpdate = async () => {
    office.server.faults = {};
    await work();
  };
}

test('of two nodes that publish a domain at once, the later one keeps what the other wrote', async () => {
  const { id } = await create();
  duringUpdate(() => configureElsewhere(id));
  expect((await configure(id)).status).toBe(409);
  expect(office.server.lines()).not.toEqual([]);
  await call('PATCH', id, { click_tracking: true });
  await runJob();
  expect(office.server.lines().join('\n')).toContain(`track.${office.host}. 300 IN CNAME`);
  await call('DELETE', id);
  await runJob();
  expect(office.server.lines()).toEqual([]);
});

test('a refusal on one node does not make another node’s running update forgotten, even if the answer of that is lost', async () => {
  const { id } = await create();
  const arrived = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  let late: Promise<unknown> | undefined;
  duringUpdate(async () => {
    office.server.faults.holdUpdate = async () => {
      arrived.resolve();
      await released.promise;
    };
    late = configureElsewhere(id).catch((error: unknown) => error);
    await arrived.promise;
    office.server.faults.updateCode = 5;
  });
  expect((await configure(id)).status).toBe(422);
  office.server.faults = { breaksTcp: true };
  released.resolve();
  expect(await late).toMatchObject({ message: expect.stringContaining('closed the connection without a response') });
  expect(office.server.lines()).not.toEqual([]);
  office.server.faults = {};
  await call('DELETE', id);
  await runJob();
  office.scene.clock.advance(ten);
  await runJob();
  expect(office.server.lines()).toEqual([]);
});

test('an update that was refused on both nodes is not completed later', async () => {
  const { id } = await create();
  duringUpdate(async () => {
    office.server.faults.updateCode = 5;
    await configureElsewhere(id).catch(() => undefined);
  });
  expect((await configure(id)).status).toBe(422);
  office.server.faults = {};
  office.scene.clock.advance(ten);
  await runJob();
  expect(office.server.lines()).toEqual([]);
});

test('records removed here while another node publishes them by itself are removed for good', async () => {
  const { id } = await create();
  await configure(id);
  await call('PATCH', id, { click_tracking: true });
  duringUpdate(async () => expect((await configure(id, { remove: true })).status).toBe(200));
  await publishConfigured(otherNode());
  expect(office.server.lines()).toHaveLength(1);
  await runJob();
  expect(office.server.lines()).toEqual([]);
  expect(await setups(id)).toEqual([]);
  await call('PATCH', id, { click_tracking: false, open_tracking: true });
  await runJob();
  expect(office.server.lines()).toEqual([]);
});

test('records published here while another node removes them are published', async () => {
  const { id } = await create();
  await configure(id);
  const all = (await call('PATCH', id, { click_tracking: true })).body;
  duringUpdate(() => configureElsewhere(id, { remove: true }));
  expect((await configure(id)).status).toBe(200);
  await runJob();
  const { records } = (await call('GET', all.id)).body;
  expect(office.server.lines()).toHaveLength(records.length);
  await configure(id, { remove: true });
  await runJob();
  expect(office.server.lines()).toEqual([]);
});
