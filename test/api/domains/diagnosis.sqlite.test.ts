import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startDns, type DnsRig } from '../../rig/dns.ts';
import { freePort } from '../../rig/free-port.ts';
import { publish, startScene, type Scene, type Team } from '../../rig/scene.ts';
import { BROKEN_DKIM } from './broken-dkim.ts';
import { BROKEN_DMARC, BROKEN_HOSTS } from './broken-hosts.ts';
import { BROKEN_SERVERS } from './broken-servers.ts';
import { BROKEN_SPF } from './broken-spf.ts';
import { layZone, text, type BrokenZone, type Ground, type PublishedRecord, type SeenRecord } from './broken-zone.ts';

const BROKEN_ZONES = [...BROKEN_SPF, ...BROKEN_DKIM, ...BROKEN_HOSTS, ...BROKEN_DMARC, ...BROKEN_SERVERS];

let scene: Scene;
let dns: DnsRig;
let second: DnsRig;
let team: Team;
beforeAll(async () => {
  dns = await startDns({}, { port: await freePort() });
  second = await startDns({}, { address: '127.0.0.2', port: dns.port });
  scene = await startScene({
    config: {
      dns: { servers: [dns.server], timeout_ms: 5000, tries: 1, authority_port: dns.port, diagnosis_ms: 8000 },
      network: { dns_allow_private: ['127.0.0.0/8'] },
      tracking: { caa_issuer: 'letsencrypt.org' },
    },
  });
  team = await scene.team();
});
afterAll(async () => {
  await scene.close();
  await dns.close();
  await second.close();
});

let made = 0;

/** Creates such a zone, and a domain in it whose records are all published. */
async function lay(): Promise<Ground & { id: string }> {
  const zone = layZone(dns, `z${++made}.test`);
  const name = `mail.${zone}`;
  const body = { name, open_tracking: true, capabilities: { receiving: 'enabled' } };
  const created = await scene.api('POST', '/domains', { key: team.key, body });
  publish(dns, created.body);
  const records = created.body.records as PublishedRecord[];
  const the = (record: string, has = ''): PublishedRecord => {
    const found = records.find((one) => one.record === record && `${one.type} ${one.value}`.includes(has));
    if (!found) throw new Error(`the domain has no ${record} record with ${has}`);
    return found;
  };
  return {
    id: created.body.id as string,
    dns,
    second,
    zone,
    name,
    now: scene.clock.now(),
    dkim: the('DKIM', 'k=rsa'),
    ed25519: the('DKIM', 'k=ed25519'),
    mx: the('SPF', 'MX'),
    spf: the('SPF', 'TXT'),
    dmarc: the('DMARC'),
    tracking: the('Tracking'),
    receiving: the('Receiving'),
  };
}

async function look(id: string, key = team.key): Promise<SeenRecord[]> {
  return (await scene.api('GET', `/domains/${id}`, { key })).body.records;
}

const verify = (id: string) => scene.api('POST', `/domains/${id}/verify`, { key: team.key });

function findRecord(records: SeenRecord[], ground: Ground, of: BrokenZone['of']): SeenRecord | undefined {
  if (of === 'caa') return records.find((record) => record.record === 'TrackingCAA');
  return records.find((record) => record.name === ground[of].name && record.type === ground[of].type);
}

/** Returns the diagnosis of such a zone. */
async function examine({ of, breakIt }: BrokenZone): Promise<{ ground: Ground; about: SeenRecord | undefined }> {
  const ground = await lay();
  breakIt(ground);
  await verify(ground.id);
  return { ground, about: findRecord(await look(ground.id), ground, of) };
}

