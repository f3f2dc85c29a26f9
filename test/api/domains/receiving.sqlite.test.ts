import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

let scene: Scene;
beforeAll(async () => {
  scene = await startInPublic(2000);
});
afterAll(() => scene.close());

/**
 * Starts a scene in which the zone's own name server may be queried and hangs: the zone is public, and so are our
 * resolver's answers about it.
 */
async function startInPublic(timeout_ms: number): Promise<Scene> {
  const started = await startScene({
    config: { dns: { timeout_ms }, network: { dns_allow_private: ['127.0.0.0/8'] } },
  });
  started.dns.set('example.com', 'SOA', ['ns.example.com admin.example.com 1 300']);
  started.dns.set('example.com', 'NS', ['ns.example.com']);
  started.dns.set('ns.example.com', 'A', ['127.0.0.1']);
  return started;
}

/** Reduces the time limit of a DNS check, which a silent name server uses up. */
async function waitBriefly(): Promise<void> {
  const usual = scene;
  scene = await startInPublic(250);
  onTestFinished(async () => {
    await scene.close();
    scene = usual;
  });
}

const change = (team: Team, id: string, body: unknown) => scene.api('PATCH', `/domains/${id}`, { key: team.key, body });
const read = async (team: Team, id: string) => (await scene.api('GET', `/domains/${id}`, { key: team.key })).body;
const sweep = () => scene.app.jobs.find((job) => job.name === 'sweep-domains')?.run();
const receive = (team: Team, id: string, more: object = {}) =>
  change(team, id, { capabilities: { receiving: 'enabled' }, ...more });
const send = async (team: Team, domain: { name: string }) => {
  const body = { from: `a@${domain.name}`, to: 'x@example.org', subject: 'Hello', text: 'Hello' };
  return (await scene.api('POST', '/emails', { key: team.key, body })).status;
};

/** Creates a verified domain whose name has no MX yet. */
async function domainWithoutMx(team: Team): Promise<{ id: string; name: string }> {
  const domain = await team.domain();
  scene.dns.set(domain.name, 'MX', []);
  return domain;
}
const standing = (body: { status: string; capabilities: object; records: { record: string; status: string }[] }) => [
  body.status,
  body.capabilities,
  body.records.find(({ record }) => record === 'Receiving')?.status,
];

describe('enabling receiving', () => {
  it('requires an MX record after those for sending, and the domain is partially verified until it is seen', async () => {
    const team = await scene.team();
    const domain = await domainWithoutMx(team);
    const answer = await receive(team, domain.id);
    expect([answer.status, answer.body]).toEqual([200, { object: 'domain', id: domain.id }]);
    const body = await read(team, domain.id);
    expect(standing(body)).toEqual(['partially_verified', { sending: 'verified', receiving: 'pending' }, 'pending']);
    expect(body.records[3]).toMatchObject({
      record: 'Receiving',
      type: 'MX',
      name: domain.name,
      value: 'rasket.test',
      priority: 10,
      required: true,
    });
    expect(await send(team, domain)).toBe(200);
    scene.dns.set(domain.name, 'MX', ['10 rasket.test']);
    scene.clock.advance(MINUTE_MS);
    await scene.api('POST', `/domains/${domain.id}/verify`, { key: team.key });
    expect(standing(await read(team, domain.id))).toEqual([
      'verified',
      { sending: 'verified', receiving: 'verified' },
      'verified',
    ]);
    const events = (await scene.events(domain.id)).slice(2);
    expect(events.map(({ type, data }) => [type, data?.['status']])).toEqual([
      ['domain.updated', 'partially_verified'],
      ['domain.updated', 'verified'],
    ]);
  });

  it('is verified at once if the MX already points here', async () => {
    const team = await scene.team();
    const domain = await team.domain();
    scene.dns.set(domain.name, 'MX', ['10 Rasket.TEST.']);
    expect((await receive(team, domain.id)).status).toBe(200);
    expect((await read(team, domain.id)).status).toBe('verified');
  });

  it('fails without an MX within 72 hours, without affecting sending, and is verified when it appears later', async () => {
    const team = await scene.team();
    const domain = await domainWithoutMx(team);
    await receive(team, domain.id);
    scene.clock.advance(72 * HOUR_MS - 1);
    await sweep();
    expect((await read(team, domain.id)).status).toBe('partially_verified');
    scene.clock.advance(1);
    await sweep();
    expect(standing(await read(team, domain.id))).toEqual([
      'partially_failed',
      { sending: 'verified', receiving: 'pending' },
      'failed',
    ]);
    expect(await send(team, domain)).toBe(200);
    scene.dns.set(domain.name, 'MX', ['10 rasket.test']);
    scene.clock.advance(HOUR_MS);
    await sweep();
    expect((await read(team, domain.id)).status).toBe('verified');
  });

  it('fails 72 hours after the MX is changed to another server, without affecting sending', async () => {
    const team = await scene.team();
    const domain = await team.domain();
    scene.dns.set(domain.name, 'MX', ['10 rasket.test']);
    await receive(team, domain.id);
    scene.dns.set(domain.name, 'MX', ['10 mx.example.net']);
    scene.clock.advance(HOUR_MS);
    await sweep();
    expect(standing(await read(team, domain.id))).toEqual([
      'verified',
      { sending: 'verified', receiving: 'verified' },
      'temporary_failure',
    ]);
    scene.clock.advance(72 * HOUR_MS);
    await sweep();
    expect((await read(team, domain.id)).status).toBe('partially_failed');
    expect(await send(team, domain)).toBe(200);
  });

  it('ends when sending fails: the domain has partially failed and receives nothing for the team', async () => {
    const team = await scene.team();
    const domain = await team.domain();
    scene.dns.set(domain.name, 'MX', ['10 rasket.test']);
    await receive(team, domain.id);
    const [dkim] = (await read(team, domain.id)).records;
    scene.dns.set(dkim.name, 'TXT', []);
    scene.clock.advance(HOUR_MS);
    await sweep();
    scene.clock.advance(72 * HOUR_MS);
    await sweep();
    expect(standing(await read(team, domain.id))).toEqual([
      'partially_failed',
      { sending: 'pending', receiving: 'pending' },
      'verified',
    ]);
    expect(await send(team, domain)).toBe(403);
  });

  it('works at creation if nobody receives for the name yet', async () => {
    const team = await scene.team();
    scene.dns.set('both.example.com', 'MX', []);
    const capabilities = { receiving: 'enabled' };
    const create = (name: string) => scene.api('POST', '/domains', { key: team.key, body: { name, capabilities } });
    const { status, body } = await create('both.example.com');
    expect([status, ...standing(body)]).toEqual([
      201,
      'not_started',
      { sending: 'pending', receiving: 'pending' },
      'not_started',
    ]);
    const refused = await create('used.example.com');
    expect(refused).toMatchObject({ status: 409, body: { name: 'receiving_mx_in_use' } });
    expect(refused.body.message).toContain('mx.sink.test');
    expect((await scene.api('GET', '/domains', { key: team.key })).body.data).toHaveLength(1);
  });
});

