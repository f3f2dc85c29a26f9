// The behavior of a mail server after its greeting counts as much as the greeting: one that breaks off is left alone.
import { afterEach, describe, expect, test } from 'vitest';
import type { Zones } from '../rig/dns.ts';
import { delivered, MX, setScene } from './deliver-scene.ts';
import type { Scene, SceneOptions } from './deliver-scene.ts';

let scene: Scene;
afterEach(() => scene.stop());

let now = 0;

const SHARED: Zones = { '*': { MX: [`10 ${MX}`] }, [MX]: { A: ['127.0.0.1'] } };
const many = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

async function given(options: SceneOptions = {}): Promise<void> {
  now = 1_000_000;
  scene = await setScene({ ...options, deliver: { now: () => now, random: () => 0.5, ...options.deliver } });
}

const answering =
  (verb: string, answer: string, isBroken = (): boolean => true) =>
  (command: string): string | undefined =>
    command.startsWith(verb) && isBroken() ? answer : undefined;

const BROKEN = [
  { how: 'garbage', answer: 'HTTP/1.1 200 OK', says: 'a reply line does not start with a code from 200 to 599' },
  { how: 'a line without end', answer: `250 ${'x'.repeat(5000)}`, says: 'a reply line is longer than 4096 bytes' },
  { how: 'a reply that changes its code', answer: '250-One\r\n550 Two', says: 'a reply changes its code' },
  {
    how: 'more replies than anything asked for',
    answer: '250 Ok\r\n'.repeat(300),
    says: /replied to DATA with 250 Ok|more than 128 replies/,
  },
];

describe.each(['MAIL', 'RCPT', 'DATA'])('a mail server that replies to %s with', (verb) => {
  test.each(BROKEN)('$how is avoided for growing times, under all its names', async ({ answer, says }) => {
    let isBroken = true;
    await given({ zones: SHARED, sink: { script: answering(verb, answer, () => isBroken) } });
    const [first] = await scene.send('a@one.example');
    expect(first).toMatchObject({ kind: 'deferred', reason: 'protocol_error', mx: MX });
    expect(first && 'detail' in first && first.detail).toMatch(says);
    const refused = await Promise.all(many(20).map((n) => scene.send('b@one.example', { teamId: `team_${n}` })));
    for (const [outcome] of refused) {
      expect(outcome).toMatchObject({ kind: 'deferred', reason: 'destination_down' });
      expect(outcome && 'detail' in outcome && outcome.detail).toMatch(says);
    }
    expect(await scene.send('c@two.example')).toMatchObject([{ reason: 'destination_down' }]);
    expect(scene.sink.counts.connections).toBe(1);
    now += 5_000;
    expect(await scene.send('a@one.example')).toMatchObject([{ reason: 'protocol_error' }]);
    now += 5_000;
    expect(await scene.send('a@one.example')).toMatchObject([{ reason: 'destination_down' }]);
    now += 5_000;
    isBroken = false;
    expect(await scene.send('a@one.example')).toEqual([delivered('a@one.example')]);
    expect(await scene.send('a@two.example')).toEqual([delivered('a@two.example')]);
  });
});

test('a mail server that closes the connection in the middle of a reply is avoided', async () => {
  await given({ sink: { pipelining: false, script: answering('MAIL', '250-Ok') } });
  const sent = scene.send('a@y.example');
  await scene.sink.waitFor((sink) => sink.commands.some((command) => command.startsWith('MAIL')));
  scene.sink.dropConnections();
  const [first] = await sent;
  expect(first).toMatchObject({ kind: 'deferred', reason: 'protocol_error' });
  expect(first && 'detail' in first && first.detail).toContain('in the middle of a reply');
  expect(await scene.send('b@y.example')).toMatchObject([{ reason: 'destination_down' }]);
  expect(scene.sink.counts.connections).toBe(1);
});

test('a mail server that breaks off after the final dot is avoided', async () => {
  await given({ sink: { script: answering('DATA', '354 Go\r\n999 Gone') } });
  await scene.send('a@y.example');
  expect(await scene.send('b@y.example')).toMatchObject([{ reason: 'destination_down' }]);
  expect(scene.sink.counts.connections).toBe(1);
});

