// Tests how connections are shared: by the address of a mail server, by team, and how long opening one may take.
import { afterEach, expect, test, vi } from 'vitest';
import type { RecipientOutcome } from '../../src/mail/deliver/index.ts';
import { createManualClock } from '../rig/clock.ts';
import type { Zones } from '../rig/dns.ts';
import { account, delivered, MX, setScene } from './deliver-scene.ts';
import type { Scene, SceneOptions } from './deliver-scene.ts';

let scene: Scene;
afterEach(() => scene.stop());

/** Every name has the same mail server, but those of the second zone have one of their own on another address. */
const SHARED: Zones = { '*': { MX: [`10 ${MX}`] }, [MX]: { A: ['127.0.0.1'] } };
const apart = (count: number): Zones => ({
  ...SHARED,
  ...Object.fromEntries(many(count).map((n) => [`alone${n}.example`, { MX: [`10 mx${n}.example`] }])),
  ...Object.fromEntries(many(count).map((n) => [`mx${n}.example`, { A: [`127.0.1.${n + 1}`] }])),
});

/** The local part and the domain of each recipient whose message arrived before that of `address`. */
function arrivedBefore(address: string): [string, string][] {
  const order = scene.sink.messages.map((message) => message.rcptTo[0] ?? '');
  expect(order).toContain(address);
  return order.slice(0, order.indexOf(address)).map((one) => one.split('@') as [string, string]);
}

function countEach<T>(values: readonly T[]): Map<T, number> {
  const counts = new Map<T, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}

const many = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

async function given(options: SceneOptions): Promise<void> {
  scene = await setScene({ zones: SHARED, ...options });
}

async function untilPool(stats: Partial<ReturnType<Scene['delivery']['stats']>>): Promise<void> {
  await vi.waitFor(() => expect(scene.delivery.stats()).toMatchObject(stats), { interval: 1 });
}

test('a silent mail server gets few connections, however many domains it serves, and the other messages are deferred', async () => {
  const clock = createManualClock();
  await given({ sink: { greeting: 'silent' }, deliver: { clock, limits: { openMs: 120_000 } } });
  const sent = many(200).map((n) => scene.send(`x@d${n}.example`));
  await untilPool({ sites: 1, waiting: 200, connections: 1 });
  await scene.sink.waitFor((sink) => sink.counts.connections === 1);
  clock.advance(120_000);
  const outcomes = (await Promise.all(sent)).flat();
  expect(outcomes).toHaveLength(200);
  expect(outcomes.filter((outcome) => outcome.kind !== 'deferred')).toEqual([]);
  expect(scene.sink.counts.connections).toBe(1);
});

test('opening a connection ends at its deadline, and silent hosts leave time for others', async () => {
  const clock = createManualClock();
  const zones = {
    'y.example': { MX: many(5).map((n) => `${n} mx${n}.y.example`) },
    ...Object.fromEntries(many(5).map((n) => [`mx${n}.y.example`, { A: [`127.0.2.${n + 1}`] }])),
  };
  const timeouts = { connectMs: 50_000, greetingMs: 50_000 };
  await given({ zones, deliver: { clock, timeouts, limits: { openMs: 120_000 } } });
  const silent = await Promise.all(many(5).map((n) => scene.anotherSink(`127.0.2.${n + 1}`, { greeting: 'silent' })));
  const sent = scene.send('a@y.example');
  for (const [n, waitMs] of [30_000, 30_000, 30_000, 30_000].entries()) {
    await silent[n]?.waitFor((sink) => sink.counts.connections === 1);
    clock.advance(waitMs);
  }
  expect(await sent).toMatchObject([{ kind: 'deferred' }]);
  expect(silent.map((sink) => sink.counts.connections)).toEqual([1, 1, 1, 1, 0]);
});

test('the deadline shortens the timeout of a single step', async () => {
  const clock = createManualClock();
  await given({
    sink: { greeting: 'silent' },
    deliver: { clock, timeouts: { connectMs: 300_000, greetingMs: 300_000 }, limits: { openMs: 90_000 } },
  });
  const sent = scene.send('a@y.example');
  await scene.sink.waitFor((sink) => sink.open === 1);
  clock.advance(89_999);
  expect(scene.delivery.stats()).toMatchObject({ connections: 1, waiting: 1 });
  clock.advance(1);
  const [outcome] = await sent;
  expect(outcome).toMatchObject({ kind: 'deferred', reason: 'timeout' });
  expect(outcome && 'detail' in outcome && outcome.detail).toContain('not ready for mail within the 90000 ms');
});

