import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { publish, startScene, type Scene, type Team } from '../../rig/scene.ts';

interface DnsRecord {
  record: string;
  status: string;
  type: 'TXT' | 'MX';
  required: boolean;
  name: string;
  value: string;
  priority?: number;
}
interface Domain {
  id: string;
  name: string;
  records: [dkim: DnsRecord, mx: DnsRecord, spf: DnsRecord];
}

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
let scene: Scene;
beforeAll(async () => {
  scene = await startScene({ config: { dns: { timeout_ms: 2000, tries: 1 } } });
});
afterAll(() => scene.close());

let made = 0;
async function register(team: Team): Promise<Domain> {
  const name = `v${++made}.example.com`;
  const { body } = await scene.api('POST', '/domains', { key: team.key, body: { name } });
  // The scene's name server has an MX for every name; here nothing is published yet.
  for (const record of body.records) scene.dns.set(record.name, 'A', []);
  return body;
}
const verify = (team: Team, domain: Domain) => scene.api('POST', `/domains/${domain.id}/verify`, { key: team.key });
const forget = (team: Team, domain: Domain) => scene.api('DELETE', `/domains/${domain.id}`, { key: team.key });
async function statuses(team: Team, domain: Domain): Promise<string[]> {
  const { body } = await scene.api('GET', `/domains/${domain.id}`, { key: team.key });
  // Only required records decide: the record of the second key and the DMARC record are recommendations.
  const required = (body.records as DnsRecord[]).filter((record) => record.required);
  return [body.status, ...required.map((record) => record.status)];
}
const storedStatus = async (domain: Domain) =>
  (await scene.app.world.db.get('select status from domains where id = ?', [domain.id]))?.status;
const loadEvents = async (domain: Domain) =>
  (await scene.events(domain.id)).map((event) => `${event.type} ${String(event.data?.['status'])}`);
const sweep = () => scene.app.jobs.find((job) => job.name === 'sweep-domains')?.run();

