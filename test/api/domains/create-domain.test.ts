import { createPrivateKey, createPublicKey } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDkimKey } from '../../../src/mail/domains/index.ts';
import { publish, startScene, type Scene, type Team } from '../../rig/scene.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({ config: { plans: { standard: { domain_limit: 12 } } } });
});
afterAll(() => scene.close());

const create = (team: Team, body: unknown) => scene.api('POST', '/domains', { key: team.key, body });

describe('POST /domains', () => {
  it('returns the domain with the records to publish, and every default', async () => {
    const team = await scene.team();
    const { status, body } = await create(team, { name: 'mail.example.com' });
    expect(status).toBe(201);
    const [dkim, mx, spf, ed25519] = body.records;
    const unasked = { ttl: 'Auto', status: 'not_started', diagnosis: null, found: null };
    expect(body).toEqual({
      object: 'domain',
      id: expect.any(String),
      name: 'mail.example.com',
      status: 'not_started',
      created_at: new Date(scene.clock.now()).toISOString(),
      region: 'eu-west-1',
      open_tracking: false,
      click_tracking: false,
      tracking_subdomain: 'track',
      tls: 'opportunistic',
      tls_verify: false,
      mta_sts: 'off',
      capabilities: { sending: 'pending', receiving: 'unsupported' },
      records: [
        {
          ...unasked,
          record: 'DKIM',
          type: 'TXT',
          name: dkim.name,
          value: dkim.value,
          required: true,
          key_status: 'active',
        },
        {
          ...unasked,
          record: 'SPF',
          type: 'MX',
          name: 'send.mail.example.com',
          value: 'rasket.test',
          priority: 10,
          required: true,
        },
        {
          ...unasked,
          record: 'SPF',
          type: 'TXT',
          name: 'send.mail.example.com',
          value: 'v=spf1 a:rasket.test ~all',
          required: true,
        },
        {
          ...unasked,
          record: 'DKIM',
          type: 'TXT',
          name: ed25519.name,
          value: ed25519.value,
          required: false,
          key_status: 'active',
        },
        {
          ...unasked,
          record: 'DMARC',
          type: 'TXT',
          name: '_dmarc.mail.example.com',
          value: 'v=DMARC1; p=none; rua=mailto:reports@send.mail.example.com;',
          required: false,
        },
      ],
      bimi: null,
    });
    expect(dkim.name).toMatch(/^rk[0-9a-f]{8}\._domainkey\.mail\.example\.com$/);
    expect(dkim.value).toMatch(/^v=DKIM1; k=rsa; p=[A-Za-z0-9+/]+=*$/);
    expect(ed25519.value).toMatch(/^v=DKIM1; k=ed25519; p=[A-Za-z0-9+/]{43}=$/);
    expect(ed25519.name).not.toBe(dkim.name);
    expect([mx, spf].map((record) => 'priority' in record)).toEqual([true, false]);
  });

  it('stores the private key sealed, and it belongs to the published one', async () => {
    const team = await scene.team();
    const { body } = await create(team, { name: 'sealed.example.com' });
    const row = await scene.app.world.db.get(
      `select * from dkim_keys where domain_id = ? and algorithm = 'rsa-sha256'`,
      [body.id],
    );
    expect(row?.private_key_sealed).toMatch(/^v2\.[0-9a-f]{12}\./);
    expect(JSON.stringify(row)).not.toContain('PRIVATE');
    const privateKey = openDkimKey(scene.app.world, row as unknown as Parameters<typeof openDkimKey>[1]);
    const published = createPublicKey(createPrivateKey(privateKey.export({ type: 'pkcs8', format: 'pem' })));
    const p = published.export({ type: 'spki', format: 'der' }).toString('base64');
    expect(body.records[0].value).toBe(`v=DKIM1; k=rsa; p=${p}`);
    expect(privateKey.asymmetricKeyDetails?.modulusLength).toBe(2048);
    expect(scene.log.join('\n')).not.toContain('PRIVATE KEY');
  });

  it('accepts every option, and stores labels in lower case', async () => {
    const team = await scene.team();
    const { status, body } = await create(team, {
      name: 'options.example.com',
      region: 'sa-east-1',
      open_tracking: true,
      click_tracking: true,
      tracking_subdomain: 'Links',
      custom_return_path: 'Bounce-1',
      tls: 'enforced',
      capabilities: { sending: 'enabled', receiving: 'disabled' },
    });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      region: 'sa-east-1',
      open_tracking: true,
      click_tracking: true,
      tracking_subdomain: 'links',
    });
    const returnPath = body.records.filter((record: { record: string }) => record.record === 'SPF');
    expect(returnPath.map((record: { name: string }) => record.name)).toEqual([
      'bounce-1.options.example.com',
      'bounce-1.options.example.com',
    ]);
    const row = await scene.app.world.db.get('select tls from domains where id = ?', [body.id]);
    expect(row).toEqual({ tls: 'enforced' });
  });

  it.each([
    ['MAIL.Example.COM', 'mail.example.com', 'letter case means nothing'],
    ['bücher.example', 'xn--bcher-kva.example', 'an internationalised name is kept as DNS knows it'],
    ['BÜCHER.例え', 'xn--bcher-kva.xn--r8jz45g', 'in every script'],
    ['a.b.c.d.e.example.com', 'a.b.c.d.e.example.com', 'a subdomain is a domain of its own'],
    ['1.2.3.4.example', '1.2.3.4.example', 'digits are letters of a name'],
  ])('stores %s as %s: %s', async (name, written) => {
    const team = await scene.team();
    const { status, body } = await create(team, { name });
    expect([status, body.name]).toEqual([201, written]);
    expect(body.records[1].name).toBe(`send.${written}`);
  });

  it('lets two teams register one name, each with its own keys and selectors', async () => {
    const one = await scene.team();
    const two = await scene.team();
    const first = await create(one, { name: 'both.example' });
    const second = await create(two, { name: 'both.example' });
    expect([first.status, second.status]).toEqual([201, 201]);
    expect(first.body.records[0].name).not.toBe(second.body.records[0].name);
    expect(first.body.records[0].value).not.toBe(second.body.records[0].value);
  });
});

