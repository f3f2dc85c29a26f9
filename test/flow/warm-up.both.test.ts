// a new address in a pool --> its warm-up begins --> it sends a little more each day, and the rest leaves by a warm one or waits
import { afterEach, expect, it, vi } from 'vitest';
import { createWarmUps, listWarmUpDays, putWarmUp, WARM_UPS_CHANGED } from '../../src/mail/egress/index.ts';
import { createManualClock } from '../rig/clock.ts';
import { startScene, type Scene, type SceneOptions } from '../rig/scene.ts';
import { mailIn, type Mail } from './mail.ts';

const NEW = '127.0.8.1';
const WARM = '127.0.8.2';
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

let scene: Scene;
afterEach(() => scene?.close());

async function start(sources: string[], sink: SceneOptions['sink'] = {}, daily = [4, 8, 16], hours = 1): Promise<Mail> {
  scene = await startScene({
    startAt: '2026-11-30T00:00:00Z',
    networkWaits: 'by hand',
    sink,
    config: {
      sources: { fresh: { source_v4: NEW }, warm: { source_v4: WARM } },
      pools: { main: { sources } },
      warm_up: { daily, hours, idle_days: 30 },
      delivery: { give_up_hours: 720 },
      providers: { acme: { title: 'Acme', domains: ['acme.example'] } },
    },
  });
  const { db, clock } = scene.app.world;
  await putWarmUp(db, { source: 'fresh', state: 'warming', now: clock.now() });
  db.announce(WARM_UPS_CHANGED);
  await scene.restart();
  return mailIn(scene);
}

async function sendMany(mail: Mail, count: number, domain = 'example.org'): Promise<void> {
  for (let n = 0; n < count; n++) await mail.send(`x${n}@${domain}`);
  await scene.settled();
}

/** Counts the messages that arrived from each address since the last count. */
function takeCounts(): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { peer } of scene.sink.messages.splice(0)) counts[peer] = (counts[peer] ?? 0) + 1;
  return counts;
}

async function beginNextDay(): Promise<void> {
  scene.clock.advance(DAY);
  await scene.settled();
}

it('a new source sends more each day, and what it may not send leaves by the other source', async () => {
  const mail = await start(['fresh', 'warm']);
  const days = [];
  for (let day = 0; day < 4; day++) {
    await sendMany(mail, 40);
    days.push(takeCounts());
    await beginNextDay();
  }
  expect(days.slice(0, 3)).toEqual([
    { [NEW]: 4, [WARM]: 36 },
    { [NEW]: 8, [WARM]: 32 },
    { [NEW]: 16, [WARM]: 24 },
  ]);
  // From the fourth day on it is warm, and has its half.
  expect(Math.abs((days[3]?.[NEW] ?? 0) - 20)).toBeLessThanOrEqual(1);
});

it('mail waits for the next day if there is no other source, and no attempt is counted', async () => {
  const mail = await start(['fresh']);
  await sendMany(mail, 10);
  expect(takeCounts()).toEqual({ [NEW]: 4 });
  const { db } = scene.app.world;
  const waiting = await db.all<{ attempt: number; due_at: number }>('select attempt, due_at from deliveries', []);
  expect(
    new Set(waiting.map(({ attempt, due_at: dueAt }) => `${attempt} ${new Date(Number(dueAt)).toISOString()}`)),
  ).toEqual(new Set(['0 2026-12-01T00:00:00.000Z']));
  await beginNextDay();
  expect(takeCounts()).toEqual({ [NEW]: 6 });
});

const BLOCKED = '550 5.7.1 Service unavailable; Client host [127.0.8.1] blocked using zen.spamhaus.org';

it('a day on which a provider does not trust the source takes a step back', async () => {
  let isAngry = false;
  const mail = await start(['fresh', 'warm'], {
    script: (line, { peer }) => (isAngry && peer === NEW && line.startsWith('RCPT') ? BLOCKED : undefined),
  });
  await sendMany(mail, 20, 'acme.example');
  await beginNextDay();
  takeCounts();
  isAngry = true;
  await sendMany(mail, 40, 'acme.example');
  isAngry = false;
  await beginNextDay();
  takeCounts();
  await sendMany(mail, 40, 'acme.example');
  const [day] = await listWarmUpDays(scene.app.world.db, 'fresh');
  expect(day).toMatchObject({ level: 0, judged: 'bad' });
});