describe('a broken zone', () => {
  // All silent servers are waited for at once, while the other zones are examined.
  const begun = new Map<BrokenZone, ReturnType<typeof examine>>();
  beforeAll(() => {
    for (const zone of silent) {
      const examining = examine(zone);
      // The zone's own test reports the error.
      examining.catch(() => undefined);
      begun.set(zone, examining);
    }
  });
  const silent = BROKEN_ZONES.filter(({ isSilent }) => isSilent);
  it.each([...BROKEN_ZONES.filter(({ isSilent }) => !isSilent), ...silent])(
    'has its own diagnosis: $why',
    async (zone) => {
      const { ground, about } = await (begun.get(zone) ?? examine(zone));
      expect(about?.diagnosis).toBe(zone.says(ground));
      expect(about?.status).toBe(zone.status ?? 'failed');
    },
  );

  it('is reported as unregistered if nobody has registered the name', async () => {
    dns.set('nic', 'SOA', ['ns1.zone.nic admin.nic 1 900']);
    dns.set('nic', 'NS', ['ns1.zone.nic']);
    dns.set('ns1.zone.nic', 'A', ['127.0.0.1']);
    const { body } = await scene.api('POST', '/domains', { key: team.key, body: { name: 'mail.unregistered.nic' } });
    await verify(body.id);
    for (const record of (await look(body.id)).slice(0, 3)) {
      expect(record.diagnosis).toBe(
        'unregistered.nic does not exist: the zone nic does not know it, so it is not registered, or no name servers are set at its registrar.',
      );
    }
  });

  it('is reported as repaired once the record is published', async () => {
    const ground = await lay();
    dns.forget(ground.dkim.name);
    await verify(ground.id);
    publish(dns, { records: [ground.dkim] });
    const about = findRecord(await look(ground.id), ground, 'dkim');
    expect([about?.status, about?.diagnosis]).toEqual([
      'pending',
      `The TXT record at ${ground.dkim.name} is published as asked for by now; verify the domain to have it looked up again.`,
    ]);
  });

  it('is reported when the CAA record of the link host forbids certificates', async () => {
    dns.set('rasket.test', 'SOA', ['ns1.rasket.test admin.rasket.test 1 900']);
    dns.set('rasket.test', 'NS', ['ns1.rasket.test']);
    dns.set('ns1.rasket.test', 'A', ['127.0.0.1']);
    dns.set('rasket.test', 'CAA', ['0 issue "ca.elsewhere.test"']);
    try {
      const ground = await lay();
      await verify(ground.id);
      expect(findRecord(await look(ground.id), ground, 'caa')?.diagnosis).toBe(
        'The CAA records at rasket.test let only ca.elsewhere.test issue certificates, so letsencrypt.org makes none for the hosts that point here; add 0 issue "letsencrypt.org" beside them.',
      );
    } finally {
      dns.forget('rasket.test');
    }
  });

  it('is distinguished in at least 25 ways', () => {
    expect(new Set(BROKEN_ZONES.map(({ why }) => why)).size).toBeGreaterThanOrEqual(25);
  });
});

describe('a correct zone', () => {
  it('gets no diagnosis, and its name servers are not queried', async () => {
    const ground = await lay();
    const before = dns.queries.length;
    await verify(ground.id);
    const records = await look(ground.id);
    expect(records.map(({ status, diagnosis }) => [status, diagnosis])).toEqual(records.map(() => ['verified', null]));
    expect(dns.queries.slice(before).filter(({ recursion }) => !recursion)).toEqual([]);
  });

  it('is verified although its names hold many other TXT records', async () => {
    const ground = await lay();
    const others = Array.from({ length: 100 }, (_, i) => `site-proof-${i}=abc`);
    for (const { name, value } of [ground.dkim, ground.spf, ground.dmarc]) {
      dns.set(name, 'TXT', [...others, ...text(value)]);
    }
    await verify(ground.id);
    const records = await look(ground.id);
    expect(records.map(({ status, diagnosis }) => [status, diagnosis])).toEqual(records.map(() => ['verified', null]));
  });

  it('is shown with the values from the resolver', async () => {
    const ground = await lay();
    await verify(ground.id);
    const records = await look(ground.id);
    expect(findRecord(records, ground, 'mx')?.found).toEqual({ resolver: ['10 rasket.test'], authoritative: [] });
  });

  it('is not queried before the domain was verified once', async () => {
    const ground = await lay();
    const records = await look(ground.id);
    expect(records.map(({ diagnosis, found }) => [diagnosis, found])).toEqual(records.map(() => [null, null]));
  });
});