describe('409 receiving_mx_in_use', () => {
  it('does not name a server that only our resolver knows', async () => {
    const team = await scene.team();
    scene.dns.set('internal.test', 'SOA', ['ns.internal.test admin.internal.test 1 300']);
    scene.dns.set('internal.test', 'NS', ['ns.internal.test']);
    scene.dns.set('ns.internal.test', 'A', ['10.9.9.9']);
    scene.dns.set('mail.internal.test', 'MX', ['10 secret-mx.internal.test']);
    const domain = await team.domain('mail.internal.test');
    scene.dns.set('mail.internal.test', 'MX', ['10 secret-mx.internal.test']);
    const refused = await receive(team, domain.id, {});
    expect(refused).toMatchObject({ status: 409, body: { name: 'receiving_mx_in_use' } });
    expect(refused.body.message).toContain('is delivered to another server today');
    expect(JSON.stringify(refused.body)).not.toContain('secret-mx');
  });

  it.each<[string, string[] | 'SERVFAIL' | 'TIMEOUT', string]>([
    ['another server', ['10 mx.example.net'], 'mx.example.net'],
    ['several', ['10 a.example.net', '20 b.example.net', '30 c.example.net'], 'and 2 more'],
    ['ours beside another', ['10 rasket.test', '20 mx.example.net'], 'mx.example.net'],
    ['one that cannot be looked up', 'SERVFAIL', 'cannot be looked up (servfail)'],
    ['one that is not answered for', 'TIMEOUT', 'cannot be looked up (timeout)'],
  ])('is returned for an MX of %s, until replacing it is confirmed', async (_, mx, said) => {
    if (mx === 'TIMEOUT') await waitBriefly();
    const team = await scene.team();
    const domain = await team.domain();
    scene.dns.set(domain.name, 'MX', mx);
    for (const more of [{}, { confirm_replace_mx: false }]) {
      const refused = await receive(team, domain.id, { open_tracking: true, ...more });
      expect(refused).toMatchObject({ status: 409, body: { name: 'receiving_mx_in_use' } });
      expect(refused.body.message).toContain(said);
      expect(refused.body.message).toContain('confirm_replace_mx');
    }
    expect(
      await scene.app.world.db.get('select receiving, open_tracking from domains where id = ?', [domain.id]),
    ).toEqual({ receiving: 'unsupported', open_tracking: 0 });
    expect((await receive(team, domain.id, { confirm_replace_mx: true })).status).toBe(200);
    expect((await read(team, domain.id)).capabilities.receiving).toMatch(/pending|verified/);
    // Once it is enabled, nothing is checked again.
    expect((await receive(team, domain.id, { tls: 'enforced' })).status).toBe(200);
  });

  it('is not returned for a null MX, which accepts no mail', async () => {
    const team = await scene.team();
    const domain = await team.domain();
    scene.dns.set(domain.name, 'MX', ['0 .']);
    expect((await receive(team, domain.id)).status).toBe(200);
  });

  it.each(['yes', 1, null, 'true'])(
    'is not confirmed by confirm_replace_mx: %j, which is not a boolean',
    async (confirm) => {
      const team = await scene.team();
      const domain = await team.domain();
      expect(await receive(team, domain.id, { confirm_replace_mx: confirm })).toMatchObject({
        status: 400,
        body: { name: 'validation_error', errors: [{ path: 'confirm_replace_mx' }] },
      });
    },
  );
});