test('the failure of an address applies to every domain behind it, until it responds', async () => {
  let now = 1_000_000;
  let isUp = false;
  const script = (command: string): string | undefined =>
    command.startsWith('EHLO') && !isUp ? '421 4.3.2 Not now' : undefined;
  await given({ sink: { script }, deliver: { now: () => now, random: () => 0.5 } });
  expect(await scene.send('a@one.example')).toMatchObject([{ reason: 'refused_for_now' }]);
  expect(await scene.send('a@two.example')).toMatchObject([{ reason: 'destination_down', mx: MX }]);
  expect(
    scene.delivery.findObstacle({ teamId: 'team_1', domain: 'two.example', region: 'eu', tls: 'opportunistic' }),
  ).toEqual({ kind: 'down' });
  expect(scene.sink.counts.connections).toBe(1);
  isUp = true;
  now += 5_000;
  expect(await scene.send('a@three.example')).toEqual([delivered('a@three.example')]);
  expect(await scene.send('a@two.example')).toEqual([delivered('a@two.example')]);
});

test('an address gets no more connections than its limit, however many domains it serves', async () => {
  await given({ deliver: { limits: { connectionsPerAddressMax: 3 } } });
  const sent = many(12).map((n) => scene.send(`slow+${n}@d${n}.example`, { teamId: `team_${n % 3}` }));
  await scene.sink.waitFor((sink) => sink.counts.data === 3);
  expect(scene.delivery.stats()).toMatchObject({ connections: 3, waiting: 9 });
  scene.sink.openGate();
  await Promise.all(sent);
  expect(account(scene.sink)).toMatchObject({ accepted: 12 });
});

test('a team uses no more connections than are free, so that another team finds some', async () => {
  await given({ deliver: { limits: { connectionsTotalMax: 8 } } });
  const crowd = many(20).map((n) => scene.send(`slow+${n}@d${n}.example`, { teamId: 'crowd' }));
  await scene.sink.waitFor((sink) => sink.counts.data === 4);
  expect(scene.delivery.stats()).toMatchObject({ connections: 4, waiting: 16 });
  for (const n of many(3)) {
    expect(await scene.send(`b@other${n}.example`, { teamId: 'other' })).toEqual([delivered(`b@other${n}.example`)]);
    // Connections of a destination that the crowd uses too are shared in the same way.
    expect(await scene.send(`b@d${n}.example`, { teamId: 'other' })).toEqual([delivered(`b@d${n}.example`)]);
  }
  scene.sink.openGate();
  await Promise.all(crowd);
  await untilPool({ waiting: 0 });
  expect(scene.sink.counts.accepted).toBe(26);
});

test('a team uses at most two thirds of the connections to one address, however many domains it serves', async () => {
  await given({ deliver: { limits: { connectionsPerAddressMax: 6 } } });
  const crowd = many(20).map((n) => scene.send(`slow+${n}@d${n}.example`, { teamId: 'crowd' }));
  await scene.sink.waitFor((sink) => sink.counts.data === 4);
  expect(scene.delivery.stats()).toMatchObject({ connections: 4, waiting: 16 });
  for (const n of many(5)) {
    expect(await scene.send(`b@other${n}.example`, { teamId: 'other' })).toEqual([delivered(`b@other${n}.example`)]);
    // An idle connection of a destination that the crowd waits for is not the crowd's either.
    expect(await scene.send(`b@d${n}.example`, { teamId: 'other' })).toEqual([delivered(`b@d${n}.example`)]);
  }
  scene.sink.openGate();
  await Promise.all(crowd);
  await untilPool({ waiting: 0 });
  expect(scene.sink.counts.accepted).toBe(30);
});