const UNKNOWN = '550 5.1.1 No such user';

it.each([
  ['small receivers do not trust the source', 'own', 3, BLOCKED],
  ['small receivers bounce the mail', 'own', 12, UNKNOWN],
  ['customers of a provider do not trust the source', 'mimecast', 8, BLOCKED],
])('a day on which %s is bad only if three independent ones do', async (_, servers, count, reply) => {
  const mail = await start(
    ['fresh', 'warm'],
    { script: (line, { peer }) => (peer === NEW && /^RCPT.*\.evil/.test(line) ? reply : undefined) },
    [40, 80, 160, 320],
  );
  // Names below one domain cost nothing. Each has mail servers of its own, or those of a provider that leaves texts to customers.
  const domains = Array.from({ length: count }, (__, n) => [`x${n}.evil.example`, `x.evil${n}.example`]).flat();
  scene.dns.set('eu-smtp-inbound-1.mimecast.com', 'A', ['127.0.0.1']);
  for (const name of [...domains, 'good.example']) {
    const host = servers === 'own' ? `mx.${name}` : 'eu-smtp-inbound-1.mimecast.com';
    scene.dns.set(name, 'MX', [`10 ${host}`]);
    if (servers === 'own') scene.dns.set(host, 'A', ['127.0.0.1']);
  }
  const judged = [];
  for (const end of ['.evil.example', '.example', 'none']) {
    for (const name of domains.filter((one) => one.endsWith(end) && /evil\d/.test(one) === (end === '.example')))
      await mail.send(`x@${name}`);
    await sendMany(mail, 100, 'good.example');
    await beginNextDay();
    // The first message of the next day that leaves by it judges the day.
    await sendMany(mail, 6, 'good.example');
    judged.push((await listWarmUpDays(scene.app.world.db, 'fresh'))[0]);
  }
  expect(judged.map((day) => `${day?.judged} ${day?.level}`)).toEqual(['good 1', 'bad 0', 'good 0']);
});

it('a source that the settings warm up is limited from its first message on, and not again after its warm-up was ended', async () => {
  scene = await startScene({
    networkWaits: 'by hand',
    config: {
      sources: { fresh: { source_v4: NEW, warm_up: true }, warm: { source_v4: WARM } },
      pools: { main: { sources: ['fresh', 'warm'] } },
      warm_up: { daily: [4], hours: 1, idle_days: 30 },
    },
  });
  const mail = await mailIn(scene);
  await sendMany(mail, 20);
  expect(takeCounts()).toEqual({ [NEW]: 4, [WARM]: 16 });
  const key = await scene.operator();
  const stopped = await scene.api('POST', '/operator/egress/fresh/warm-up/stop', { key });
  expect(stopped.body).toMatchObject({ state: 'none', providers: [] });
  await scene.restart();
  await sendMany(mail, 20);
  expect(takeCounts()[NEW]).toBeGreaterThan(4);
  const again = await scene.api('POST', '/operator/egress/fresh/warm-up/start', { key });
  expect(again.body).toMatchObject({ state: 'warming' });
});

it('a restart loses nothing of the count, and what was reserved and not sent can be sent', async () => {
  const mail = await start(['fresh']);
  await sendMany(mail, 2);
  await scene.restart();
  await sendMany(mail, 10);
  expect(takeCounts()).toEqual({ [NEW]: 4 });
});

it('a process that stops returns the part of its block that it has not sent', async () => {
  const mail = await start(['fresh'], {}, [60]);
  await sendMany(mail, 1);
  const readUsed = async () => (await listWarmUpDays(scene.app.world.db, 'fresh'))[0]?.used;
  expect(await readUsed()).toBe(3);
  await scene.restart();
  expect(await readUsed()).toBe(1);
});