describe('POST /domains returns 400', () => {
  it.each([
    ['example.com.', 'a dot at the end'],
    ['127.0.0.1', 'an address'],
    ['[127.0.0.1]', 'an address literal'],
    ['::1', 'an IPv6 address'],
    ['0x7f.1', 'an address in disguise'],
    ['localhost', 'one label'],
    ['*.example.com', 'a wildcard'],
    ['https://example.com', 'a URL'],
    ['a@example.com', 'a mailbox'],
    ['example..com', 'an empty label'],
    ['-a.example.com', 'a hyphen at the start of a label'],
    ['a_b.example.com', 'an underscore'],
    ['exa mple.com', 'a space'],
    ['example.com\r\nBcc: x@example.org', 'a line break'],
    [`${'a'.repeat(64)}.example.com`, 'a label of 64'],
    [`${'a'.repeat(60)}.${'b'.repeat(60)}.${'c'.repeat(60)}.${'d'.repeat(60)}.com`, 'no room for our labels'],
    ['', 'nothing'],
  ])('for the name %j: %s', async (name) => {
    const team = await scene.team();
    const { status, body } = await create(team, { name });
    expect([status, body.name]).toEqual([400, 'validation_error']);
    expect(body.errors).toEqual([{ path: 'name', message: expect.stringContaining('name') }]);
    expect((await scene.api('GET', '/domains', { key: team.key })).body.data).toEqual([]);
  });

  it.each([
    ['region', 'mars-1'],
    ['tls', 'always'],
    ['custom_return_path', 'a.b'],
    ['custom_return_path', '-a'],
    ['custom_return_path', ''],
    ['custom_return_path', 'a'.repeat(64)],
    ['tracking_subdomain', 'a_b'],
    ['open_tracking', 'yes'],
    ['capabilities', 'sending'],
  ])('for %s: %j, and names the field', async (field, value) => {
    const team = await scene.team();
    expect(await create(team, { name: 'fields.example.com', [field]: value })).toMatchObject({
      status: 400,
      body: { name: 'validation_error', errors: [{ path: field }] },
    });
  });
});