describe('verification', () => {
  it('with all records published verifies the domain, which may then send', async () => {
    const team = await scene.team();
    const domain = await register(team);
    publish(scene.dns, domain);
    const answer = await verify(team, domain);
    expect([answer.status, answer.body]).toEqual([200, { object: 'domain', id: domain.id }]);
    expect(await statuses(team, domain)).toEqual(['verified', 'verified', 'verified', 'verified']);
    const { body } = await scene.api('GET', `/domains/${domain.id}`, { key: team.key });
    expect(body.capabilities).toEqual({ sending: 'verified', receiving: 'unsupported' });
    expect(await loadEvents(domain)).toEqual(['domain.created not_started', 'domain.updated verified']);
  });

  it('with nothing published leaves the domain pending, and it may not send', async () => {
    const team = await scene.team();
    const domain = await register(team);
    await verify(team, domain);
    expect(await statuses(team, domain)).toEqual(['pending', 'pending', 'pending', 'pending']);
    const body = { from: `a@${domain.name}`, to: 'x@example.org', subject: 'Hello', text: 'Hello' };
    expect(await scene.api('POST', '/emails', { key: team.key, body })).toMatchObject({
      status: 403,
      body: { name: 'validation_error' },
    });
    expect(await loadEvents(domain)).toEqual(['domain.created not_started', 'domain.updated pending']);
  });

  const cases: { why: string; change: (domain: Domain) => void; after: string[] }[] = [
    {
      why: 'one record is missing',
      change: ({ records: [dkim] }) => scene.dns.set(dkim.name, 'TXT', []),
      after: ['pending', 'pending', 'verified', 'verified'],
    },
    {
      why: 'the DKIM key is another one',
      change: ({ records: [dkim] }) => scene.dns.set(dkim.name, 'TXT', ['v=DKIM1; k=rsa; p=MIIBIjANBgkq']),
      after: ['pending', 'failed', 'verified', 'verified'],
    },
    {
      why: 'the DKIM key is revoked',
      change: ({ records: [dkim] }) => scene.dns.set(dkim.name, 'TXT', ['v=DKIM1; p=']),
      after: ['pending', 'failed', 'verified', 'verified'],
    },
    {
      why: 'the DKIM record does not begin with its version',
      change: ({ records: [dkim] }) =>
        scene.dns.set(dkim.name, 'TXT', [`${dkim.value.replace('v=DKIM1; ', '')}; v=DKIM1`.match(/.{1,255}/g) ?? []]),
      after: ['pending', 'failed', 'verified', 'verified'],
    },
    {
      why: 'the DKIM key is folded and has other tags beside it',
      change: ({ records: [dkim] }) => {
        const key = dkim.value.replace(/.*p=/, '');
        scene.dns.set(dkim.name, 'TXT', [['v=DKIM1;t=s; p = ', `${key.slice(0, 200)} `, ` ${key.slice(200)} ; k=rsa`]]);
      },
      after: ['verified', 'verified', 'verified', 'verified'],
    },
    {
      why: 'there are other texts beside the SPF record and other senders in it',
      change: ({ records: [, , spf] }) =>
        scene.dns.set(spf.name, 'TXT', [
          'some-proof=1',
          'V=SPF1 include:example.net +A:rasket.test ip4:192.0.2.1 -all',
        ]),
      after: ['verified', 'verified', 'verified', 'verified'],
    },
    {
      why: 'the SPF record does not name us',
      change: ({ records: [, , spf] }) => scene.dns.set(spf.name, 'TXT', ['v=spf1 include:example.net ~all']),
      after: ['pending', 'verified', 'verified', 'failed'],
    },
    {
      why: 'the SPF record names us behind its end',
      change: ({ records: [, , spf] }) => scene.dns.set(spf.name, 'TXT', ['v=spf1 -all a:rasket.test']),
      after: ['pending', 'verified', 'verified', 'failed'],
    },
    {
      why: 'there are two SPF records, which is as bad as none',
      change: ({ records: [, , spf] }) =>
        scene.dns.set(spf.name, 'TXT', [spf.value, 'v=spf1 include:example.net ~all']),
      after: ['pending', 'verified', 'verified', 'failed'],
    },
    {
      why: 'the MX is somebody else',
      change: ({ records: [, mx] }) => scene.dns.set(mx.name, 'MX', ['10 mx.example.net']),
      after: ['pending', 'verified', 'failed', 'verified'],
    },
    {
      why: 'the MX is a null MX',
      change: ({ records: [, mx] }) => scene.dns.set(mx.name, 'MX', ['0 .']),
      after: ['pending', 'verified', 'failed', 'verified'],
    },
    {
      why: 'the MX is written in capitals and stands beside another one',
      change: ({ records: [, mx] }) => scene.dns.set(mx.name, 'MX', ['5 mx.example.net', '10 RASKET.Test']),
      after: ['verified', 'verified', 'verified', 'verified'],
    },
    {
      why: 'the name server fails on one name',
      change: ({ records: [dkim] }) => scene.dns.set(dkim.name, 'TXT', 'SERVFAIL'),
      after: ['pending', 'temporary_failure', 'verified', 'verified'],
    },
    {
      why: 'the name server does not answer for one name',
      change: ({ records: [dkim] }) => scene.dns.set(dkim.name, 'TXT', 'TIMEOUT'),
      after: ['pending', 'temporary_failure', 'verified', 'verified'],
    },
    {
      why: 'one name does not exist at all',
      change: ({ records: [dkim] }) => scene.dns.set(dkim.name, 'TXT', 'NXDOMAIN'),
      after: ['pending', 'pending', 'verified', 'verified'],
    },
  ];
  it.each(cases)('has the right result if $why', async ({ change, after }) => {
    const team = await scene.team();
    const domain = await register(team);
    // The name is removed at the end, or every later sweep would wait for its silent name server.
    publish(scene.dns, domain);
    change(domain);
    await verify(team, domain);
    expect(await storedStatus(domain)).toBe(after[0]);
    expect(await statuses(team, domain)).toEqual(after);
    await forget(team, domain);
  });

  it('accepts a record behind an alias', async () => {
    const team = await scene.team();
    const domain = await register(team);
    const [dkim, ...others] = domain.records;
    publish(scene.dns, { records: [{ ...dkim, name: `keys.${domain.name}` }, ...others] });
    scene.dns.set(dkim.name, 'CNAME', [`keys.${domain.name}`]);
    await verify(team, domain);
    expect(await storedStatus(domain)).toBe('verified');
  });
});

