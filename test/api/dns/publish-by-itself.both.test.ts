import { beforeAll, describe, expect, test } from 'vitest';
import { RCODES } from '../../../src/protocol/dns/index.ts';
import { publish } from '../../rig/scene.ts';
import { useOffice } from './office.ts';

const office = useOffice();
const { create, configure, put, runJob } = office;

describe('a domain that was published once', () => {
  test('publishes later records by itself, and all of them go with the domain', async () => {
    const domain = await create(office.host);
    await configure(domain.id);
    await office.scene.api('PATCH', `/domains/${domain.id}`, { key: office.team.key, body: { click_tracking: true } });
    await runJob();
    expect(office.server.lines().join('\n')).toContain(`track.${office.host}. 300 IN CNAME rasket.test.`);
    const heard = office.server.heard.length;
    await runJob();
    expect(office.server.heard).toHaveLength(heard);
    await office.scene.api('DELETE', `/domains/${domain.id}`, { key: office.team.key });
    await runJob();
    expect(office.server.lines()).toEqual([]);
  });

  test('retries what failed after a while, and logs the reason', async () => {
    const domain = await create(office.host);
    await configure(domain.id);
    await office.scene.api('DELETE', `/domains/${domain.id}`, { key: office.team.key });
    office.server.faults.updateCode = RCODES.REFUSED;
    await runJob();
    expect(office.scene.log.join('\n')).toContain('returned REFUSED for the update of example.com');
    office.server.faults = {};
    await runJob();
    expect(office.server.lines()).not.toEqual([]);
    office.scene.clock.advance(60_000);
    await runJob();
    expect(office.server.lines()).toEqual([]);
  });

  test('publishes what it can when another record conflicts', async () => {
    const domain = await create(office.host);
    await configure(domain.id);
    put(`_dmarc.${office.host}`, 'TXT', 'unrelated');
    put(`track.${office.host}`, 'TXT', 'in the way');
    await office.scene.api('PATCH', `/domains/${domain.id}`, { key: office.team.key, body: { click_tracking: true } });
    office.server.records = office.server.records.filter((record) => record.name !== `send.${office.host}`);
    await runJob();
    expect(office.server.lines().join('\n')).toContain(`send.${office.host}. 300 IN MX`);
    expect(office.server.lines().join('\n')).not.toContain('IN CNAME');
    expect(office.scene.log.join('\n')).toContain(`track.${office.host} has the TXT record`);
  });

  test('publishes nothing more once its team may not use the provider', async () => {
    const domain = await create(office.host);
    await configure(domain.id);
    const before = office.server.lines();
    await office.scene.app.world.db.run(`update dns_setups set provider = 'closed' where domain_id = ?`, [domain.id]);
    await office.scene.api('PATCH', `/domains/${domain.id}`, { key: office.team.key, body: { click_tracking: true } });
    await runJob();
    expect(office.server.lines()).toEqual(before);
  });

  test('keeps records in common with another team until neither wants them', async () => {
    const other = await office.scene.team();
    const first = await create(office.host);
    const second = await create(office.host, other.key);
    await configure(first.id);
    const both = (await configure(second.id, {}, other.key)).body.changes;
    expect(both.every((change: { name: string }) => change.name.includes('._domainkey.'))).toBe(true);
    await office.scene.api('DELETE', `/domains/${first.id}`, { key: office.team.key });
    await runJob();
    expect(office.server.lines()).toHaveLength(second.records.length);
    expect((await configure(second.id, { dry_run: true }, other.key)).body.changes).toEqual([]);
    await office.scene.api('DELETE', `/domains/${second.id}`, { key: other.key });
    await runJob();
    expect(office.server.lines()).toEqual([]);
  });

  test('takes over the records of its first copy when it is registered again', async () => {
    const first = await create(office.host);
    await configure(first.id);
    await office.scene.api('DELETE', `/domains/${first.id}`, { key: office.team.key });
    const second = await create(office.host);
    const { changes } = (await configure(second.id)).body;
    expect(changes.map((change: { action: string }) => change.action).sort()).toEqual(
      ['create', 'create', 'delete', 'delete'].slice(0, changes.length),
    );
    expect(office.server.lines()).toHaveLength(second.records.length);
    await configure(second.id, { remove: true });
    expect(office.server.lines()).toEqual([]);
  });

  test('publishes each MTA-STS policy by itself, and keeps the records until it is withdrawn', async () => {
    const { team, host, scene, server } = office;
    const call = async (method: string, target: string, body?: object) => {
      const answer = await scene.api(method, target, { key: team.key, ...(body ? { body } : {}) });
      expect(answer.status, answer.text).toBeLessThan(300);
      return answer.body;
    };
    const readOwn = (): string[] => server.lines().filter((line) => line.includes(`${host}. 300`));
    const readSts = (): string[] => readOwn().filter((line) => line.includes('mta-sts'));
    const publishAndVerify = async (id: string): Promise<void> => {
      await runJob();
      publish(scene.dns, await call('GET', `/domains/${id}`));
      scene.clock.advance(60_000);
      await call('POST', `/domains/${id}/verify`);
    };
    scene.dns.set(host, 'MX', ['10 rasket.test']);
    const capabilities = { receiving: 'enabled' };
    const { id } = await call('POST', '/domains', { name: host, mta_sts: 'testing', capabilities });
    await configure(id);
    await publishAndVerify(id);
    const testing = readSts();
    expect(testing).toHaveLength(2);
    await call('PATCH', `/domains/${id}`, { mta_sts: 'enforce' });
    await publishAndVerify(id);
    const enforced = readSts();
    expect([enforced.length, enforced.filter((line) => testing.includes(line)).length]).toEqual([2, 1]);

    await call('DELETE', `/domains/${id}`);
    await runJob();
    expect(readOwn()).toEqual(readSts());
    expect([readSts().length, readSts().filter((line) => enforced.includes(line)).length]).toEqual([2, 1]);
    scene.clock.advance(7 * 86_400_000 - 1);
    await runJob();
    expect(readSts()).toHaveLength(2);
    scene.clock.advance(1);
    await runJob();
    expect(readOwn()).toEqual([]);
  });

  test('keeps the MTA-STS records for the team that takes the name', async () => {
    const { team, host, scene, server } = office;
    scene.dns.set(host, 'MX', ['10 rasket.test']);
    const body = { name: host, mta_sts: 'testing', capabilities: { receiving: 'enabled' } };
    const { body: domain } = await scene.api('POST', '/domains', { key: team.key, body });
    await configure(domain.id);
    publish(scene.dns, domain);
    await scene.api('POST', `/domains/${domain.id}/verify`, { key: team.key });
    scene.clock.advance(72 * 3_600_000);
    const claimant = await scene.team();
    const { body: claim } = await scene.api('POST', '/domains/claim', { key: claimant.key, body: { name: host } });
    scene.dns.set(claim.record.name, 'TXT', [claim.record.value]);
    scene.clock.advance(60_000);
    const verify = `/domains/${claim.domain_id}/claim/verify`;
    expect((await scene.api('POST', verify, { key: claimant.key })).body.status).toBe('completed');
    await configure(claim.domain_id, {}, claimant.key);
    await runJob();
    expect(server.lines().filter((line) => line.includes('mta-sts'))).toHaveLength(2);
    scene.clock.advance(86_400_000);
    await scene.app.jobs.find(({ name }) => name === 'sweep-domains')?.run();
    await runJob();
    expect(server.lines().filter((line) => line.includes('mta-sts'))).toEqual([]);
  });

  test('publishes nothing by itself after remove', async () => {
    const domain = await create(office.host);
    await configure(domain.id);
    await configure(domain.id, { remove: true });
    await office.scene.api('PATCH', `/domains/${domain.id}`, { key: office.team.key, body: { click_tracking: true } });
    await runJob();
    expect(office.server.lines()).toEqual([]);
  });

  test('remembers a record as ours when the answer to its update was lost', async () => {
    const domain = await create(office.host);
    office.server.faults.breaksTcp = true;
    const lost = await configure(domain.id);
    expect(lost).toMatchObject({ status: 503, body: { name: 'service_unavailable' } });
    expect(office.server.lines()).toHaveLength(domain.records.length);
    office.server.faults = {};
    await configure(domain.id, { remove: true });
    expect(office.server.lines()).toEqual([]);
  });
});