describe('the displayed diagnosis', () => {
  it('shows the answer of the resolver and that of the name servers', async () => {
    const ground = await lay();
    dns.set(ground.mx.name, 'MX', ['10 new.test']);
    dns.remember(ground.mx.name, 'MX', ['10 old.test']);
    await verify(ground.id);
    const mx = findRecord(await look(ground.id), ground, 'mx');
    expect(mx?.found).toEqual({ resolver: ['10 old.test'], authoritative: ['10 new.test'] });
  });

  it('shows hostile texts shortened, escaped and limited in number', async () => {
    const ground = await lay();
    const hostile = `\u001b]0;x\u0007\u202e\u2028${'<script>'.repeat(500)}`;
    dns.set(
      ground.spf.name,
      'TXT',
      Array.from({ length: 12 }, (_, i) => `v=spf1 ${i} ${hostile}`.match(/.{1,200}/gs) ?? []),
    );
    await verify(ground.id);
    const spf = findRecord(await look(ground.id), ground, 'spf');
    const values = [...(spf?.found?.resolver ?? []), ...(spf?.found?.authoritative ?? []), spf?.diagnosis ?? ''];
    expect(spf?.found?.resolver).toHaveLength(5);
    for (const value of values) {
      expect(Array.from(value).length).toBeLessThanOrEqual(600);
      expect(value).not.toMatch(/[\p{Cc}\p{Cf}\u2028\u2029]/u);
    }
  });

  it('reveals no name of a private network, neither directly nor through an alias', async () => {
    const ground = await lay();
    // The name servers of this zone are in a private network.
    dns.set(ground.zone, 'NS', [`inner.${ground.zone}`]);
    dns.set(`inner.${ground.zone}`, 'A', ['10.0.0.53']);
    dns.set(ground.spf.name, 'TXT', ['v=spf1 secret-inside -all']);
    await verify(ground.id);
    const inside = JSON.stringify(await look(ground.id));
    expect(inside).not.toContain('secret-inside');
    expect(inside).toContain('have addresses that are not public');
    // This public zone leads our resolver to a private name.
    const leading = await lay();
    dns.forget(leading.dkim.name);
    dns.set(leading.dkim.name, 'CNAME', ['db.corp.internal']);
    dns.set('db.corp.internal', 'TXT', ['secret-inside']);
    await verify(leading.id);
    const led = JSON.stringify(await look(leading.id));
    expect(led).toContain('is an alias (CNAME) of db.corp.internal');
    expect(led).not.toContain('secret-inside');
  });

  it('never queries a name server in a private network', async () => {
    const ground = await lay();
    dns.set(`ns1.${ground.zone}`, 'A', ['127.0.0.1']);
    dns.forget(ground.dkim.name);
    const guarded = await startScene({
      config: { dns: { servers: [dns.server], timeout_ms: 5000, tries: 1, authority_port: dns.port } },
    });
    try {
      const other = await guarded.team();
      const { body } = await guarded.api('POST', '/domains', { key: other.key, body: { name: ground.name } });
      await guarded.api('POST', `/domains/${body.id}/verify`, { key: other.key });
      const before = dns.queries.length;
      const { body: seen } = await guarded.api('GET', `/domains/${body.id}`, { key: other.key });
      expect(seen.records[0].diagnosis).toContain('have addresses that are not public');
      expect(dns.queries.slice(before).filter(({ recursion }) => !recursion)).toEqual([]);
    } finally {
      await guarded.close();
    }
  });

  it('is not visible to another team', async () => {
    const ground = await lay();
    await verify(ground.id);
    const stranger = await scene.team();
    const { status, body } = await scene.api('GET', `/domains/${ground.id}`, { key: stranger.key });
    expect([status, body.name]).toEqual([404, 'not_found']);
  });
});

describe('the number of DNS queries of a diagnosis', () => {
  it('is zero for a second reader within half a minute, and full after that', async () => {
    const ground = await lay();
    dns.forget(ground.dkim.name);
    await verify(ground.id);
    await look(ground.id);
    const after = dns.queries.length;
    await look(ground.id);
    expect(dns.queries.length).toBe(after);
    scene.clock.advance(31_000);
    await look(ground.id);
    expect(dns.queries.slice(after).filter(({ recursion }) => !recursion).length).toBeGreaterThan(0);
  });

  it('is bounded for a domain with everything broken', async () => {
    const ground = await lay();
    const { dkim, ed25519, mx, spf, dmarc, tracking } = ground;
    for (const { name } of [dkim, ed25519, mx, spf, dmarc, tracking]) dns.forget(name);
    dns.set(
      ground.zone,
      'NS',
      Array.from({ length: 20 }, (_, i) => `ns${i}.many.test`),
    );
    for (let i = 0; i < 20; i++) dns.set(`ns${i}.many.test`, 'A', [`127.0.0.${i % 2 ? 1 : 2}`]);
    await verify(ground.id);
    const before = dns.queries.length + second.queries.length;
    await look(ground.id);
    expect(dns.queries.length + second.queries.length - before).toBeLessThanOrEqual(250);
  });

  it('includes a TCP query when an answer is too long for UDP', async () => {
    const ground = await lay();
    dns.set(ground.dkim.name, 'TXT', text(`v=DKIM1; k=rsa; p=${'B'.repeat(700)}`));
    await verify(ground.id);
    const about = findRecord(await look(ground.id), ground, 'dkim');
    expect(about?.found?.authoritative[0]).toMatch(/^v=DKIM1; k=rsa; p=B+…$/);
    expect(
      dns.queries.some(({ over, recursion, name }) => over === 'tcp' && !recursion && name === ground.dkim.name),
    ).toBe(true);
  });
});
