import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { RCODES } from '../../../src/protocol/dns/index.ts';
import type { Scene, Team } from '../../rig/scene.ts';
import type { UpdateServer } from '../../rig/update-server.ts';
import { foreignRecord, startOffice } from './office.ts';

let scene: Scene;
let server: UpdateServer;
let team: Team;

/** Every test has a team and a name of its own in the one zone. */
let host: string;
let count = 0;

beforeAll(async () => {
  ({ scene, server } = await startOffice());
});

beforeEach(async () => {
  server.records = [];
  server.heard = [];
  server.faults = {};
  team = await scene.team();
  host = `mail${++count}.example.com`;
});

afterAll(async () => {
  await scene.close();
  await server.close();
});

const create = async (name: string, key = team.key) =>
  (await scene.api('POST', '/domains', { key, body: { name } })).body;
const configure = (id: string, body?: object, key = team.key) =>
  scene.api('POST', `/domains/${id}/dns/configure`, { key, ...(body ? { body } : {}) });
const put = (...record: Parameters<typeof foreignRecord>): void => void server.records.push(foreignRecord(...record));

describe('after the first time', () => {
  const runJob = (): Promise<unknown> | undefined => scene.app.jobs.find((job) => job.name === 'publish-dns')?.run();

  test('what the domain wants later is published by itself, and all of it goes with the domain', async () => {
    const domain = await create(host);
    await configure(domain.id);
    await scene.api('PATCH', `/domains/${domain.id}`, { key: team.key, body: { click_tracking: true } });
    await runJob();
    expect(server.lines().join('\n')).toContain(`track.${host}. 300 IN CNAME rasket.test.`);
    const heard = server.heard.length;
    await runJob();
    expect(server.heard).toHaveLength(heard);
    await scene.api('DELETE', `/domains/${domain.id}`, { key: team.key });
    await runJob();
    expect(server.lines()).toEqual([]);
  });

  test('what failed is tried again after a while, and the reason is in the log', async () => {
    const domain = await create(host);
    await configure(domain.id);
    await scene.api('DELETE', `/domains/${domain.id}`, { key: team.key });
    server.faults.updateCode = RCODES.REFUSED;
    await runJob();
    expect(scene.log.join('\n')).toContain('answered REFUSED to the update of example.com');
    server.faults = {};
    await runJob();
    expect(server.lines()).not.toEqual([]);
    scene.clock.advance(60_000);
    await runJob();
    expect(server.lines()).toEqual([]);
  });

  test('what can be published is, although something else is in the way', async () => {
    const domain = await create(host);
    await configure(domain.id);
    put(`_dmarc.${host}`, 'TXT', 'unrelated');
    put(`track.${host}`, 'TXT', 'in the way');
    await scene.api('PATCH', `/domains/${domain.id}`, { key: team.key, body: { click_tracking: true } });
    server.records = server.records.filter((record) => record.name !== `send.${host}`);
    await runJob();
    expect(server.lines().join('\n')).toContain(`send.${host}. 300 IN MX`);
    expect(server.lines().join('\n')).not.toContain('IN CNAME');
    expect(scene.log.join('\n')).toContain(`track.${host} has the TXT record`);
  });

  test('whoever may not use the provider any more publishes nothing more', async () => {
    const domain = await create(host);
    await configure(domain.id);
    const before = server.lines();
    await scene.app.world.db.run(`update dns_setups set provider = 'closed' where domain_id = ?`, [domain.id]);
    await scene.api('PATCH', `/domains/${domain.id}`, { key: team.key, body: { click_tracking: true } });
    await runJob();
    expect(server.lines()).toEqual(before);
  });

  test('records that two teams have in common stay until neither wants them', async () => {
    const other = await scene.team();
    const [first, second] = [await create(host), await create(host, other.key)];
    await configure(first.id);
    const both = (await configure(second.id, {}, other.key)).body.changes;
    expect(both.every((change: { name: string }) => change.name.includes('._domainkey.'))).toBe(true);
    await scene.api('DELETE', `/domains/${first.id}`, { key: team.key });
    await runJob();
    expect(server.lines()).toHaveLength(second.records.length);
    expect((await configure(second.id, { dry_run: true }, other.key)).body.changes).toEqual([]);
    await scene.api('DELETE', `/domains/${second.id}`, { key: other.key });
    await runJob();
    expect(server.lines()).toEqual([]);
  });

  test('a domain that is registered again takes over what its first copy left', async () => {
    const first = await create(host);
    await configure(first.id);
    await scene.api('DELETE', `/domains/${first.id}`, { key: team.key });
    const second = await create(host);
    const { changes } = (await configure(second.id)).body;
    expect(changes.map((change: { action: string }) => change.action).sort()).toEqual(
      ['create', 'create', 'delete', 'delete'].slice(0, changes.length),
    );
    expect(server.lines()).toHaveLength(second.records.length);
    await configure(second.id, { remove: true });
    expect(server.lines()).toEqual([]);
  });

  test('after remove nothing is published by itself any more', async () => {
    const domain = await create(host);
    await configure(domain.id);
    await configure(domain.id, { remove: true });
    await scene.api('PATCH', `/domains/${domain.id}`, { key: team.key, body: { click_tracking: true } });
    await runJob();
    expect(server.lines()).toEqual([]);
  });

  test('an update whose answer was lost is known to be ours', async () => {
    const domain = await create(host);
    server.faults.breaksTcp = true;
    const lost = await configure(domain.id);
    expect(lost).toMatchObject({ status: 503, body: { name: 'service_unavailable' } });
    expect(server.lines()).toHaveLength(domain.records.length);
    server.faults = {};
    await configure(domain.id, { remove: true });
    expect(server.lines()).toEqual([]);
  });
});

