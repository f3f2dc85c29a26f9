import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HOUR, mailIn, type Mail } from '../../flow/mail.ts';
import { startScene, type Scene } from '../../rig/scene.ts';

const NEW = '127.0.8.1';
const WARM = '127.0.8.2';
const LIMITED = '450 4.7.28 Gmail has detected an unusual rate of unsolicited mail originating from your IP address.';
const DAY = 24 * HOUR;

let scene: Scene;
let mail: Mail;
let token: string;
let isLimited = false;

beforeAll(async () => {
  scene = await startScene({
    startAt: '2026-11-30T10:02:00Z',
    networkWaits: 'by hand',
    sink: { script: (line) => (isLimited && /^RCPT TO:<limited/i.test(line) ? LIMITED : undefined) },
    config: {
      sources: {
        fresh: { source_v4: NEW, helo_name: 'fresh.sender.test' },
        warm: { source_v4: WARM },
        gone: { source_v4: '192.0.2.77' },
        far: { socks5: '192.0.2.9:1080', source_v4: '192.0.2.10', source_v6: '2001:db8::10' },
        big: { relay: 'hub' },
        unused: { source_v4: '127.0.8.9' },
      },
      relays: { hub: { host: 'hub.test', helo_name: 'relayed.sender.test' } },
      pools: {
        main: { sources: ['fresh:3', 'warm'] },
        shop: { sources: ['gone', 'far', 'big'], domains: ['shop.example.com'] },
      },
      providers: { acme: { title: 'Acme', domains: ['acme.test'] } },
      warm_up: { daily: [4, 8], hours: 2, idle_days: 30 },
      delivery: { give_up_hours: 720 },
    },
  });
  mail = await mailIn(scene);
  token = await scene.operator();
});
afterAll(() => scene.close());

const ask = (method: string, path = '') => scene.api(method, `/operator/egress${path}`, { key: token });
const warmUp = (name: string, change: 'start' | 'pause' | 'continue' | 'stop') =>
  ask('POST', `/${name}/warm-up/${change}`);
const find = async (id: string) =>
  ((await ask('GET')).body.data as { id: string }[]).find((one) => one.id === id) as Record<string, unknown>;

let count = 0;
async function send(amount: number, domain = 'acme.test'): Promise<Record<string, number>> {
  for (let n = 0; n < amount; n++) await mail.send(`x${++count}@${domain}`);
  await scene.settled();
  const counts: Record<string, number> = {};
  for (const { peer } of scene.sink.messages.splice(0)) counts[peer] = (counts[peer] ?? 0) + 1;
  return counts;
}

async function beginNextDay(): Promise<void> {
  scene.clock.advance(DAY);
  await scene.settled();
  scene.sink.messages.splice(0);
}

