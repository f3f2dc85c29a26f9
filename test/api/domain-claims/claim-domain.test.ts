import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startScene, type Scene } from '../../rig/scene.ts';
import { createClaiming, newName } from './claiming.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({ config: { plans: { standard: { domain_limit: 3 } } } });
});
afterAll(() => scene.close());

const { claim, claimed, domainOf, read } = createClaiming(() => scene);
const WEEK_MS = 7 * 24 * 3_600_000;

describe('POST /domains/claim creates a claim', () => {
  it('with the record to publish at the root, and a copy of the domain with its own keys', async () => {
    const owner = await scene.team();
    const claimant = await scene.team();
    const held = await owner.domain();
    const { status, body } = await claim(claimant, held.name);
    expect(status).toBe(201);
    const now = scene.clock.now();
    expect(body).toEqual({
      object: 'domain_claim',
      id: expect.any(String),
      name: held.name,
      status: 'pending',
      domain_id: expect.any(String),
      region: 'eu-west-1',
      record: {
        record: 'Claim',
        name: held.name,
        type: 'TXT',
        ttl: 'Auto',
        status: 'not_started',
        value: expect.stringMatching(/^rasket-domain-verification=[0-9a-f]{32}$/) as string,
        diagnosis: null,
      },
      blocked_reason: null,
      failure_reason: null,
      created_at: new Date(now).toISOString(),
      expires_at: new Date(now + WEEK_MS).toISOString(),
    });
    expect(await read(claimant, body)).toEqual(body);
    const copy = await domainOf(claimant, body.domain_id);
    const original = await domainOf(owner, held.id);
    expect(copy).toMatchObject({ name: held.name, status: 'not_started' });
    expect(copy.records[0]).toMatchObject({ record: 'DKIM' });
    expect(copy.records[0].name).not.toBe(original.records[0].name);
    expect((await scene.events(copy.id)).map((event) => event.type)).toEqual(['domain.created']);
    // The owner gets no event before the name is gone.
    expect(await scene.events(held.id)).toHaveLength(2);
  });

  it('with the settings of the claim for the copy', async () => {
    const owner = await scene.team();
    const claimant = await scene.team();
    const { name } = await owner.domain();
    const { body } = await claim(claimant, name, { region: 'us-east-1', custom_return_path: 'Bounce' });
    expect(body.region).toBe('us-east-1');
    const copy = await domainOf(claimant, body.domain_id);
    expect(copy).toMatchObject({ region: 'us-east-1', open_tracking: false, click_tracking: false });
    expect(copy.records.map((record: { name: string }) => record.name)).toContain(`bounce.${name}`);
  });

  it('for a copy that was registered before, as it is', async () => {
    const owner = await scene.team();
    const claimant = await scene.team();
    const name = newName();
    const earlier = await scene.api('POST', '/domains', {
      key: claimant.key,
      body: { name, region: 'sa-east-1', custom_return_path: 'mail' },
    });
    await owner.domain(name);
    const { status, body } = await claim(claimant, name, { custom_return_path: 'MAIL' });
    expect([status, body.domain_id, body.region]).toEqual([201, earlier.body.id, 'sa-east-1']);
    expect(await scene.events(earlier.body.id)).toHaveLength(1);
  });

  it('with a text of its own', async () => {
    const owner = await scene.team();
    const { name } = await owner.domain();
    const teams = await Promise.all([scene.team(), scene.team(), scene.team()]);
    const claims = await Promise.all(teams.map((team) => claim(team, name)));
    expect(claims.map(({ status }) => status)).toEqual([201, 201, 201]);
    expect(new Set(claims.map(({ body }) => body.record.value)).size).toBe(3);
  });
});

describe('POST /domains/claim returns the open claim', () => {
  it('unchanged, in any spelling and whatever settings are sent', async () => {
    const { claimant, name, opened } = await claimed();
    scene.clock.advance(60_000);
    for (const again of [
      await claim(claimant, name),
      await claim(claimant, name.toUpperCase(), { region: 'us-east-1', custom_return_path: 'other' }),
    ]) {
      expect([again.status, again.body]).toEqual([200, opened]);
    }
  });

  it('for all but one of several calls at once, with one copy', async () => {
    const owner = await scene.team();
    const claimant = await scene.team();
    const { name } = await owner.domain();
    const answers = await Promise.all([1, 2, 3, 4].map(() => claim(claimant, name)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 201]);
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    const { body } = await scene.api('GET', '/domains', { key: claimant.key });
    expect(body.data).toHaveLength(1);
  });

  it('for all but one of several calls at once with a copy that was registered before', async () => {
    const owner = await scene.team();
    const claimant = await scene.team();
    const name = newName();
    await scene.api('POST', '/domains', { key: claimant.key, body: { name } });
    await owner.domain(name);
    const answers = await Promise.all([1, 2, 3].map(() => claim(claimant, name)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 201]);
  });
});