describe('servers that cannot be believed', () => {
  let shared: { id: string };
  let key: string;
  beforeAll(async () => {
    ({ key } = await scene.team());
    shared = await create('believed.example.com', key);
  });

  test.each([
    [{ signature: 'wrong' as const }, 503, 'signature is wrong'],
    [{ signature: 'none' as const }, 503, 'It is not signed; it says NOERROR'],
    [{ signature: 'old' as const }, 503, 'seconds from now; at most 300'],
    [{ signature: 'other request' as const }, 503, 'signature is wrong'],
    [{ silent: 'both' as const }, 503, 'did not answer over UDP within 2 × 300 ms'],
    [{ silent: 'udp' as const }, 503, 'did not answer over UDP within 2 × 300 ms'],
    [{ truncates: true, breaksTcp: true }, 503, 'closed the connection without an answer'],
    [{ isNotAuthoritative: true }, 422, 'not authoritative'],
    [{ updateCode: RCODES.REFUSED }, 422, 'answered REFUSED to the update'],
    [{ updateCode: RCODES.SERVFAIL }, 503, 'answered SERVFAIL to the update'],
    [{ updateCode: RCODES.YXRRSET }, 409, 'changed while its records were compared'],
  ])('%j is answered %i: %s', async (faults, status, why) => {
    server.faults = faults;
    const refused = await configure(shared.id, {}, key);
    expect(refused.status).toBe(status);
    expect(refused.body.message).toContain(why);
    expect(server.lines()).toEqual([]);
  });

  test('truncated answers are asked for again over TCP', async () => {
    const domain = await create(host);
    server.faults.truncates = true;
    expect((await configure(domain.id)).status).toBe(200);
    const questions = server.heard.filter(({ message }) => message.opcode === 0);
    expect(questions.filter(({ over }) => over === 'tcp')).toHaveLength(questions.length / 2);
  });

  test('two calls for one domain at the same moment: one of them works, the other hears of it', async () => {
    const domain = await create(host);
    const answers = await Promise.all([configure(domain.id), configure(domain.id)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
    expect(answers.find(({ status }) => status === 409)?.body.message).toContain('being published already');
    expect(server.lines()).toHaveLength(domain.records.length);
  });

  test('nothing listens: the answer comes at once and says so', async () => {
    const domain = await create(`mail${count}.example.net`);
    const refused = await configure(domain.id, { provider: 'gone' });
    expect(refused).toMatchObject({ status: 503 });
    expect(refused.body.message).toContain('The server of the DNS provider gone cannot be asked: UDP failed');
  });
});
