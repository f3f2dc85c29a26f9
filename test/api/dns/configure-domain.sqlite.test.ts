import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { CLASSES, RCODES } from '../../../src/protocol/dns/index.ts';
import { readZoneFile } from '../../rig/zone-reader.ts';
import { useOffice } from './office.ts';

const office = useOffice();
const { create, configure, put } = office;

describe('publishing the records of a domain', () => {
  test('a dry run shows the changes and makes none; the call itself makes exactly these', async () => {
    const domain = await create(office.host);
    const before = office.server.lines();
    const shown = await configure(domain.id, { dry_run: true });
    expect(shown.body).toMatchObject({
      object: 'dns_configuration',
      domain_id: domain.id,
      provider: 'office',
      zone: 'example.com',
      dry_run: true,
    });
    expect(office.server.lines()).toEqual(before);
    expect(shown.body.changes).toEqual(
      domain.records.map((record: { name: string; type: string; value: string; priority?: number }) => ({
        action: 'create',
        name: record.name,
        type: record.type,
        value: record.value,
        ttl: 300,
        ...(record.priority === undefined ? {} : { priority: record.priority }),
      })),
    );
    const made = await configure(domain.id);
    expect(made.body).toEqual({ ...shown.body, dry_run: false });
    expect(office.server.lines()).toHaveLength(domain.records.length);
    expect((await configure(domain.id)).body.changes).toEqual([]);
  });

  test('remove deletes everything that was published and nothing else', async () => {
    put(office.host, 'TXT', 'hello=world');
    put(`send.${office.host}`, 'TXT', 'of somebody else');
    const before = office.server.lines();
    const domain = await create(office.host);
    await configure(domain.id);
    const shown = await configure(domain.id, { remove: true, dry_run: true });
    expect(shown.body.changes.map((change: { action: string }) => change.action)).not.toContain('create');
    const removed = await configure(domain.id, { remove: true });
    expect(removed.body).toEqual({ ...shown.body, dry_run: false });
    expect(office.server.lines()).toEqual(before);
    expect((await configure(domain.id, { remove: true, provider: 'office' })).body.changes).toEqual([]);
  });

  test('a record that someone else had already created is neither changed nor ever removed', async () => {
    const domain = await create(office.host);
    const [mx] = domain.records.filter((record: { type: string }) => record.type === 'MX');
    put(mx.name, 'MX', mx.value.toUpperCase(), mx.priority);
    const before = office.server.lines();
    const made = await configure(domain.id);
    expect(made.body.changes.map((change: { type: string }) => change.type)).not.toContain('MX');
    await configure(domain.id, { remove: true });
    expect(office.server.lines()).toEqual(before);
  });

  test('a record is added alongside those of others with their TTL, which does not change', async () => {
    put(`send.${office.host}`, 'TXT', 'of somebody else');
    const domain = await create(office.host);
    const { body } = await configure(domain.id);
    const spf = body.changes.find((change: { value: string }) => change.value.startsWith('v=spf1'));
    expect(spf).toMatchObject({ action: 'create', ttl: 1234 });
  });

  test('an SPF record that contains our terms, and an own DMARC policy, are accepted as they are', async () => {
    const domain = await create(office.host);
    const spf = domain.records.find((record: { value: string }) => record.value.startsWith('v=spf1'));
    put(spf.name, 'TXT', spf.value.replace('v=spf1 ', 'v=spf1 ip4:192.0.2.1 '));
    put(`_dmarc.${office.host}`, 'TXT', 'v=DMARC1; p=reject');
    const { body } = await configure(domain.id);
    expect(body.changes.filter((change: { value: string }) => /^v=(spf1|DMARC1)/.test(change.value))).toEqual([]);
  });
});

describe('conflicting records', () => {
  test.each([
    ['send', 'CNAME', 'elsewhere.example.net', null, 'no other record may exist'],
    ['send', 'MX', 'mx.example.net', 5, 'mail would be delivered to both servers'],
    ['send', 'TXT', 'v=spf1 ip4:192.0.2.1 -all', null, 'may have only one SPF record; add a:rasket.test to it'],
  ])('%s %s %s is named, and nothing changes', async (label, type, value, priority, why) => {
    const name = `${label}.${office.host}`;
    put(name, type, value, priority);
    const before = office.server.lines();
    const domain = await create(office.host);
    for (const body of [{ dry_run: true }, undefined]) {
      const refused = await configure(domain.id, body);
      expect(refused).toMatchObject({ status: 422, body: { name: 'validation_error' } });
      expect(refused.body.message).toContain(
        `${name} has the ${type} record "${value}", which this service did not publish`,
      );
      expect(refused.body.message).toContain(why);
    }
    expect(office.server.lines()).toEqual(before);
  });

  test('a CNAME of ours conflicts with any other record of its name', async () => {
    const data = { type: 'A' as const, address: '192.0.2.1' };
    office.server.records.push({ name: `track.${office.host}`, class: CLASSES.IN, ttl: 60, data });
    const domain = (
      await office.scene.api('POST', '/domains', {
        key: office.team.key,
        body: { name: office.host, click_tracking: true },
      })
    ).body;
    const refused = await configure(domain.id);
    expect(refused.body.message).toContain(`track.${office.host} has the A record "192.0.2.1"`);
  });

  test('a zone that changes in between is left alone, and the next call sees the change', async () => {
    const domain = await create(office.host);
    office.server.faults.beforeUpdate = () => put(`send.${office.host}`, 'MX', 'mx.example.net', 5);
    const refused = await configure(domain.id);
    expect(refused).toMatchObject({ status: 409, body: { name: 'resource_locked' } });
    expect(refused.body.message).toContain('example.com changed while its records were compared');
    expect(office.server.lines()).toHaveLength(1);
    office.server.faults = {};
    expect((await configure(domain.id)).body.message).toContain('mx.example.net');
  });

  test('a record that was refused is not ours when someone else creates the same one by hand', async () => {
    const domain = await create(office.host);
    office.server.faults.updateCode = RCODES.YXRRSET;
    expect((await configure(domain.id)).status).toBe(409);
    office.server.faults = {};
    for (const record of domain.records) put(record.name, record.type, record.value, record.priority ?? null);
    const before = office.server.lines();
    expect((await configure(domain.id)).body.changes).toEqual([]);
    await configure(domain.id, { remove: true });
    expect(office.server.lines()).toEqual(before);
  });
});

