import { createPublicKey } from 'node:crypto';
import { createRequire } from 'node:module';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { publish, startScene, type Scene, type Team } from '../../rig/scene.ts';

const { dkimVerify } = createRequire(import.meta.url)('mailauth/lib/dkim/verify') as {
  dkimVerify: (
    message: Buffer,
    options: { resolver: () => Promise<string[][]> },
  ) => Promise<{ results: { selector: string }[] }>;
};

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

let scene: Scene;
beforeAll(async () => {
  scene = await startScene();
});
afterAll(() => scene.close());

const regenerate = (team: Team, id: string, body: unknown = { key_bits: 2048 }) =>
  scene.api('POST', `/domains/${id}/dkim/regenerate`, { key: team.key, body });
const verify = (team: Team, id: string) => scene.api('POST', `/domains/${id}/verify`, { key: team.key });
const read = async (team: Team, id: string) => (await scene.api('GET', `/domains/${id}`, { key: team.key })).body;
const send = (team: Team, domain: { name: string }, to: string, more: object = {}) =>
  scene.api('POST', '/emails', {
    key: team.key,
    body: { from: `a@${domain.name}`, to: [to], subject: 'Hello', text: 'Hello', ...more },
  });
const sweep = () => scene.app.jobs.find((job) => job.name === 'sweep-domains')?.run();

interface Published {
  record: string;
  name: string;
  value: string;
  required: boolean;
  key_status?: string;
}
const listSelectors = (records: Published[]) =>
  records.filter(({ record }) => record === 'DKIM').map(({ name }) => name.split('.')[0]);
const readBits = ({ value }: Published) => {
  const key = Buffer.from(value.replace(/.*p=/, ''), 'base64');
  return createPublicKey({ key, format: 'der', type: 'spki' }).asymmetricKeyDetails?.modulusLength;
};
async function loadSigners(to: string): Promise<string[]> {
  const message = scene.sink.messages.find(({ rcptTo }) => rcptTo.includes(to));
  const nowhere = () => Promise.reject(Object.assign(new Error('none'), { code: 'ENOTFOUND' }));
  const { results } = await dkimVerify(message?.data ?? Buffer.alloc(0), { resolver: nowhere });
  return results.map(({ selector }) => selector).toSorted();
}

describe('a regenerated key', () => {
  it.each([1024, 2048])('of %i bits replaces every old one, and the domain may not send', async (bits) => {
    const team = await scene.team();
    const domain = await team.domain();
    const before = await read(team, domain.id);
    scene.clock.advance(MINUTE_MS);
    const answer = await regenerate(team, domain.id, { key_bits: bits });
    expect(answer).toMatchObject({
      status: 200,
      body: { object: 'domain', id: domain.id, status: 'pending', capabilities: { sending: 'pending' } },
    });
    const selectors = listSelectors(answer.body.records);
    expect(selectors).toHaveLength(2);
    for (const selector of listSelectors(before.records)) expect(selectors).not.toContain(selector);
    expect(readBits(answer.body.records[0])).toBe(bits);
    expect(answer.text).not.toContain('PRIVATE');
    expect(await scene.app.world.db.all('select 1 from dkim_keys where domain_id = ?', [domain.id])).toHaveLength(2);
    expect(await send(team, domain, 'x@example.org')).toMatchObject({
      status: 403,
      body: { name: 'validation_error', message: expect.stringContaining('not verified') },
    });
    const [event] = (await scene.events(domain.id)).slice(-1);
    expect(event).toMatchObject({ type: 'domain.updated', data: { status: 'pending' } });
    expect(listSelectors(event?.data?.['records'] as Published[])).toEqual(selectors);
  });

  it('is all that has to be published again, while the other records keep their state', async () => {
    const team = await scene.team();
    const domain = await team.domain();
    scene.clock.advance(MINUTE_MS);
    const { body } = await regenerate(team, domain.id);
    const statuses = body.records.map(({ record, status }: { record: string; status: string }) => [record, status]);
    expect(statuses).toEqual([
      ['DKIM', 'not_started'],
      ['SPF', 'verified'],
      ['SPF', 'verified'],
      ['DKIM', 'not_started'],
      ['DMARC', 'verified'],
    ]);
    publish(scene.dns, { records: [body.records[0]] });
    scene.clock.advance(MINUTE_MS);
    await verify(team, domain.id);
    expect(await read(team, domain.id)).toMatchObject({ status: 'verified', capabilities: { sending: 'verified' } });
  });

  it('has 72 hours from now, whenever the domain was first checked', async () => {
    const team = await scene.team();
    const domain = await team.domain();
    scene.clock.advance(100 * HOUR_MS);
    await regenerate(team, domain.id);
    scene.clock.advance(72 * HOUR_MS - 1);
    await sweep();
    expect((await read(team, domain.id)).status).toBe('pending');
    scene.clock.advance(1);
    await sweep();
    expect((await read(team, domain.id)).status).toBe('failed');
  });
});