describe('the limit of one verification per minute', () => {
  it('refuses a second call with the seconds to wait, without a DNS query', async () => {
    const team = await scene.team();
    const domain = await register(team);
    await verify(team, domain);
    scene.clock.advance(15_500);
    const asked = scene.dns.queries.length;
    const refused = await verify(team, domain);
    expect(refused).toMatchObject({ status: 429, body: { name: 'rate_limit_exceeded' } });
    expect(refused.headers.get('retry-after')).toBe('45');
    expect(scene.dns.queries.length).toBe(asked);
    scene.clock.advance(44_499);
    expect((await verify(team, domain)).headers.get('retry-after')).toBe('1');
    scene.clock.advance(1);
    expect((await verify(team, domain)).status).toBe(200);
  });

  it('lets one of several calls at once through, and does not affect other domains', async () => {
    const team = await scene.team();
    const domain = await register(team);
    const other = await register(team);
    const answers = await Promise.all([verify(team, domain), verify(team, domain), verify(team, domain)]);
    expect(answers.map((answer) => answer.status).sort()).toEqual([200, 429, 429]);
    expect((await verify(team, other)).status).toBe(200);
  });

  it('is not used up by a foreign or missing domain, which returns 404', async () => {
    const team = await scene.team();
    const stranger = await scene.team();
    const domain = await register(team);
    expect(await verify(stranger, domain)).toMatchObject({ status: 404, body: { name: 'not_found' } });
    expect((await verify(team, domain)).status).toBe(200);
  });
});

describe('cached DNS answers', () => {
  it('let a read reuse the absence of a record, while verification queries again', async () => {
    const team = await scene.team();
    const domain = await register(team);
    await verify(team, domain);
    publish(scene.dns, domain);
    expect((await statuses(team, domain))[0]).toBe('pending');
    expect((await statuses(team, domain))[1]).toBe('pending');
    scene.clock.advance(MINUTE_MS);
    await verify(team, domain);
    expect(await statuses(team, domain)).toEqual(['verified', 'verified', 'verified', 'verified']);
  });

  it('let a read show what DNS says now without changing anything', async () => {
    const team = await scene.team();
    const domain = await register(team);
    await verify(team, domain);
    publish(scene.dns, domain);
    scene.clock.advance(31_000);
    expect(await statuses(team, domain)).toEqual(['pending', 'verified', 'verified', 'verified']);
    expect(await storedStatus(domain)).toBe('pending');
    const before = scene.dns.queries.length;
    await statuses(team, domain);
    expect(scene.dns.queries.length).toBe(before);
  });

  it('are not requested for a domain that nobody asked to verify', async () => {
    const team = await scene.team();
    const domain = await register(team);
    const before = scene.dns.queries.length;
    expect(await statuses(team, domain)).toEqual(['not_started', 'not_started', 'not_started', 'not_started']);
    expect(scene.dns.queries.length).toBe(before);
  });
});