describe('the right to claim a name', () => {
  it('a name verified by another team is reported as claimable, at registration and at verification', async () => {
    const owner = await scene.team();
    const other = await scene.team();
    const name = newName();
    const own = await scene.api('POST', '/domains', { key: other.key, body: { name } });
    await owner.domain(name);
    const verified = await scene.api('POST', `/domains/${own.body.id}/verify`, { key: other.key });
    await scene.api('DELETE', `/domains/${own.body.id}`, { key: other.key });
    for (const refused of [verified, await scene.api('POST', '/domains', { key: other.key, body: { name } })]) {
      expect(refused).toMatchObject({ status: 409, body: { name: 'resource_locked', claimable: true } });
    }
  });

  it('a name that the team has registered itself is not reported as claimable', async () => {
    const team = await scene.team();
    const body = { name: newName() };
    await scene.api('POST', '/domains', { key: team.key, body });
    const refused = await scene.api('POST', '/domains', { key: team.key, body });
    expect([refused.status, refused.body.claimable]).toEqual([409, undefined]);
  });

  it('a name that nobody has verified has to be registered instead', async () => {
    const team = await scene.team();
    const other = await scene.team();
    const name = newName();
    await scene.api('POST', '/domains', { key: other.key, body: { name } });
    expect(await claim(team, name)).toMatchObject({
      status: 422,
      body: { name: 'validation_error', message: expect.stringContaining('register it') },
    });
    expect((await scene.api('GET', '/domains', { key: team.key })).body.data).toEqual([]);
  });

  it('a name that only this team has registered has to be verified instead', async () => {
    const team = await scene.team();
    const { body: own } = await scene.api('POST', '/domains', { key: team.key, body: { name: newName() } });
    expect(await claim(team, own.name)).toMatchObject({
      status: 422,
      body: { name: 'validation_error', message: expect.stringContaining('verify your own') },
    });
  });

  it('a name that this team has verified is already its own', async () => {
    const team = await scene.team();
    const { name } = await team.domain();
    expect(await claim(team, name)).toMatchObject({ status: 409, body: { name: 'resource_locked' } });
  });

  it('a verified name does not make its subdomains claimable, nor the name above it', async () => {
    const owner = await scene.team();
    const team = await scene.team();
    const { name } = await owner.domain(`mail.${newName()}`);
    for (const near of [`a.${name}`, name.slice('mail.'.length)]) expect((await claim(team, near)).status).toBe(422);
  });

  it('settings that a registered copy does not have are refused by name', async () => {
    const owner = await scene.team();
    const claimant = await scene.team();
    const name = newName();
    await scene.api('POST', '/domains', { key: claimant.key, body: { name } });
    await owner.domain(name);
    const refused = await claim(claimant, name, { region: 'us-east-1', custom_return_path: 'mail' });
    expect(refused).toMatchObject({ status: 422, body: { name: 'validation_error' } });
    expect(refused.body.errors.map((error: { path: string }) => error.path)).toEqual(['region', 'custom_return_path']);
    expect(refused.body.errors[0].message).toContain('eu-west-1');
  });

  it('the domain limit of the plan includes the copy', async () => {
    const owner = await scene.team();
    const claimant = await scene.team();
    const { name } = await owner.domain();
    for (const own of [newName(), newName(), newName()]) {
      await scene.api('POST', '/domains', { key: claimant.key, body: { name: own } });
    }
    const refused = await claim(claimant, name);
    expect(refused).toMatchObject({
      status: 422,
      body: { name: 'validation_error', message: expect.stringContaining('3') },
    });
    const { body } = await scene.api('GET', '/domains', { key: claimant.key });
    await scene.api('DELETE', `/domains/${body.data[0].id}`, { key: claimant.key });
    expect((await claim(claimant, name)).status).toBe(201);
  });

  it('the domain limit of the plan holds for several claims at once', async () => {
    const owner = await scene.team();
    const claimant = await scene.team();
    const names = [(await owner.domain()).name, (await owner.domain()).name, (await owner.domain()).name];
    await scene.api('POST', '/domains', { key: claimant.key, body: { name: newName() } });
    const answers = await Promise.all(names.map((name) => claim(claimant, name)));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 422]);
  });
});