describe('the list of sources', () => {
  it('has each source that a pool contains, with its addresses, its EHLO name and its share', async () => {
    const { body } = await ask('GET');
    expect(body).toMatchObject({ object: 'list', has_more: false });
    expect(body.data.map(({ id }: { id: string }) => id)).toEqual(['big', 'far', 'fresh', 'gone', 'warm']);
    expect(await find('fresh')).toEqual({
      object: 'egress_source',
      id: 'fresh',
      state: 'ready',
      fault: null,
      ipv4: NEW,
      ipv6: null,
      proxy: null,
      relay: null,
      ehlo_name: 'fresh.sender.test',
      pools: [{ name: 'main', weight: 3, share: 75 }],
      last_hour: { accepted: 0, deferred: 0, bounced: 0 },
      today: { accepted: 0, deferred: 0, bounced: 0 },
    });
    expect(await find('far')).toMatchObject({ proxy: '192.0.2.9:1080', ipv4: '192.0.2.10', ipv6: '2001:db8::10' });
    expect(await find('big')).toMatchObject({ relay: 'hub', ehlo_name: 'relayed.sender.test', ipv4: null });
    expect(await find('warm')).toMatchObject({ ehlo_name: scene.app.world.config.instance.host });
  });

  it('has pages in both directions', async () => {
    const ids = async (query: string) => {
      const { body } = await ask('GET', query);
      return [body.data.map(({ id }: { id: string }) => id), body.has_more];
    };
    expect(await ids('?limit=2')).toEqual([['big', 'far'], true]);
    expect(await ids('?limit=2&after=far')).toEqual([['fresh', 'gone'], true]);
    expect(await ids('?limit=2&after=gone')).toEqual([['warm'], false]);
    expect(await ids('?limit=2&before=gone')).toEqual([['far', 'fresh'], true]);
  });

  it('says why nothing can be sent from a source', async () => {
    expect(await find('gone')).toMatchObject({
      state: 'unavailable',
      fault: 'Nothing can be sent from the source gone: the address 192.0.2.77 does not exist on this machine.',
    });
  });

  it('counts the recipients of the last hour and of today by outcome', async () => {
    await send(8);
    isLimited = true;
    await mail.send('permfail@acme.test');
    await mail.send('limited@acme.test');
    await scene.settled();
    isLimited = false;
    const sum = async (period: string) =>
      ((await ask('GET')).body.data as Record<string, Record<string, number>>[]).reduce(
        (all, one) => ({
          accepted: all.accepted + (one[period]?.['accepted'] ?? 0),
          deferred: all.deferred + (one[period]?.['deferred'] ?? 0),
          bounced: all.bounced + (one[period]?.['bounced'] ?? 0),
        }),
        { accepted: 0, deferred: 0, bounced: 0 },
      );
    expect(await sum('last_hour')).toEqual({ accepted: 8, deferred: 1, bounced: 1 });
    expect(await sum('today')).toEqual({ accepted: 8, deferred: 1, bounced: 1 });
    expect(await find('fresh')).toMatchObject({ last_hour: { accepted: expect.any(Number) } });
    const details = await Promise.all(['fresh', 'warm'].map(async (name) => (await ask('GET', `/${name}`)).body));
    const outcomes = details.flatMap(({ last_24_hours: all }) => all);
    expect(outcomes).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ provider: 'acme', title: 'Acme', outcome: 'accepted', cause: null }),
        { provider: 'acme', title: 'Acme', outcome: 'deferred', cause: 'rate', recipients: 1 },
        expect.objectContaining({ provider: 'acme', outcome: 'bounced', recipients: 1 }),
      ]),
    );
  });

  it('the list of sources is closed to teams, and a call for an unknown source names the known ones', async () => {
    expect((await scene.api('GET', '/operator/egress', { key: mail.team.key })).status).toBe(403);
    for (const path of ['/nobody', '/nobody/warm-up'])
      expect(await ask('GET', path)).toMatchObject({
        status: 404,
        body: {
          name: 'not_found',
          message: 'The settings have no source "nobody". The sources are big, far, fresh, gone, warm.',
        },
      });
    expect((await warmUp('nobody', 'start')).status).toBe(404);
    expect(await warmUp('unused', 'start')).toMatchObject({
      status: 422,
      body: {
        message:
          'No mail leaves by the source unused, because no pool contains it; add it to pools.NAME.sources. The sources are big, far, fresh, gone, warm.',
      },
    });
  });
});

