import { afterAll, beforeAll, expect, it } from 'vitest';
import { startDns, type DnsRig } from '../../rig/dns.ts';
import { freePort } from '../../rig/free-port.ts';
import { publish, startScene, type Scene } from '../../rig/scene.ts';
import { layZone, text, type PublishedRecord, type SeenRecord } from './broken-zone.ts';

let dns: DnsRig;
let second: DnsRig;
beforeAll(async () => {
  dns = await startDns({}, { port: await freePort() });
  second = await startDns({}, { address: '127.0.0.2', port: dns.port });
});
afterAll(async () => {
  await dns.close();
  await second.close();
});

/** Without a limit of its own it would end no sooner than a DNS query sent before it, after ten seconds. */
async function beforeDns<T>({ app }: Scene, silent: string, ask: () => Promise<T>): Promise<T> {
  const question = app.world.resolver.txt(silent).then(() => 'DNS gave up');
  const answer = ask();
  expect(await Promise.race([question, answer.then(() => 'answered')])).toBe('answered');
  return answer;
}

it('a domain is read quickly without a diagnosis when DNS hangs', async () => {
  const hanging = await startScene({
    config: {
      dns: { servers: [dns.server], timeout_ms: 60_000, tries: 1, authority_port: dns.port, diagnosis_ms: 601 },
      network: { dns_allow_private: ['127.0.0.0/8'] },
    },
  });
  try {
    dns.set('*.hanging.test', 'ANY', 'TIMEOUT');
    dns.set('hangs.hanging.test', 'ANY', 'TIMEOUT');
    const { key } = await hanging.team();
    const { body: made } = await hanging.api('POST', '/domains', { key, body: { name: 'hangs.hanging.test' } });
    // This is the state after a check: verification by the API waits for DNS, and a resolver that has answered once no longer hangs.
    const { db } = hanging.app.world;
    await db.run('update domains set checked_at = ? where id = ?', [hanging.clock.now(), made.id]);
    const { status, body } = await beforeDns(hanging, 'silent.hanging.test', () =>
      hanging.api('GET', `/domains/${made.id}`, { key }),
    );
    expect(status).toBe(200);
    const statuses = body.records.map((record: SeenRecord) => record.status);
    expect(new Set(statuses)).toEqual(new Set(['temporary_failure']));
  } finally {
    await hanging.close();
  }
});

it('the development profile diagnoses a domain that is set up for real, but not its own sample domain', async () => {
  const trial = await startScene({
    config: {
      delivery: { capture: true },
      dns: { servers: [dns.server], timeout_ms: 5000, tries: 1, authority_port: dns.port },
      network: { dns_allow_private: ['127.0.0.0/8'] },
    },
  });
  try {
    const { key } = await trial.team();
    const name = `mail.${layZone(dns, 'trial.test')}`;
    const { body } = await trial.api('POST', '/domains', { key, body: { name } });
    const records = body.records as PublishedRecord[];
    publish(dns, body);
    const [spf] = records.filter(({ record, type }) => record === 'SPF' && type === 'TXT');
    dns.set(spf?.name ?? '', 'TXT', [...text('v=spf1 mx ~all'), ...text('v=spf1 -all')]);
    await trial.api('POST', `/domains/${body.id}/verify`, { key });
    const seen = async () => {
      const { body: shown } = await trial.api('GET', `/domains/${body.id}`, { key });
      return { status: shown.status as string, records: shown.records as SeenRecord[] };
    };
    const broken = await seen();
    expect(broken.records.find((record) => record.name === spf?.name && record.type === 'TXT')).toMatchObject({
      status: 'failed',
      diagnosis: expect.stringContaining('There are 2 SPF records') as string,
    });
    publish(dns, body);
    trial.clock.advance(60_000);
    await trial.api('POST', `/domains/${body.id}/verify`, { key });
    expect(await seen()).toMatchObject({ status: 'verified' });
    expect((await seen()).records.map((record) => record.diagnosis)).toEqual(records.map(() => null));
  } finally {
    await trial.close();
  }
});

it('name servers that drop every query are named within the default time limit, even if the resolver hangs on them', async () => {
  const hanging = await startScene({
    config: {
      dns: { servers: [dns.server], timeout_ms: 1000, tries: 1, authority_port: dns.port },
      network: { dns_allow_private: ['127.0.0.0/8'] },
    },
  });
  try {
    const zone = layZone(dns, 'dropped.test');
    const name = `mail.${zone}`;
    dns.set(name, 'NS', [`ns2.${zone}`]);
    const { key } = await hanging.team();
    const { body } = await hanging.api('POST', '/domains', { key, body: { name } });
    const [dkim] = (body.records as PublishedRecord[]).filter(({ record }) => record === 'DKIM');
    for (const at of [
      name,
      `_domainkey.${name}`,
      ...(body.records as PublishedRecord[]).map((record) => record.name),
    ]) {
      dns.remember(at, 'ANY', 'TIMEOUT');
      second.set(at, 'ANY', 'TIMEOUT');
    }
    await hanging.app.world.db.run('update domains set checked_at = ? where id = ?', [hanging.clock.now(), body.id]);
    const seen = (await hanging.api('GET', `/domains/${body.id}`, { key })).body.records as SeenRecord[];
    expect(seen.find((record) => record.name === dkim?.name)?.diagnosis).toBe(
      `Of the name servers of ${name}, ns2.${zone} did not answer in time, and our resolver gave no answer about ${dkim?.name} either (timeout); ask again in a minute.`,
    );
  } finally {
    await hanging.close();
  }
});

it('verification ends at its time limit despite a long chain of includes, and treats what is unknown as not wrong', async () => {
  const slow = await startScene({
    config: { dns: { servers: [dns.server], timeout_ms: 60_000, tries: 1, authority_port: dns.port, look_ms: 500 } },
  });
  try {
    const { key } = await slow.team();
    const { body: made } = await slow.api('POST', '/domains', { key, body: { name: 'chain.slow.test' } });
    dns.set('*.chain.slow.test', 'ANY', 'TIMEOUT');
    for (const record of made.records) dns.set(record.name, 'ANY', 'TIMEOUT');
    const verify = () => slow.api('POST', `/domains/${made.id}/verify`, { key });
    expect((await beforeDns(slow, 'silent.chain.slow.test', verify)).status).toBe(200);
    const { db } = slow.app.world;
    const rows = await db.all('select status from domain_records where domain_id = ?', [made.id]);
    expect(new Set(rows.map((row) => row.status))).toEqual(new Set(['temporary_failure']));
  } finally {
    await slow.close();
  }
});