describe('the verification sweep', () => {
  it('verifies a domain without a call, and queries only the records that the team was asked for', async () => {
    const team = await scene.team();
    const domain = await register(team);
    publish(scene.dns, domain);
    await sweep();
    expect(await storedStatus(domain)).toBe('verified');
    expect((await verify(team, domain)).status).toBe(200);
  });

  it('fails a domain after 72 hours without its records, which still verify it later', async () => {
    const team = await scene.team();
    const domain = await register(team);
    await verify(team, domain);
    scene.clock.advance(72 * HOUR_MS - 1);
    await sweep();
    expect(await storedStatus(domain)).toBe('pending');
    scene.clock.advance(1);
    await sweep();
    expect(await statuses(team, domain)).toEqual(['failed', 'failed', 'failed', 'failed']);
    publish(scene.dns, domain);
    scene.clock.advance(HOUR_MS);
    await sweep();
    expect(await storedStatus(domain)).toBe('verified');
    expect(await loadEvents(domain)).toEqual([
      'domain.created not_started',
      'domain.updated pending',
      'domain.updated failed',
      'domain.updated verified',
    ]);
  });

  it.each([
    ['gone', []],
    ['another one', ['v=DKIM1; k=rsa; p=MIIBIjANBgkq']],
  ])(
    'keeps a verified domain whose record is %s for 72 hours, then fails it, and it cannot send',
    async (_, answer) => {
      const team = await scene.team();
      const domain = await register(team);
      publish(scene.dns, domain);
      await verify(team, domain);
      const send = async () => {
        const body = { from: `a@${domain.name}`, to: 'x@example.org', subject: 'Hello', text: 'Hello' };
        return (await scene.api('POST', '/emails', { key: team.key, body })).status;
      };
      scene.dns.set(domain.records[0].name, 'TXT', answer);
      scene.clock.advance(HOUR_MS);
      await sweep();
      expect(await statuses(team, domain)).toEqual(['verified', 'temporary_failure', 'verified', 'verified']);
      scene.clock.advance(72 * HOUR_MS - 1);
      await sweep();
      expect([(await statuses(team, domain))[0], await send()]).toEqual(['verified', 200]);
      scene.clock.advance(1);
      await sweep();
      expect(await statuses(team, domain)).toEqual(['failed', 'failed', 'verified', 'verified']);
      expect(await send()).toBe(403);
      scene.clock.advance(HOUR_MS);
      await sweep();
      expect(await storedStatus(domain)).toBe('failed');
      // An event is sent when it begins, and when it is over.
      expect((await loadEvents(domain)).slice(1)).toEqual([
        'domain.updated verified',
        'domain.updated verified',
        'domain.updated failed',
      ]);
      // Nobody holds the name any more.
      const other = await scene.team();
      const again = await scene.api('POST', '/domains', { key: other.key, body: { name: domain.name } });
      expect(again.status).toBe(201);
    },
  );

  it('counts no failure for a record that is back in time, and gives the next loss its own 72 hours', async () => {
    const team = await scene.team();
    const domain = await register(team);
    publish(scene.dns, domain);
    await verify(team, domain);
    scene.dns.set(domain.records[0].name, 'TXT', 'NXDOMAIN');
    scene.clock.advance(HOUR_MS);
    await sweep();
    publish(scene.dns, domain);
    scene.clock.advance(71 * HOUR_MS);
    await sweep();
    expect(await statuses(team, domain)).toEqual(['verified', 'verified', 'verified', 'verified']);
    scene.dns.set(domain.records[0].name, 'TXT', 'NXDOMAIN');
    scene.clock.advance(HOUR_MS);
    await sweep();
    scene.clock.advance(72 * HOUR_MS - 1);
    await sweep();
    expect(await storedStatus(domain)).toBe('verified');
  });

  it('fails no domain because a name server fails at the end of the 72 hours', async () => {
    const team = await scene.team();
    const domain = await register(team);
    publish(scene.dns, domain);
    await verify(team, domain);
    scene.dns.set(domain.records[0].name, 'TXT', []);
    scene.clock.advance(HOUR_MS);
    await sweep();
    scene.dns.set(domain.records[0].name, 'TXT', 'SERVFAIL');
    scene.clock.advance(100 * HOUR_MS);
    await sweep();
    expect(await statuses(team, domain)).toEqual(['verified', 'temporary_failure', 'verified', 'verified']);
  });

  it.each(['SERVFAIL', 'TIMEOUT'] as const)('keeps a verified domain verified during %s', async (fault) => {
    const team = await scene.team();
    const domain = await register(team);
    publish(scene.dns, domain);
    await verify(team, domain);
    for (const record of domain.records) scene.dns.set(record.name, record.type, fault);
    scene.clock.advance(HOUR_MS);
    await sweep();
    expect(await storedStatus(domain)).toBe('verified');
    expect(await loadEvents(domain)).toHaveLength(2);
    await forget(team, domain);
  });

  it('skips a name that another team holds', async () => {
    const owner = await scene.team();
    const other = await scene.team();
    const domain = await register(other);
    const held = await scene.api('POST', '/domains', { key: owner.key, body: { name: domain.name } });
    for (const body of [held.body, domain]) publish(scene.dns, body);
    await scene.api('POST', `/domains/${held.body.id}/verify`, { key: owner.key });
    scene.clock.advance(HOUR_MS);
    await sweep();
    expect(await storedStatus(domain)).toBe('not_started');
    expect(await storedStatus(held.body)).toBe('verified');
    await scene.api('DELETE', `/domains/${held.body.id}`, { key: owner.key });
    scene.clock.advance(HOUR_MS);
    await sweep();
    expect(await storedStatus(domain)).toBe('verified');
  });
});

it('a domain deleted during a DNS check returns 404, and no event follows its deletion', async () => {
  const team = await scene.team();
  const domain = await register(team);
  publish(scene.dns, domain);
  const asked = scene.dns.queries.length;
  const open = scene.dns.hold();
  const verifying = verify(team, domain);
  await expect.poll(() => scene.dns.queries.length).toBe(asked + 6);
  expect((await forget(team, domain)).status).toBe(200);
  open();
  expect((await verifying).status).toBe(404);
  expect(await loadEvents(domain)).toEqual(['domain.created not_started', 'domain.deleted not_started']);
});