it('a clock that was ahead and is set back delays mail by the rest of the day at most', async () => {
  const mail = await start(['fresh']);
  scene.clock.step(20 * DAY);
  await sendMany(mail, 4);
  expect(takeCounts()).toEqual({ [NEW]: 4 });
  scene.clock.step(-20 * DAY);
  await sendMany(mail, 4);
  // The clock was wrong, but four messages have left today.
  expect(takeCounts()).toEqual({});
  await beginNextDay();
  expect(takeCounts()).toEqual({ [NEW]: 4 });
});

it('correct-times replaces a day and an hour of a warm-up that are in the future', async () => {
  const mail = await start(['fresh'], {}, [60]);
  const { db, clock } = scene.app.world;
  const today = Math.floor(clock.now() / DAY);
  const readDay = async () => (await listWarmUpDays(db, 'fresh'))[0];
  const correct = () => scene.app.jobs.find(({ name }) => name === 'correct-times')?.run();
  for (const ahead of [20 * DAY, 5 * HOUR]) {
    scene.clock.step(ahead);
    await sendMany(mail, 4);
    scene.clock.step(-ahead);
    const before = await readDay();
    expect(before?.hour).toBe(Math.floor((clock.now() + ahead) / HOUR));
    await correct();
    expect(await readDay()).toEqual({ ...before, day: today, hour: today * 24 });
  }
});

/** Opens the limits of sources for one more process with a clock of its own. */
async function openNode(clock = createManualClock(scene.clock.now())) {
  const { db, config, log } = scene.app.world;
  const node = createWarmUps({ db, clock, config, log });
  await node.reload();
  const source = { name: 'fresh' } as Parameters<typeof node.take>[0];
  const place = { provider: undefined, servers: 'mx.example.org', domain: 'example.org' };
  return { clock, stop: () => node.stop(), take: () => node.take(source, place, { isMarketing: false }) };
}

it('messages that were not sent can be sent within the same hour, also if other blocks were reserved since', async () => {
  await start(['fresh'], {}, [7]);
  const { take } = await openNode();
  const taken = await Promise.all(Array.from({ length: 8 }, take));
  expect(taken.map(({ kind }) => kind).toSorted()).toEqual(['later', ...Array.from({ length: 7 }, () => 'taken')]);
  for (const budget of taken) if (budget.kind === 'taken') budget.undo();
  const again = [];
  for (let n = 0; n < 8; n++) again.push((await take()).kind);
  expect(again).toEqual([...Array.from({ length: 7 }, () => 'taken'), 'later']);
});

it('messages that were not sent can be sent in a later hour of the day', async () => {
  await start(['fresh'], {}, [7]);
  const { take, stop, clock } = await openNode();
  const taken = await Promise.all(Array.from({ length: 7 }, take));
  clock.advance(HOUR);
  // The reservation of the new hour replaces the block of the old one.
  expect((await take()).kind).toBe('later');
  for (const budget of taken) if (budget.kind === 'taken') budget.undo();
  await vi.waitFor(async () => expect((await listWarmUpDays(scene.app.world.db, 'fresh'))[0]?.used).toBe(0));
  await stop();
});

it('two nodes whose clocks differ share one limit of an hour', async () => {
  await start(['fresh'], {}, [800], 8);
  scene.clock.step(9 * HOUR + 59 * 60_000 + 59_000);
  const behind = await openNode();
  const ahead = await openNode(createManualClock(scene.clock.now() + 2000));
  let sent = 0;
  for (let n = 0; n < 1000; n++) {
    // The node that is behind takes some of the old hour first.
    const node = n < 20 || n % 2 === 1 ? behind : ahead;
    if ((await node.take()).kind === 'taken') sent += 1;
  }
  // The limit is 100 an hour: 20 of the old hour were taken, and all of the new one.
  expect(sent).toBe(120);
});

it('a node whose clock is a day ahead begins a day once, however often another one puts it back', async () => {
  await start(['fresh'], {}, [40, 40]);
  const right = await openNode();
  const ahead = await openNode(createManualClock(scene.clock.now() + DAY + 2 * HOUR));
  let sent = 0;
  for (let n = 0; n < 400; n++) if ((await (n % 2 === 0 ? right : ahead).take()).kind === 'taken') sent += 1;
  // The node that is ahead begins one day more.
  expect(sent).toBeLessThanOrEqual(80);
});