describe('mail that waits for a regenerated key', () => {
  it('is held until the key is seen, is signed only with the new key, and no old key signs again', async () => {
    const team = await scene.team();
    const domain = await team.domain();
    const scheduledAt = new Date(scene.clock.now() + 10 * MINUTE_MS).toISOString();
    const { body: mail } = await send(team, domain, 'held@example.org', { scheduled_at: scheduledAt });
    scene.clock.advance(MINUTE_MS);
    const { body } = await regenerate(team, domain.id);
    scene.clock.advance(10 * MINUTE_MS);
    await scene.settled();
    expect(await scene.account(team, mail.id)).toMatchObject({ state: 'delivery_delayed' });
    expect(scene.sink.messages.flatMap(({ rcptTo }) => rcptTo)).not.toContain('held@example.org');
    const delayed = (await scene.events(mail.id)).find(({ type }) => type === 'email.delivery_delayed');
    expect(JSON.stringify(delayed?.data)).toContain(`The domain ${domain.name} is no longer verified`);
    publish(scene.dns, body);
    await verify(team, domain.id);
    scene.clock.advance(HOUR_MS);
    await scene.settled();
    expect((await scene.account(team, mail.id)).state).toBe('delivered');
    expect(await loadSigners('held@example.org')).toEqual(listSelectors(body.records).toSorted());
  });

  it('fails as domain_unverified when nobody publishes the new key', async () => {
    const team = await scene.team();
    const domain = await team.domain();
    const scheduledAt = new Date(scene.clock.now() + 10 * MINUTE_MS).toISOString();
    const { body: mail } = await send(team, domain, 'never@example.org', { scheduled_at: scheduledAt });
    scene.clock.advance(MINUTE_MS);
    await regenerate(team, domain.id);
    for (let hour = 0; hour < 60; hour++) {
      scene.clock.advance(HOUR_MS);
      await scene.settled();
    }
    expect((await scene.account(team, mail.id)).state).toBe('failed');
    const failed = (await scene.events(mail.id)).find(({ type }) => type === 'email.failed');
    expect(failed?.data).toMatchObject({ to: ['never@example.org'], failed: { reason: 'domain_unverified' } });
    expect(scene.sink.messages.flatMap(({ rcptTo }) => rcptTo)).not.toContain('never@example.org');
  });
});

describe('the limit of once a minute for regeneration', () => {
  it('is shared with verification, in either order', async () => {
    const team = await scene.team();
    const domain = await team.domain();
    const refused = await regenerate(team, domain.id);
    expect(refused).toMatchObject({ status: 429, body: { name: 'rate_limit_exceeded' } });
    expect(refused.headers.get('retry-after')).toBe('60');
    scene.clock.advance(MINUTE_MS);
    expect((await regenerate(team, domain.id)).status).toBe(200);
    scene.clock.advance(MINUTE_MS - 1);
    expect((await verify(team, domain.id)).headers.get('retry-after')).toBe('1');
    expect((await regenerate(team, domain.id)).status).toBe(429);
    scene.clock.advance(1);
    expect((await verify(team, domain.id)).status).toBe(200);
  });

  it('lets one of several calls at once make keys, which the domain then has', async () => {
    const team = await scene.team();
    const domain = await team.domain();
    scene.clock.advance(MINUTE_MS);
    const answers = await Promise.all([1, 2, 3].map(() => regenerate(team, domain.id)));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 429, 429]);
    const made = answers.find(({ status }) => status === 200);
    expect(listSelectors((await read(team, domain.id)).records)).toEqual(listSelectors(made?.body.records));
  });
});

describe('regeneration of a key is refused', () => {
  it.each([
    [{}, 422, 'missing_required_field'],
    [{ key_bits: 512 }, 400, 'validation_error'],
    [{ key_bits: 4096 }, 400, 'validation_error'],
    [{ key_bits: '2048' }, 400, 'validation_error'],
    [{ key_bits: 2048.5 }, 400, 'validation_error'],
    [{ key_bits: null }, 400, 'validation_error'],
  ])('with %j', async (body, status, name) => {
    const team = await scene.team();
    const domain = await team.domain();
    scene.clock.advance(MINUTE_MS);
    const before = await read(team, domain.id);
    expect(await regenerate(team, domain.id, body)).toMatchObject({ status, body: { name } });
    expect(await read(team, domain.id)).toMatchObject({ status: 'verified', records: before.records });
    // The limit was not used up either.
    expect((await regenerate(team, domain.id)).status).toBe(200);
  });

  it('with an error that lists the key lengths, and for an unknown field', async () => {
    const team = await scene.team();
    const domain = await team.domain();
    const { body } = await regenerate(team, domain.id, { key_bits: 4096, selector: 'x' });
    expect(body.errors).toEqual([
      { path: 'selector', message: expect.any(String) },
      { path: 'key_bits', message: expect.stringContaining('2048 or 1024; got 4096') },
    ]);
  });

  it('with 404 for a domain of another team, which keeps its keys', async () => {
    const team = await scene.team();
    const stranger = await scene.team();
    const domain = await team.domain();
    scene.clock.advance(MINUTE_MS);
    const nowhere = await regenerate(stranger, '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e01');
    expect([nowhere.status, (await regenerate(stranger, domain.id)).text]).toEqual([404, nowhere.text]);
    expect((await read(team, domain.id)).status).toBe('verified');
  });

  it('for a sending key', async () => {
    const team = await scene.team();
    const domain = await team.domain();
    const answer = await scene.api('POST', `/domains/${domain.id}/dkim/regenerate`, {
      key: await team.sendingKey(),
      body: { key_bits: 2048 },
    });
    expect(answer).toMatchObject({ status: 401, body: { name: 'restricted_api_key' } });
  });
});