describe('disabling receiving', () => {
  it('removes the record and changes nothing else', async () => {
    const team = await scene.team();
    const domain = await domainWithoutMx(team);
    const before = await read(team, domain.id);
    await receive(team, domain.id);
    expect((await change(team, domain.id, { capabilities: { receiving: 'disabled' } })).status).toBe(200);
    expect(await read(team, domain.id)).toEqual({
      ...before,
      capabilities: { sending: 'verified', receiving: 'disabled' },
    });
  });

  it('and enabling it again starts from the beginning', async () => {
    const team = await scene.team();
    const domain = await domainWithoutMx(team);
    await receive(team, domain.id);
    scene.clock.advance(80 * HOUR_MS);
    await sweep();
    expect((await read(team, domain.id)).status).toBe('partially_failed');
    await change(team, domain.id, { capabilities: { receiving: 'disabled' } });
    expect((await read(team, domain.id)).status).toBe('verified');
    await receive(team, domain.id);
    expect((await read(team, domain.id)).status).toBe('partially_verified');
  });
});

describe('disabling sending', () => {
  it('is allowed for a domain that receives, and mail is then refused with a message of its own', async () => {
    const team = await scene.team();
    const domain = await domainWithoutMx(team);
    const off = { capabilities: { sending: 'disabled' } };
    expect(await change(team, domain.id, off)).toMatchObject({
      status: 422,
      body: { name: 'validation_error', errors: [{ path: 'capabilities.sending' }] },
    });
    await receive(team, domain.id);
    expect((await change(team, domain.id, off)).status).toBe(200);
    expect((await read(team, domain.id)).capabilities).toEqual({ sending: 'disabled', receiving: 'pending' });
    const body = { from: `a@${domain.name}`, to: 'x@example.org', subject: 'Hello', text: 'Hello' };
    expect(await scene.api('POST', '/emails', { key: team.key, body })).toMatchObject({
      status: 403,
      body: { name: 'validation_error', message: expect.stringContaining('disabled') },
    });
    expect(await change(team, domain.id, { capabilities: { receiving: 'disabled' } })).toMatchObject({
      status: 422,
      body: { errors: [{ path: 'capabilities.receiving' }] },
    });
    expect((await change(team, domain.id, { capabilities: { sending: 'enabled' } })).status).toBe(200);
    expect(await send(team, domain)).toBe(200);
  });

  it('can be combined with enabling receiving in one call', async () => {
    const team = await scene.team();
    const domain = await domainWithoutMx(team);
    const capabilities = { sending: 'disabled', receiving: 'enabled' };
    expect((await change(team, domain.id, { capabilities })).status).toBe(200);
  });
});

it.each([
  ['capabilities', 'receiving', 'capabilities'],
  ['capabilities', { receiving: true }, 'capabilities.receiving'],
  ['capabilities', { receiving: 'unsupported' }, 'capabilities.receiving'],
  ['capabilities', { sending: 'on' }, 'capabilities.sending'],
  ['capabilities', { relaying: 'enabled' }, 'capabilities.relaying'],
  ['tls', 'always', 'tls'],
  ['open_tracking', 1, 'open_tracking'],
  ['click_tracking', 'no', 'click_tracking'],
  ['tracking_subdomain', 'a.b', 'tracking_subdomain'],
  ['tracking_subdomain', 'a'.repeat(64), 'tracking_subdomain'],
  ['tracking_subdomain', '', 'tracking_subdomain'],
  ['custom_return_path', 'send', 'custom_return_path'],
])('PATCH %s: %j is refused, and the field is named', async (field, value, path) => {
  const team = await scene.team();
  const domain = await team.domain();
  expect(await change(team, domain.id, { [field]: value })).toMatchObject({
    status: 400,
    body: { name: 'validation_error', errors: [{ path }] },
  });
});