describe('the choice of the DNS provider', () => {
  let shared: { id: string };
  let key: string;
  beforeAll(async () => {
    ({ key } = await office.scene.team());
    shared = await create('chosen.example.com', key);
  });

  test('a domain outside the zones gets the list of zones', async () => {
    const domain = await create(office.host.replace('.com', '.org'));
    const refused = await configure(domain.id, { provider: 'office' });
    expect(refused).toMatchObject({ status: 422, body: { name: 'validation_error' } });
    expect(refused.body.message).toBe(
      `The DNS provider office has no zone for ${domain.name}; it has example.com, deep.example.com.`,
    );
    expect((await configure(domain.id)).body.message).toBe(
      `No DNS provider of your team has a zone for ${domain.name}; the providers are office (example.com, deep.example.com), gone (example.net), unreachable (example.net), filed (example.edu).`,
    );
  });

  test('a name that only ends like the zone is not in it', async () => {
    const domain = await create('notexample.com');
    expect((await configure(domain.id, { provider: 'office' })).status).toBe(422);
  });

  test('a secret file is read at each use, and a missing one is reported as the operator’s fault', async () => {
    const file = path.join(office.scene.dataDir, 'dns.key');
    const domain = await create(office.host.replace('.com', '.edu'));
    const absent = await configure(domain.id);
    expect(absent).toMatchObject({ status: 422 });
    expect(absent.body.message).toContain('The secret of the DNS provider filed cannot be read');
    expect(absent.text).not.toContain(office.scene.dataDir);
    writeFileSync(file, Buffer.alloc(32, 8).toString('base64'));
    expect((await configure(domain.id)).body.message).toContain('It is not signed; it says NOTAUTH');
    writeFileSync(file, `${Buffer.alloc(32, 9).toString('base64')}\n`);
    // The key is now right, and the zone is one that this server does not have.
    expect((await configure(domain.id)).body.message).toContain('returned REFUSED for');
  });

  test.each(['closed', 'nobody', 'constructor', 'cloudflare'])(
    'the provider %s, which the team may not use, gets the same answer as an unknown one',
    async (provider) => {
      const refused = await configure(shared.id, { provider }, key);
      expect(refused.status).toBe(422);
      expect(refused.body.message).toBe(
        `There is no DNS provider ${JSON.stringify(provider)} that your team may use; your team may use office, gone, unreachable, filed.`,
      );
    },
  );

  test.each([
    [{ provider: '' }, 'provider'],
    [{ provider: 'x'.repeat(65) }, 'provider'],
    [{ dry_run: 'yes' }, 'dry_run'],
    [{ remove: 1 }, 'remove'],
    [{ api_token: '' }, 'api_token'],
    [{ api_token: 'a b' }, 'api_token'],
    [{ api_token: 'x'.repeat(501) }, 'api_token'],
    [{ zone: 'example.com' }, 'zone'],
  ])('%j is refused and the field is named', async (body, path) => {
    const refused = await configure(shared.id, body, key);
    expect(refused.status).toBe(400);
    expect(refused.body.errors[0].path).toBe(path);
  });

  test('a domain of another team and one that does not exist look the same', async () => {
    const domain = await create(office.host);
    const other = await office.scene.team();
    const foreign = await configure(domain.id, {}, other.key);
    const absent = await configure('019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e01', {}, other.key);
    expect(foreign).toMatchObject({ status: 404 });
    expect(foreign.body).toEqual(absent.body);
    expect((await office.scene.api('GET', `/domains/${domain.id}/dns/zone`, { key: other.key })).status).toBe(404);
  });

  test('a sending key can neither read nor publish', async () => {
    const domain = await create(office.host);
    const key = await office.team.sendingKey();
    expect((await configure(domain.id, {}, key)).body.name).toBe('restricted_api_key');
    expect((await office.scene.api('GET', `/domains/${domain.id}/dns/zone`, { key })).body.name).toBe(
      'restricted_api_key',
    );
  });
});

test('the zone file holds every record, with complete names and split texts', async () => {
  const domain = await create(office.host);
  const { text, headers } = await office.scene.api('GET', `/domains/${domain.id}/dns/zone`, { key: office.team.key });
  expect(headers.get('content-type')).toBe('text/plain; charset=utf-8');
  const key = (record: { name: string; type: string }): string => `${record.name} ${record.type}`;
  const read = readZoneFile(text);
  expect(read.map(key)).toEqual(domain.records.map(key));
  expect(read.find(({ name }) => name.includes('_domainkey'))?.data).toBe(domain.records[0].value);
});
