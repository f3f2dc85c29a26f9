import { afterAll, beforeAll, expect, test } from 'vitest';
import { startBind, type Bind } from '../rig/bind.ts';
import { startScene, type Scene, type Team } from '../rig/scene.ts';
import { describePeers, findProgram } from './peers.ts';

const ZONE = 'example.com';

interface SeenRecord {
  record: string;
  type: string;
  name: string;
  value: string;
  priority?: number;
  status: string;
  diagnosis: string | null;
  found: { resolver: string[]; authoritative: string[] } | null;
}

/** A real name server answers for broken zones: wildcards, aliases, denials and truncation are its own. */
describePeers('the diagnosis of a zone in BIND', ['named', 'nsupdate', 'dig'], () => {
  let bind: Bind;
  let scene: Scene;
  let team: Team;
  beforeAll(async () => {
    bind = await startBind({ named: findProgram('named') ?? '', zones: { [ZONE]: [] } });
    scene = await startScene({
      config: {
        dns: { servers: [bind.server], timeout_ms: 2000, tries: 1, authority_port: bind.port },
        network: { dns_allow_private: ['127.0.0.0/8'] },
      },
    });
    team = await scene.team();
  });
  afterAll(async () => {
    await scene.close();
    await bind.close();
  });

  let made = 0;
  const strings = (value: string): string =>
    (value.match(/.{1,255}/gs) ?? []).map((part) => `"${part.replaceAll(/["\\]/g, '\\$&')}"`).join(' ');
  const add = (name: string, type: string, data: string) => `update add ${name}. 60 ${type} ${data}`;
  const formatLine = (record: SeenRecord): string =>
    record.type === 'TXT'
      ? add(record.name, 'TXT', strings(record.value))
      : add(record.name, record.type, `${record.priority ?? ''} ${record.value}.`);

  /** Publishes a domain's records as the change leaves them, verifies it, and reads what is said of one. */
  async function seen(
    of: (record: SeenRecord) => boolean,
    lines: (record: SeenRecord, domain: string) => string[],
  ): Promise<SeenRecord & { domain: string }> {
    const domain = `m${++made}.${ZONE}`;
    const { body } = await scene.api('POST', '/domains', {
      key: team.key,
      body: { name: domain, click_tracking: true },
    });
    const records = body.records as SeenRecord[];
    const about = records.find(of);
    if (!about) throw new Error('the domain has no such record');
    await bind.update(
      ZONE,
      ...records.flatMap((record) => (record === about ? lines(record, domain) : [formatLine(record)])),
    );
    await scene.api('POST', `/domains/${body.id}/verify`, { key: team.key });
    const answer = await scene.api('GET', `/domains/${body.id}`, { key: team.key });
    const after = (answer.body.records as SeenRecord[]).find(
      ({ name, type }) => name === about.name && type === about.type,
    );
    if (!after) throw new Error('the record is gone');
    return { ...after, domain };
  }
  const isDkim = ({ record, value }: SeenRecord): boolean => record === 'DKIM' && value.includes('k=rsa');
  const isSpf = ({ record, type }: SeenRecord): boolean => record === 'SPF' && type === 'TXT';
  const isMx = ({ type }: SeenRecord): boolean => type === 'MX';
  const isTracking = ({ record }: SeenRecord): boolean => record === 'Tracking';

  test('is empty when everything is published', async () => {
    const record = await seen(isDkim, (dkim) => [formatLine(dkim)]);
    expect(record).toMatchObject({ status: 'verified', diagnosis: null });
  });

  test('reports absent records until the negative cache expires', async () => {
    const record = await seen(isDkim, () => []);
    const until = new Date(scene.clock.now() + 60_000).toISOString().replace(/\.\d+Z$/, 'Z');
    expect(record.diagnosis).toBe(
      `There is no such TXT record at ${record.name} on ns.${ZONE}; publish the record shown, which our resolver may not notice before ${until}.`,
    );
    expect(record.found).toEqual({ resolver: [], authoritative: [] });
  });

  test('reports a truncated key, and a long one that needs TCP', async () => {
    const cut = await seen(isDkim, (dkim) => [add(dkim.name, 'TXT', strings(dkim.value.slice(0, 255)))]);
    expect(cut.diagnosis).toContain('is cut off: 237 of its 392 characters are there');
    const long = await seen(isDkim, (dkim) => [add(dkim.name, 'TXT', strings(`${dkim.value}${'A'.repeat(1200)}`))]);
    expect(long.diagnosis).toContain('goes on after its end: 1592 characters where 392 are asked for');
  });

  test('reports a key with the quotes and backslashes of a zone file', async () => {
    const split = await seen(isDkim, ({ name, value }) => [
      add(name, 'TXT', strings(`${value.slice(0, 200)}" "${value.slice(200)}`)),
    ]);
    expect(split.diagnosis).toContain('has quotation marks inside the text where the value was split');
    const escaped = await seen(isDkim, ({ name, value }) => [add(name, 'TXT', strings(value.replaceAll(';', '\\;')))]);
    expect(escaped.diagnosis).toContain('has backslashes in it');
  });

  test('reports a name with the zone appended', async () => {
    const record = await seen(isDkim, ({ name, value }) => [add(`${name}.${ZONE}`, 'TXT', strings(value))]);
    expect(record.diagnosis).toContain(`The TXT record stands at ${record.name}.${ZONE} instead of ${record.name}`);
  });

  test('reports an alias at the name, outside and within the zone', async () => {
    const out = await seen(isDkim, ({ name }) => [add(name, 'CNAME', 'keys.elsewhere.test.')]);
    expect(out.diagnosis).toContain(`${out.name} is an alias (CNAME) of keys.elsewhere.test, and where`);
    const inner = await seen(isDkim, ({ name }) => [add(name, 'CNAME', `keys.${ZONE}.`)]);
    expect(inner.diagnosis).toContain(`${inner.name} is an alias (CNAME) of keys.${ZONE}, and where`);
  });

  test('reports a wildcard that responds, as text and as alias', async () => {
    const text = await seen(isDkim, (_, domain) => [add(`*._domainkey.${domain}`, 'TXT', '"v=spf1 -all"')]);
    expect(text.diagnosis).toContain(`the wildcard *._domainkey.${text.domain} answers for it with "v=spf1 -all"`);
    const alias = await seen(isDkim, (_, domain) => [add(`*._domainkey.${domain}`, 'CNAME', 'park.elsewhere.test.')]);
    expect(alias.diagnosis).toContain(
      `*._domainkey.${alias.domain} answers for it with an alias (CNAME) of park.elsewhere.test`,
    );
  });

  test('reports two SPF records, and one that needs too many lookups', async () => {
    const two = await seen(isSpf, (spf) => [formatLine(spf), add(spf.name, 'TXT', '"v=spf1 mx -all"')]);
    expect(two.diagnosis).toContain('There are 2 SPF records at');
    const dear = await seen(isSpf, (spf, domain) => [
      add(spf.name, 'TXT', `"v=spf1 a:rasket.test include:_inner.${domain} ~all"`),
      add(
        `_inner.${domain}`,
        'TXT',
        '"v=spf1 mx a ptr exists:a.test exists:b.test a:c.test a:d.test mx:e.test a:f.test -all"',
      ),
    ]);
    expect(dear.diagnosis).toContain('needs 11 DNS look-ups or more');
  });

  test('reports an MX with the zone appended, and a null MX', async () => {
    // BIND takes an MX record to a name of its own zone only if that has an address.
    const longer = await seen(isMx, ({ name, value }) => [
      add(`${value}.${ZONE}`, 'A', '203.0.113.9'),
      add(name, 'MX', `10 ${value}.${ZONE}.`),
    ]);
    expect(longer.diagnosis).toContain(`which is now rasket.test.${ZONE}; enter rasket.test. with a dot`);
    const nothing = await seen(isMx, ({ name }) => [add(name, 'MX', '0 .')]);
    expect(nothing.diagnosis).toContain('is a null MX (RFC 7505)');
  });

  test('reports an address where an alias is required', async () => {
    const record = await seen(isTracking, ({ name }) => [add(name, 'A', '203.0.113.5')]);
    expect(record.diagnosis).toContain(`${record.name} has an A record (`);
  });
});
