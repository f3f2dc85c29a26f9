import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { loadConfig } from '../../../src/platform/config/index.ts';
import type { ApiAnswer } from '../../rig/api.ts';
import { createPeople } from '../../rig/people.ts';
import { startScene, type Scene } from '../../rig/scene.ts';

const buildRate = ({ status, headers }: ApiAnswer) => ({
  status,
  limit: headers.get('ratelimit-limit'),
  remaining: headers.get('ratelimit-remaining'),
  reset: headers.get('ratelimit-reset'),
  retryAfter: headers.get('retry-after'),
});

// The first call of an operation waits until the checks of its answers are compiled, and this test calls them all.
vi.setConfig({ testTimeout: 240_000 });

describe('the default rate limit', () => {
  let scene: Scene;
  beforeAll(async () => {
    const { rate_limit: defaults } = loadConfig({ env: {} }).config;
    scene = await startScene({ config: { rate_limit: defaults, http: { trusted_proxies: ['127.0.0.1/32'] } } });
  });
  afterEach(() => scene.clock.advance(60_000));
  afterAll(() => scene.close());

  it('allows a team ten requests at once, and tells the eleventh when to come back', async () => {
    const { key } = await scene.team();
    for (let left = 9; left >= 0; left--) {
      expect(buildRate(await scene.api('GET', '/domains', { key }))).toEqual({
        status: 200,
        limit: '10',
        remaining: String(left),
        reset: '1',
        retryAfter: null,
      });
    }
    const refused = await scene.api('GET', '/domains', { key });
    expect(refused.body).toMatchObject({ statusCode: 429, name: 'rate_limit_exceeded' });
    // The message names the setting for the operator.
    expect(refused.body.message).toContain('rate_limit.burst');
    expect(buildRate(refused)).toEqual({ status: 429, limit: '10', remaining: '0', reset: '1', retryAfter: '1' });
  });

  it('gives each person a bucket of their own, so a burst of an application does not lock people out of their team', async () => {
    const team = await scene.team();
    const { person } = createPeople(scene);
    const ada = await person({ team });
    const bob = await person({ team });
    for (let i = 0; i < 11; i++) await scene.api('GET', '/domains', { key: team.key });
    expect((await scene.api('GET', '/domains', { key: team.key })).status).toBe(429);
    expect(buildRate(await ada.call('GET', '/domains'))).toMatchObject({ status: 200, remaining: '9' });
    for (let i = 0; i < 9; i++) await ada.call('GET', '/domains');
    expect((await ada.call('GET', '/domains')).status).toBe(429);
    expect((await bob.call('GET', '/domains')).status).toBe(200);
  });

  it('refills the bucket by one every tenth of a second, up to ten', async () => {
    const { key } = await scene.team();
    const ask = async () => (await scene.api('GET', '/domains', { key })).status;
    for (let i = 0; i < 10; i++) await ask();
    expect(await ask()).toBe(429);
    scene.clock.advance(99);
    expect(await ask()).toBe(429);
    scene.clock.advance(1);
    expect([await ask(), await ask()]).toEqual([200, 429]);
    scene.clock.advance(500);
    expect([await ask(), await ask(), await ask(), await ask(), await ask(), await ask()]).toEqual([
      200, 200, 200, 200, 200, 429,
    ]);
    scene.clock.advance(3_600_000);
    const burst: number[] = [];
    for (let i = 0; i < 12; i++) burst.push(await ask());
    expect(burst.filter((status) => status === 200)).toHaveLength(10);
  });

  it('still serves its share to a caller that keeps sending', async () => {
    const { key } = await scene.team();
    const statuses: number[] = [];
    for (let i = 0; i < 60; i++) {
      statuses.push((await scene.api('GET', '/domains', { key })).status);
      scene.clock.advance(50);
    }
    // These are 10 at once and one every 100 ms of the 3 s.
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(38);
    expect(statuses.filter((status) => status === 200).length).toBeLessThanOrEqual(40);
  });

  it('is shared by all keys of a team, and not by two teams', async () => {
    const one = await scene.team();
    const other = await scene.team();
    const { body: second } = await scene.api('POST', '/api-keys', { key: one.key, body: { name: 'Second' } });
    const sending = await one.sendingKey();
    scene.clock.advance(10_000);
    for (let i = 0; i < 5; i++) {
      await scene.api('GET', '/domains', { key: one.key });
      await scene.api('GET', '/domains', { key: second.token });
    }
    for (const key of [one.key, second.token]) expect((await scene.api('GET', '/domains', { key })).status).toBe(429);
    expect((await scene.api('POST', '/emails', { key: sending, body: {} })).status).toBe(429);
    expect((await scene.api('GET', '/domains', { key: other.key })).status).toBe(200);
  });

  it('gives ten answers and ten refusals to twenty requests at once', async () => {
    const { key } = await scene.team();
    const answers = await Promise.all(Array.from({ length: 20 }, () => scene.api('GET', '/domains', { key })));
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(10).fill(200), ...Array(10).fill(429)]);
    const left = answers
      .filter(({ status }) => status === 200)
      .map(({ headers }) => headers.get('ratelimit-remaining'));
    expect(left.map(Number).sort((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  it('charges a refused request as much as an accepted one', async () => {
    const { key } = await scene.team();
    for (let i = 0; i < 10; i++) expect((await scene.api('GET', '/emails/x', { key })).status).toBe(422);
    expect((await scene.api('GET', '/domains', { key })).status).toBe(429);
  });

  it('counts callers without a key by their network address, not against any team', async () => {
    const { key } = await scene.team();
    const statuses: number[] = [];
    for (let i = 0; i < 11; i++) statuses.push((await scene.api('GET', '/health')).status);
    expect(statuses).toEqual([...Array(10).fill(200), 429]);
    expect(buildRate(await scene.api('GET', '/openapi.json'))).toMatchObject({ status: 429, retryAfter: '1' });
    expect(buildRate(await scene.api('GET', '/domains', { key }))).toMatchObject({ status: 200, remaining: '9' });
    scene.clock.advance(100);
    expect((await scene.api('GET', '/ready')).status).toBe(200);
  });

  it('counts the addresses of one IPv6 /64 network in one bucket', async () => {
    const from = (address: string) => scene.api('GET', '/health', { headers: { 'x-forwarded-for': address } });
    for (let i = 0; i < 10; i++) expect((await from(`2001:db8:0:1::${i}`)).status).toBe(200);
    expect((await from('2001:db8:0:1:ffff::1')).status).toBe(429);
    expect((await from('2001:db8:0:2::1')).status).toBe(200);
  });

  it('counts requests with an invalid credential by their network address', async () => {
    const calls = [{}, { key: 'rk_nobody' }, { headers: { authorization: 'Basic x' } }];
    for (const [i, call] of calls.entries()) {
      const answer = buildRate(await scene.api('GET', '/emails', call));
      expect(answer).toMatchObject({ status: 401, limit: '10', remaining: String(9 - i), retryAfter: null });
    }
    expect(buildRate(await scene.api('GET', '/health'))).toMatchObject({ remaining: '6' });
  });

  it('adds its three headers and no retry-after to every other refusal', async () => {
    const { key } = await scene.team();
    const calls: [string, string, Parameters<Scene['api']>[2]][] = [
      ['GET', '/nothing', {}],
      ['PUT', '/emails', {}],
      ['GET', '/emails', {}],
      ['GET', '/emails', { headers: { 'user-agent': null } }],
      ['GET', '/emails/x', { key }],
      ['POST', '/emails', { key, body: '{' }],
      ['POST', '/emails', { key, body: {} }],
      ['GET', '/%zz', {}],
    ];
    for (const [method, path, call] of calls) {
      const answer = buildRate(await scene.api(method, path, call));
      expect(answer, `${method} ${path}`).toMatchObject({ limit: '10', retryAfter: null });
      expect(Number(answer.remaining)).toBeGreaterThanOrEqual(0);
      expect(Number(answer.reset)).toBeLessThanOrEqual(1);
    }
  });

  it('neither fills nor empties a bucket when the clock steps back', async () => {
    const { key } = await scene.team();
    for (let i = 0; i < 10; i++) await scene.api('GET', '/domains', { key });
    scene.clock.advance(-5_000);
    expect((await scene.api('GET', '/domains', { key })).status).toBe(429);
    scene.clock.advance(5_100);
    expect((await scene.api('GET', '/domains', { key })).status).toBe(200);
  });

  it('does not affect request ids: every answer has its own', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => scene.api('GET', '/nothing')));
    expect(new Set(answers.map(({ headers }) => headers.get('x-request-id'))).size).toBe(20);
    const echoed = await scene.api('GET', '/nothing', { headers: { 'x-request-id': 'mine' } });
    expect(echoed.headers.get('x-request-id')).not.toBe('mine');
  });
});