describe('POST /domains returns 422', () => {
  it('without a name', async () => {
    const team = await scene.team();
    expect(await create(team, {})).toMatchObject({ status: 422, body: { name: 'missing_required_field' } });
  });

  it.each([{ sending: 'disabled' }, { sending: 'disabled', receiving: 'disabled' }])(
    'for the capabilities %j, with which a domain would have no use',
    async (capabilities) => {
      const team = await scene.team();
      expect(await create(team, { name: 'capable.example.com', capabilities })).toMatchObject({
        status: 422,
        body: { name: 'validation_error', errors: [{ path: 'capabilities.sending' }] },
      });
    },
  );

  it('for more domains than the plan allows, even when requests arrive at once', async () => {
    await refusesTheThirteenth(await scene.team());
  });

  it('for more domains than the default plan allows if the plan of the team is not configured', async () => {
    const team = await scene.team();
    await scene.app.world.db.run('update teams set plan_code = ? where id = ?', ['constructor', team.id]);
    await refusesTheThirteenth(team);
  });

  async function refusesTheThirteenth(team: Team): Promise<void> {
    const { db } = scene.app.world;
    for (let n = 0; n < 11; n++) {
      await db.run(
        `insert into domains (id, team_id, name, status, region, open_tracking, click_tracking, tracking_subdomain,
           custom_return_path, tls, created_at) values (?, ?, ?, 'not_started', 'eu-west-1', 0, 0, 'track', 'send',
           'opportunistic', 0)`,
        [scene.app.world.ids.uuid(), team.id, `n${n}.example.com`],
      );
    }
    const answers = await Promise.all(['a', 'b', 'c'].map((name) => create(team, { name: `${name}.limit.example` })));
    expect(answers.map((answer) => answer.status).sort()).toEqual([201, 422, 422]);
    const refused = answers.find((answer) => answer.status === 422);
    expect(refused?.body).toMatchObject({ name: 'validation_error', message: expect.stringContaining('12') });
    const { body } = await scene.api('GET', '/domains?limit=100', { key: team.key });
    expect(body.data).toHaveLength(12);
    await scene.api('DELETE', `/domains/${body.data[0].id}`, { key: team.key });
    expect((await create(team, { name: 'room.limit.example' })).status).toBe(201);
  }
});

describe('POST /domains returns 409 resource_locked', () => {
  it('for a name that the team already has, in any spelling and even when requests arrive at once', async () => {
    const team = await scene.team();
    expect((await create(team, { name: 'twice.example' })).status).toBe(201);
    expect(await create(team, { name: 'TWICE.example' })).toMatchObject({
      status: 409,
      body: { name: 'resource_locked', message: expect.stringContaining('twice.example') },
    });
    const race = await Promise.all([create(team, { name: 'race.example' }), create(team, { name: 'race.example' })]);
    expect(race.map((answer) => answer.status).sort()).toEqual([201, 409]);
  });

  it('for a name that another team has verified, but not for one that is only registered there', async () => {
    const owner = await scene.team();
    const other = await scene.team();
    const { name } = await owner.domain('owned.example');
    const refused = await create(other, { name });
    expect(refused).toMatchObject({ status: 409, body: { name: 'resource_locked' } });
    expect(refused.text).not.toContain(owner.id);
    expect((await scene.api('GET', '/domains', { key: other.key })).body.data).toEqual([]);
    const { body } = await scene.api('GET', '/domains', { key: owner.key });
    await scene.api('DELETE', `/domains/${body.data[0].id}`, { key: owner.key });
    expect((await create(other, { name })).status).toBe(201);
  });
});

it('when two teams verify one name at the same moment, one gets it and the other gets an error', async () => {
  const teams = [await scene.team(), await scene.team()];
  const made = await Promise.all(teams.map((team) => create(team, { name: 'contested.example' })));
  for (const { body } of made) publish(scene.dns, body);
  const open = scene.dns.hold();
  const verifying = teams.map((team, i) => scene.api('POST', `/domains/${made[i]?.body.id}/verify`, { key: team.key }));
  await expect.poll(() => scene.dns.queries.filter(({ name }) => name.endsWith('contested.example')).length).toBe(8);
  open();
  const answers = await Promise.all(verifying);
  expect(answers.map((answer) => answer.status).sort()).toEqual([200, 409]);
  const winner = answers.findIndex((answer) => answer.status === 200);
  const statuses = await Promise.all(
    teams.map(
      async (team, i) => (await scene.api('GET', `/domains/${made[i]?.body.id}`, { key: team.key })).body.status,
    ),
  );
  expect(statuses[winner]).toBe('verified');
  expect(statuses[1 - winner]).toBe('not_started');
  expect(answers[1 - winner]?.body).toMatchObject({ name: 'resource_locked' });
});