test('a team that comes later gets its turn, however many teams have a backlog for an address', async () => {
  await given({ deliver: { limits: { connectionsPerAddressMax: 4 } } });
  const crowd = many(600).map((n) => scene.send(`c${n}@d${n % 4}.example`, { teamId: `team_${n % 50}` }));
  await scene.sink.waitFor(1);
  const other = scene.send('o@other.example', { teamId: 'other' });
  await Promise.all([other, ...crowd]);
  const turns = countEach(arrivedBefore('o@other.example').map(([address]) => Number(address.slice(1)) % 50));
  // The backlog of each team is twelve: a team that comes later waits for a turn of each, not for their backlogs.
  expect(Math.max(...turns.values())).toBeLessThanOrEqual(2);
  expect(scene.sink.counts.accepted).toBe(601);
});

test('mail for another host at the address gets its turn among the domains that share its connections', async () => {
  const zones = { ...SHARED, 'own.example': { MX: ['10 own.mx'] }, 'own.mx': { A: ['127.0.0.1'] } };
  await given({ zones, deliver: { limits: { connectionsPerAddressMax: 1 } } });
  const first = scene.send('slow@d0.example', { teamId: 'team_0' });
  await scene.sink.waitFor((sink) => sink.counts.data === 1);
  const crowd = many(200).map((n) => scene.send(`c${n}@d${n % 10}.example`, { teamId: `team_${n % 3}` }));
  await untilPool({ waiting: 200 });
  const other = scene.send('o@own.example', { teamId: 'other' });
  await untilPool({ waiting: 201 });
  scene.sink.openGate();
  await Promise.all([first, other, ...crowd]);
  // It waits for no name's backlog, and nobody opens a new connection for each message.
  expect(arrivedBefore('o@own.example').length).toBeLessThan(crowd.length / 2);
  expect(scene.sink.counts.connections).toBeLessThan(10);
});

test('a site where a team uses all of its connections does not block another site at the same address', async () => {
  const zones = { ...SHARED, 'small.example': { MX: ['10 small.mx'] }, 'small.mx': { A: ['127.0.0.1'] } };
  await given({ zones, deliver: { limits: { connectionsPerAddressMax: 6, connectionsPerSiteMax: 4 } } });
  const crowd = many(300).map((n) => scene.send(`c${n}@large.example`));
  await scene.sink.waitFor(1);
  await Promise.all([scene.send('o@small.example'), ...crowd]);
  // It waits for a connection, not for the end of the other destination.
  expect(arrivedBefore('o@small.example').length).toBeLessThan(crowd.length / 2);
});

test('teams that wait for one destination get their turns', async () => {
  await given({ deliver: { limits: { connectionsPerSiteMax: 1 } } });
  const first = scene.send('slow@y.example', { teamId: 'crowd' });
  await scene.sink.waitFor((sink) => sink.counts.data === 1);
  const crowd = many(5).map((n) => scene.send(`c${n}@y.example`, { teamId: 'crowd' }));
  const other = scene.send('o@y.example', { teamId: 'other' });
  scene.sink.openGate();
  await Promise.all([first, ...crowd, other]);
  // The other team does not wait for the backlog of the first: that has one turn at most before it.
  const before = arrivedBefore('o@y.example').filter(([name]) => name !== 'slow');
  expect(before.length).toBeLessThanOrEqual(1);
});

test('bulk mail that waits for a destination leaves the next connection to the other mail of its team', async () => {
  await given({ deliver: { limits: { connectionsPerSiteMax: 1 } } });
  const first = scene.send('slow@y.example', { teamId: 'crowd', isBulk: true });
  await scene.sink.waitFor((sink) => sink.counts.data === 1);
  const news = many(6).map((n) => scene.send(`n${n}@y.example`, { teamId: 'crowd', isBulk: true }));
  const resets = many(6).map((n) => scene.send(`r${n}@y.example`, { teamId: 'crowd' }));
  scene.sink.openGate();
  await Promise.all([first, ...news, ...resets]);
  const order = scene.sink.messages.map((message) => message.rcptTo[0]?.[0]);
  expect(order.lastIndexOf('r')).toBeLessThan(order.indexOf('n'));
});