describe('silent DNS servers', () => {
  const silent = useOffice({ timeoutMs: 300 });

  test.each(['both', 'udp'] as const)('have their timeout reported in the error: %s', async (over) => {
    const { id } = await silent.create(silent.host);
    silent.server.faults = { silent: over };
    const refused = await silent.configure(id);
    expect(refused.status).toBe(503);
    expect(refused.body.message).toContain('did not respond over UDP within 2 × 300 ms');
    expect(silent.server.lines()).toEqual([]);
  });
});

describe('DNS servers that cannot be trusted', () => {
  let shared: { id: string };
  let key: string;
  beforeAll(async () => {
    ({ key } = await office.scene.team());
    shared = await create('believed.example.com', key);
  });

  test.each([
    [{ signature: 'wrong' as const }, 503, 'signature is wrong'],
    [{ signature: 'none' as const }, 503, 'It is not signed; it says NOERROR'],
    [{ signature: 'old' as const }, 503, 'seconds from now; at most 300'],
    [{ signature: 'other request' as const }, 503, 'signature is wrong'],
    [{ truncates: true, breaksTcp: true }, 503, 'closed the connection without a response'],
    [{ isNotAuthoritative: true }, 422, 'not authoritative'],
    [{ updateCode: RCODES.REFUSED }, 422, 'returned REFUSED for the update'],
    [{ updateCode: RCODES.SERVFAIL }, 503, 'returned SERVFAIL for the update'],
    [{ updateCode: RCODES.YXRRSET }, 409, 'changed while its records were compared'],
  ])('that behave as %j cause %i: %s', async (faults, status, why) => {
    office.server.faults = faults;
    const refused = await configure(shared.id, {}, key);
    expect(refused.status).toBe(status);
    expect(refused.body.message).toContain(why);
    expect(office.server.lines()).toEqual([]);
  });

  test('truncated answers are requested again over TCP', async () => {
    const domain = await create(office.host);
    office.server.faults.truncates = true;
    expect((await configure(domain.id)).status).toBe(200);
    const questions = office.server.heard.filter(({ message }) => message.opcode === 0);
    expect(questions.filter(({ over }) => over === 'tcp')).toHaveLength(questions.length / 2);
  });

  test.each(['gone', 'unreachable'])('are reported at once when they are %s', async (provider) => {
    const domain = await create(`${provider}.${office.host.replace('.com', '.net')}`);
    const refused = await configure(domain.id, { provider });
    expect(refused).toMatchObject({ status: 503 });
    expect(refused.body.message).toContain(`The server of the DNS provider ${provider} cannot be queried: UDP failed`);
  });
});