describe.each([
  { how: '421', answer: '421 4.7.0 Try again later', reason: 'refused_for_now' },
  { how: 'nothing, and closes', answer: 'drop', reason: 'connection_lost' },
])('a mail server that replies $how', ({ answer, reason }) => {
  test.each(['MAIL', 'RCPT', 'DATA'])('to %s of one team is avoided by that team', async (verb) => {
    let isUp = false;
    await given({ sink: { script: answering(verb, answer, () => !isUp) } });
    const [first] = await scene.send('a@y.example', { teamId: 'crowd' });
    expect(first).toMatchObject({ kind: 'deferred', reason });
    const rest = await Promise.all(many(50).map(() => scene.send('a@y.example', { teamId: 'crowd' })));
    expect(new Set(rest.map(([outcome]) => outcome && 'reason' in outcome && outcome.reason))).toEqual(
      new Set(['destination_down']),
    );
    expect(scene.sink.counts.connections).toBe(1);
    const place = { domain: 'y.example', region: 'eu', tls: 'opportunistic' } as const;
    expect(scene.delivery.findObstacle({ ...place, teamId: 'crowd' })).toEqual({ kind: 'down' });
    expect(scene.delivery.findObstacle({ ...place, teamId: 'other' })).toBeUndefined();
    isUp = true;
    expect(await scene.send('b@y.example', { teamId: 'other' })).toEqual([delivered('b@y.example')]);
    expect(await scene.send('b@y.example', { teamId: 'crowd' })).toMatchObject([{ reason: 'destination_down' }]);
    now += 5_000;
    expect(await scene.send('b@y.example', { teamId: 'crowd' })).toEqual([delivered('b@y.example')]);
    expect(scene.delivery.findObstacle({ ...place, teamId: 'crowd' })).toBeUndefined();
  });
});

test('a mail server that replies to a team with 421 gets few connections, however many messages of the team wait', async () => {
  await given({ sink: { script: answering('MAIL', '421 4.7.0 Try again later') } });
  const outcomes = (await Promise.all(many(200).map((n) => scene.send(`a${n}@y.example`)))).flat();
  expect(outcomes.every((outcome) => outcome.kind === 'deferred')).toBe(true);
  expect(scene.sink.counts.connections).toBeLessThanOrEqual(20);
});

test('a mail server that refuses some messages continues to get the others', async () => {
  await given({ sink: { script: answering('MAIL FROM:<unwelcome', '421 4.7.0 Not from you') } });
  const slow = scene.send('slow@y.example');
  await scene.sink.waitFor((sink) => sink.counts.data === 1);
  expect(await scene.send('a@y.example', { mailFrom: 'unwelcome@x.example' })).toMatchObject([{ kind: 'deferred' }]);
  scene.sink.openGate();
  await slow;
  expect(await scene.send('b@y.example')).toEqual([delivered('b@y.example')]);
});

test('a message that we refuse ourselves does not count against the mail server', async () => {
  await given({ sink: { size: 1000, script: answering('MAIL FROM:<unwelcome', '421 4.7.0 Not from you') } });
  const unwelcome = (): Promise<unknown> =>
    scene.send('a@y.example', { teamId: 'crowd', mailFrom: 'unwelcome@x.example' });
  await unwelcome();
  now += 5_000;
  expect(await scene.send('b@y.example', { teamId: 'other' })).toEqual([delivered('b@y.example')]);
  const big = await scene.send('a@y.example', { teamId: 'crowd', body: 'x'.repeat(2000) });
  expect(big).toMatchObject([{ kind: 'bounced', reason: 'too_large' }]);
  expect(await unwelcome()).toMatchObject([{ reason: 'refused_for_now' }]);
  now += 5_000;
  expect(await unwelcome()).toMatchObject([{ reason: 'destination_down' }]);
  now += 5_000;
  expect(await unwelcome()).toMatchObject([{ reason: 'refused_for_now' }]);
});

describe('a reply to one message that breaks the protocol', () => {
  const zones: Zones = { ...SHARED, 'two.example': { MX: ['10 mx.two.example'] }, 'mx.two.example': SHARED[MX] ?? {} };
  test.each([
    { how: 'without a code', answer: '<private@one.example> is unknown', says: 'does not start with a code' },
    { how: 'with a code that fits no command', answer: '354 <private@one.example> go on', says: '354' },
  ])('$how is reported to its own team, and not to others', async ({ answer, says }) => {
    await given({ zones, sink: { pipelining: false, script: answering('RCPT TO:<private', answer) } });
    const own = await scene.send('private@one.example', { teamId: 'first' });
    expect(own).toMatchObject([{ reason: 'protocol_error', detail: expect.stringContaining(answer) as string }]);
    const others = await scene.send('b@two.example', { teamId: 'second' });
    expect(others).toMatchObject([{ reason: 'destination_down', detail: expect.stringContaining(says) as string }]);
    expect(JSON.stringify(others)).not.toContain('private');
    expect(JSON.stringify(await scene.send('b@one.example', { teamId: 'second' }))).not.toContain('private');
    expect(scene.sink.counts.connections).toBe(1);
  });
});