test('bulk mail that waits for an address leaves the next opening to the other mail of its team', async () => {
  await given({ zones: apart(4), deliver: { limits: { connectionsTotalMax: 1 } } });
  const first = scene.send('slow@y.example', { teamId: 'crowd', isBulk: true });
  await scene.sink.waitFor((sink) => sink.counts.data === 1);
  const others = await Promise.all(many(4).map((n) => scene.anotherSink(`127.0.1.${n + 1}`, {})));
  const order: ('bulk' | 'transactional')[] = [];
  const send = (to: string, isBulk: boolean): Promise<void> =>
    scene.send(to, { teamId: 'crowd', isBulk }).then(() => void order.push(isBulk ? 'bulk' : 'transactional'));
  const news = [0, 1].map((n) => send(`n@alone${n}.example`, true));
  const resets = [2, 3].map((n) => send(`r@alone${n}.example`, false));
  scene.sink.openGate();
  await Promise.all([first, ...news, ...resets]);
  expect(order.lastIndexOf('transactional')).toBeLessThan(order.indexOf('bulk'));
  expect(others.map((sink) => sink.counts.accepted)).toEqual([1, 1, 1, 1]);
});

test('connections that are not greeted leave room for mail whose connections are', async () => {
  const clock = createManualClock();
  await given({ zones: apart(12), deliver: { clock, limits: { connectionsTotalMax: 8 } } });
  const silent = await Promise.all(many(12).map((n) => scene.anotherSink(`127.0.1.${n + 1}`, { greeting: 'silent' })));
  const stuck = many(12).map((n) => scene.send(`x@alone${n}.example`, { teamId: 'crowd' }));
  await vi.waitUntil(() => silent.filter((sink) => sink.open > 0).length === 2, { interval: 1 });
  // Half of the places are for openings, and a team has half of those.
  expect(scene.delivery.stats()).toMatchObject({ connections: 2, waiting: 12 });
  expect(await scene.send('a@y.example', { teamId: 'other' })).toEqual([delivered('a@y.example')]);
  await scene.delivery.close(0);
  expect((await Promise.all(stuck)).flat().every((outcome) => outcome.kind === 'deferred')).toBe(true);
});

test('other names for a mail server do not use up the connections that it takes', async () => {
  const names = many(12);
  const zones = {
    ...Object.fromEntries(names.map((n) => [`alias${n}.example`, { MX: [`10 mx.alias${n}.example`] }])),
    ...Object.fromEntries(names.map((n) => [`mx.alias${n}.example`, { A: ['127.0.0.1'] }])),
    'y.example': { MX: [`10 ${MX}`] },
    [MX]: { A: ['127.0.0.1'] },
  };
  const script = (command: string): string | undefined =>
    command.startsWith('EHLO') && scene.sink.open > 4 ? '421 4.7.0 Too many connections from your address' : undefined;
  await given({ zones, sink: { script } });
  let isOver = false;
  const refused: RecipientOutcome[] = [];
  const sendOn = async (n: number): Promise<void> => {
    while (!isOver && refused.length === 0)
      refused.push(
        ...(await scene.send(`a@alias${n}.example`, { teamId: 'crowd' })).filter(({ kind }) => kind !== 'delivered'),
      );
  };
  const crowd = names.map(sendOn);
  await scene.sink.waitFor((sink) => sink.counts.accepted >= 100 || refused.length > 0);
  for (const n of many(20)) expect(await scene.send(`b${n}@y.example`)).toEqual([delivered(`b${n}@y.example`)]);
  isOver = true;
  await Promise.all(crowd);
  expect(refused).toEqual([]);
});

test('two busy sites that share the connections of a team evenly keep them, and a third site gets one', async () => {
  await given({ zones: apart(3), deliver: { limits: { connectionsTotalMax: 8 } } });
  const sinks = await Promise.all(many(3).map((n) => scene.anotherSink(`127.0.1.${n + 1}`)));
  const sendTo = (site: number, count: number) =>
    many(count).map((n) => scene.send(`x${n}@alone${site}.example`, { teamId: 'busy' }));
  // A team alone has half of the eight connections, two for each of the busy sites.
  await Promise.all([...sendTo(0, 100), ...sendTo(1, 100), ...sendTo(2, 5)]);
  expect(sinks.map((sink) => sink.messages.length)).toEqual([100, 100, 5]);
  for (const sink of sinks) {
    expect(sink.counts.connections).toBeGreaterThan(0);
    expect(sink.counts.connections).toBeLessThanOrEqual(5);
  }
});