describe('the warm-up of a source', () => {
  it('cannot be paused or continued before it is started, and stopping it changes nothing', async () => {
    for (const change of ['pause', 'continue'] as const)
      expect(await warmUp('fresh', change)).toMatchObject({
        status: 422,
        body: { message: 'The source fresh is not being warmed up; start its warm-up first.' },
      });
    expect((await warmUp('fresh', 'stop')).body).toEqual({
      object: 'warm_up',
      id: 'fresh',
      state: 'none',
      started_at: null,
      providers: [],
    });
  });

  it('limits its mail from the moment it is started, and shows what is used of the limit', async () => {
    await beginNextDay();
    const now = scene.clock.now();
    expect((await warmUp('fresh', 'start')).body).toEqual({
      object: 'warm_up',
      id: 'fresh',
      state: 'warming',
      started_at: new Date(now).toISOString(),
      providers: [],
    });
    expect(await send(20)).toEqual({ [NEW]: 2, [WARM]: 18 });
    const { body } = await ask('GET', '/fresh');
    expect(body).toMatchObject({ state: 'warming', warm_up: { state: 'warming' } });
    expect(body.warm_up.providers).toEqual([
      {
        provider: 'acme',
        title: 'Acme',
        day: 1,
        days: 2,
        daily_limit: 4,
        used_today: 2,
        hourly_limit: 2,
        used_this_hour: 2,
        last_day: 'new',
      },
    ]);
    expect((await ask('GET', '/fresh/warm-up')).body).toEqual(body.warm_up);
    expect(await find('fresh')).toMatchObject({ state: 'warming' });
  });

  it('shows the next day as judged before the first message of that day', async () => {
    await beginNextDay();
    const { body } = await ask('GET', '/fresh/warm-up');
    expect(body.providers).toMatchObject([
      { day: 2, daily_limit: 8, used_today: 0, hourly_limit: 4, used_this_hour: 0, last_day: 'good' },
    ]);
  });

  it('keeps its limits while it is paused, and raises them once it continues', async () => {
    expect(await send(20)).toEqual({ [NEW]: 4, [WARM]: 16 });
    expect((await warmUp('fresh', 'pause')).body).toMatchObject({ state: 'paused' });
    expect(await find('fresh')).toMatchObject({ state: 'paused' });
    await beginNextDay();
    expect((await ask('GET', '/fresh/warm-up')).body.providers).toMatchObject([{ day: 2, last_day: 'paused' }]);
    expect(await send(20)).toEqual({ [NEW]: 4, [WARM]: 16 });
    expect((await warmUp('fresh', 'continue')).body).toMatchObject({ state: 'warming' });
    await beginNextDay();
    expect((await ask('GET', '/fresh/warm-up')).body.providers).toMatchObject([
      { day: 3, days: 2, daily_limit: null, hourly_limit: null, last_day: 'good' },
    ]);
    expect((await send(20))[NEW]).toBeGreaterThan(10);
  });

  it('begins again at the first day when it is started again, also within the hour', async () => {
    expect((await warmUp('fresh', 'start')).body).toMatchObject({ state: 'warming', providers: [] });
    expect(await send(20)).toEqual({ [NEW]: 2, [WARM]: 18 });
    expect((await ask('GET', '/fresh/warm-up')).body.providers).toMatchObject([{ day: 1, last_day: 'new' }]);
  });

  it('ends with all its limits when it is stopped, and mail that waits for them leaves at once', async () => {
    const { pools } = scene.app.world.config;
    await scene.restart({
      pools: { ...pools, main: { ...pools['main'], sources: ['fresh'] } },
    });
    await warmUp('fresh', 'start');
    expect(await send(10)).toEqual({ [NEW]: 2 });
    expect((await warmUp('fresh', 'stop')).body).toMatchObject({ state: 'none', providers: [] });
    expect(await send(0)).toEqual({ [NEW]: 8 });
    expect(await find('fresh')).toMatchObject({ state: 'ready' });
  });

  it('each change of a warm-up is recorded in the audit log', async () => {
    const { body } = await scene.api('GET', '/operator/audit?limit=100', { key: token });
    const changes = body.data.filter(({ action }: { action: string }) => action.startsWith('warm_up.'));
    for (const change of changes)
      expect(change).toMatchObject({ subject_id: 'fresh', actor: { kind: 'operator', name: 'Ada' } });
    const actions = new Set(changes.map(({ action }: { action: string }) => action));
    expect(actions).toEqual(new Set(['warm_up.started', 'warm_up.paused', 'warm_up.continued', 'warm_up.stopped']));
  });
});