describe('invalid input for a claim', () => {
  const label63 = 'a'.repeat(63);
  const long = `${label63}.${label63}.${label63}.${'b'.repeat(61)}`;
  it.each([
    { why: 'a name of one label', body: { name: 'example' }, path: 'name' },
    { why: 'an empty name', body: { name: '' }, path: 'name' },
    { why: 'a name of 254 characters', body: { name: `${long}b` }, path: 'name' },
    { why: 'a name that leaves no room for our labels', body: { name: long }, path: 'name' },
    { why: 'a label of 64 characters', body: { name: `${label63}a.example.com` }, path: 'name' },
    { why: 'an address', body: { name: 'a@example.com' }, path: 'name' },
    { why: 'a URL', body: { name: 'https://example.com/' }, path: 'name' },
    { why: 'a line break', body: { name: 'example.com\n' }, path: 'name' },
    { why: 'a zero byte', body: { name: 'exa\u0000mple.com' }, path: 'name' },
    { why: 'an IP address', body: { name: '192.0.2.1' }, path: 'name' },
    { why: 'a number', body: { name: 7 }, path: 'name' },
    { why: 'a list', body: { name: ['example.com'] }, path: 'name' },
    { why: 'null', body: { name: null }, path: 'name' },
    { why: 'an unknown region', body: { name: 'x.example.com', region: 'eu-west-2' }, path: 'region' },
    { why: 'a return path of two labels', body: { custom_return_path: 'a.b' }, path: 'custom_return_path' },
    { why: 'a return path of 64 characters', body: { custom_return_path: `${label63}a` }, path: 'custom_return_path' },
    { why: 'a return path that ends in a hyphen', body: { custom_return_path: 'a-' }, path: 'custom_return_path' },
    { why: 'an empty return path', body: { custom_return_path: '' }, path: 'custom_return_path' },
    { why: 'open tracking', body: { open_tracking: true }, path: 'open_tracking' },
    { why: 'click tracking', body: { click_tracking: false }, path: 'click_tracking' },
    { why: 'a tracking label', body: { tracking_subdomain: 'links' }, path: 'tracking_subdomain' },
    { why: 'an unknown field', body: { domain: 'example.com' }, path: 'domain' },
  ])('$why is refused, and the field is named', async ({ body, path }) => {
    const owner = await scene.team();
    const claimant = await scene.team();
    const { name } = await owner.domain();
    // Only a verified name is distinguished from one that cannot be claimed.
    if (body.name === long) await holdByHand(owner.id, long);
    const refused = await claim(claimant, name, body);
    expect(refused).toMatchObject({ status: 400, body: { name: 'validation_error' } });
    expect(refused.body.errors.map((error: { path: string }) => error.path)).toEqual([path]);
    expect((await scene.api('GET', '/domains', { key: claimant.key })).body.data).toEqual([]);
  });

  it('the longest label is accepted', async () => {
    const owner = await scene.team();
    const claimant = await scene.team();
    const { name } = await owner.domain();
    expect((await claim(claimant, name, { custom_return_path: label63 })).status).toBe(201);
  });

  it('a body without a name, and something that is not a body, are refused', async () => {
    const team = await scene.team();
    const post = (body: unknown) => scene.api('POST', '/domains/claim', { key: team.key, body });
    expect(await post({})).toMatchObject({ status: 422, body: { name: 'missing_required_field' } });
    for (const body of ['[]', '"example.com"', 'null', '{"name":']) {
      expect(await post(body)).toMatchObject({ status: 400, body: { name: 'validation_error' } });
    }
  });
});

describe('access to a claim', () => {
  it('a foreign, an unknown and an unclaimed domain get the same answer', async () => {
    const { claimant, owner, opened, held } = await claimed();
    const random = '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77';
    for (const [method, tail] of [
      ['GET', ''],
      ['POST', '/verify'],
    ] as const) {
      const ask = (id: string, key: string) => scene.api(method, `/domains/${id}/claim${tail}`, { key });
      const answers = [
        await ask(opened.domain_id, owner.key),
        await ask(random, owner.key),
        await ask(held.id, owner.key),
        await ask(opened.id, claimant.key),
      ];
      expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404]);
      expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
      expect(await ask('claim', claimant.key)).toMatchObject({ status: 422, body: { name: 'invalid_parameter' } });
    }
    expect(await read(claimant, opened)).toEqual(opened);
  });

  it('a sending key has no access to claims', async () => {
    const { claimant, name, opened } = await claimed();
    const key = await claimant.sendingKey();
    const path = `/domains/${opened.domain_id}/claim`;
    for (const refused of [
      await scene.api('POST', '/domains/claim', { key, body: { name } }),
      await scene.api('GET', path, { key }),
      await scene.api('POST', `${path}/verify`, { key }),
    ]) {
      expect(refused).toMatchObject({ status: 401, body: { name: 'restricted_api_key' } });
    }
  });

  it('GET /domains/claim returns 405, because claim is no domain', async () => {
    const team = await scene.team();
    expect(await scene.api('GET', '/domains/claim', { key: team.key })).toMatchObject({
      status: 405,
      body: { name: 'method_not_allowed' },
    });
  });
});

async function holdByHand(teamId: string, name: string): Promise<void> {
  await scene.app.world.db.run('update domains set name = ? where team_id = ?', [name, teamId]);
}
