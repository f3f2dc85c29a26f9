// A clock that is set forward or back must not delay mail: nothing waits for a time that only a wrong clock has known.
import { expect, it, vi } from 'vitest';
import { claimDeliveries, type ClaimRequest } from '../../src/mail/queue/claim.ts';
import { nextDueAt, teamsWithDue } from '../../src/mail/queue/deliveries.store.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { sceneFor, startWebhookReceiver } from '../rig/webhook-receiver.ts';
import { HOUR, mailIn, SECOND } from './mail.ts';
import { hookAt } from './webhook-scene.ts';

const MINUTE = 60 * SECOND;
const DAY = 24 * HOUR;

const timesIn = (rows: { created_at: string }[]): number[] => rows.map((row) => Date.parse(row.created_at));
const arrivedAt = (scene: Scene): string[] => scene.sink.messages.flatMap((message) => message.rcptTo).sort();

/** Sets the clock, and lets the process notice it. */
async function setClock(scene: Scene, ms: number): Promise<void> {
  scene.clock.step(ms);
  scene.clock.advance(5 * SECOND);
  await scene.settled();
}

const operators = new WeakMap<Scene, string>();

async function fetchFinding(scene: Scene): Promise<{ code: string; summary: string } | undefined> {
  const key = operators.get(scene) ?? (await scene.operator());
  operators.set(scene, key);
  const { body } = await scene.api('GET', '/operator/findings', { key });
  return body.findings.find((finding: { code: string }) => finding.code === 'clock_stepped');
}

it.each([20 * MINUTE, 30 * DAY])(
  'mail that is sent after the clock was set back by %d ms arrives at once, with correct times throughout',
  async (ahead) => {
    await using scene = await startScene();
    scene.clock.step(ahead);
    const mail = await mailIn(scene);
    const before = await mail.send('ahead@one.example');
    await scene.settled();
    const wrong = scene.clock.now();
    scene.clock.step(-ahead);
    const right = scene.clock.now();
    const after = await mail.send(['back@one.example', 'back@two.example']);
    await scene.settled();

    expect(arrivedAt(scene)).toEqual(['ahead@one.example', 'back@one.example', 'back@two.example']);
    const read = async (target: string) => (await scene.api('GET', target, { key: mail.team.key })).body;
    expect(Date.parse((await read(`/emails/${before}`)).created_at)).toBe(wrong);
    expect(Date.parse((await read(`/emails/${after}`)).created_at)).toBe(right);
    const events = await scene.events(after);
    expect(new Set(events.map((event) => event.at))).toEqual(new Set([right]));
    const contact = { email: 'ada@example.org' };
    await scene.api('POST', '/contacts', { key: mail.team.key, body: contact });
    expect(timesIn((await read('/contacts')).data)).toEqual([right]);
    await vi.waitFor(async () => {
      const logs = timesIn((await read('/logs?limit=100')).data);
      expect(logs.filter((at) => at === right).length).toBeGreaterThan(0);
      expect(Math.max(...logs.slice(0, 2))).toBe(right);
    });
    await scene.api('POST', '/api-keys', { key: mail.team.key, body: { name: 'After the step' } });
    expect(timesIn((await read('/audit')).data)[0]).toBe(right);
  },
);

it('mail accepted while the clock was ahead is claimed once it is right, oldest first, and scheduled mail keeps its time', async () => {
  await using scene = await startScene({ roles: ['http'] });
  const { world } = scene.app;
  const mail = await mailIn(scene);
  const scheduledAt = scene.clock.now() + 31 * DAY - HOUR;
  scene.clock.step(30 * DAY);
  const scheduled = await mail.send('later@one.example', { scheduled_at: new Date(scheduledAt).toISOString() });
  const first = await mail.send('first@one.example');
  scene.clock.advance(1000);
  const second = await mail.send('second@one.example');
  scene.clock.step(-30 * DAY);
  const third = await mail.send('third@one.example');
  const claim = async (more: Partial<ClaimRequest> = {}): Promise<string[]> => {
    const request = { owner: 'a test', limit: 2, lane: 0, ...more } as const;
    const { claimed } = await world.db.tx((tx) => claimDeliveries(world, tx, request));
    return claimed.map(({ row }) => row.email_id).sort();
  };
  expect(await teamsWithDue(world.db, { lane: 0, now: scene.clock.now() })).toEqual([mail.team.id]);
  expect((await nextDueAt(world.db, 'a test', scene.clock.now()))[0]).toBe(scene.clock.now());
  // Older mail comes after what the right clock has accepted, by the times in its rows.
  expect(await claim()).toEqual([first, third].sort());
  expect(await claim({ share: { atLimit: undefined, isBehind: false } })).toEqual([second]);
  expect(await claim()).toEqual([]);
  expect((await nextDueAt(world.db, 'a test', scene.clock.now()))[0]).toBe(scheduledAt);
  scene.clock.step(scheduledAt - scene.clock.now() - 1);
  expect(await claim({ share: { atLimit: undefined, isBehind: false } })).toEqual([]);
  scene.clock.step(1);
  expect(await claim()).toEqual([scheduled]);
});

it('a retry waits its normal time, and not until the time of a clock that was ahead', async () => {
  await using scene = await startScene();
  const mail = await mailIn(scene);
  await setClock(scene, 30 * DAY);
  const wrong = await mail.send('tempfail-once+wrong@one.example');
  await scene.settled();
  scene.clock.step(-30 * DAY);
  const right = await mail.send('tempfail-once+right@one.example');
  await scene.settled();
  expect((await mail.account(wrong)).state).toBe('delivery_delayed');
  // The step is noticed, and times that the clock wrote while it was ahead are corrected.
  scene.clock.advance(5 * SECOND);
  await vi.waitFor(async () => {
    await scene.settled();
    expect((await mail.account(wrong)).state).toBe('delivered');
  });
  expect((await mail.account(right)).state).toBe('delivery_delayed');
  // The mail server greylists, which is waited for five minutes.
  scene.clock.advance(6 * MINUTE);
  await scene.settled();
  expect((await mail.account(right)).state).toBe('delivered');
});

it('webhook events that failed while the clock was ahead are retried once it is right', async () => {
  await using receiver = await startWebhookReceiver();
  await using scene = await startScene(sceneFor(receiver));
  receiver.publishIn(scene.dns);
  const mail = await mailIn(scene);
  await hookAt(scene, mail.team, receiver.url());
  await setClock(scene, 30 * DAY);
  receiver.reply(500);
  await mail.send('one@one.example');
  await scene.settled();
  const tried = receiver.requests.length;
  receiver.reply(200);
  await setClock(scene, -30 * DAY);
  await vi.waitFor(async () => {
    await scene.settled();
    expect(receiver.requests.length).toBe(2 * tried);
  });
  expect(tried).toBeGreaterThan(0);
});

it('paging returns each row once, newest first, when the clock was set back between the rows', async () => {
  await using scene = await startScene({ roles: ['http'] });
  const mail = await mailIn(scene);
  const sent: string[] = [];
  for (const step of [HOUR, -2 * HOUR, 30 * DAY, -30 * DAY]) {
    for (let n = 0; n < 3; n++) sent.push(await mail.send(`${step}-${n}@one.example`));
    scene.clock.step(step);
  }
  const seen: string[] = [];
  for (let after: string | undefined; ; after = seen.at(-1)) {
    const from = after === undefined ? '' : `&after=${after}`;
    const { body } = await scene.api('GET', `/emails?limit=2${from}`, { key: mail.team.key });
    seen.push(...body.data.map((email: { id: string }) => email.id));
    if (!body.has_more) break;
  }
  expect(seen).toEqual(sent.toReversed());
});

it('a clock step is logged once and is a finding for a day, and NTP slewing is not', async () => {
  await using scene = await startScene({ roles: ['http', 'delivery'] });
  const steps = (): string[] => scene.log.filter((line) => line.includes('The clock of this machine'));
  const pass = (ms: number): void => scene.clock.advance(ms);
  for (let n = 0; n < 20; n++) {
    scene.clock.step(-4 * SECOND);
    pass(5 * SECOND);
  }
  expect([steps(), await fetchFinding(scene)]).toEqual([[], undefined]);

  scene.clock.step(-20 * MINUTE);
  pass(30 * SECOND);
  expect(steps()).toHaveLength(1);
  expect(await fetchFinding(scene)).toMatchObject({
    severity: 'warning',
    summary: expect.stringContaining('set back by 20 minutes'),
  });

  scene.clock.step(30 * DAY);
  pass(MINUTE);
  expect(steps()).toHaveLength(2);
  expect((await fetchFinding(scene))?.summary).toContain('went forward by 30 days');
  pass(DAY - 2 * MINUTE);
  expect(await fetchFinding(scene)).toBeDefined();
  pass(2 * MINUTE);
  expect([steps().length, await fetchFinding(scene)]).toEqual([2, undefined]);
});

it('a clock that was set back is a finding for as long as entries may be dated in the future', async () => {
  await using scene = await startScene({ roles: ['http', 'delivery'] });
  scene.clock.step(-3 * DAY);
  scene.clock.advance(MINUTE);
  scene.clock.advance(3 * DAY - 5 * MINUTE);
  expect((await fetchFinding(scene))?.summary).toContain('Entries from before may have times in the future');
  scene.clock.advance(10 * MINUTE);
  expect(await fetchFinding(scene)).toBeUndefined();
});

it('a corrected clock is reported again at each start, also after new mail, until the time has caught up', async () => {
  await using scene = await startScene();
  const mail = await mailIn(scene);
  scene.clock.step(2 * DAY);
  const ahead = await mail.send('ahead@one.example');
  await scene.settled();
  await setClock(scene, -2 * DAY);
  await mail.send('between@one.example');
  await scene.settled();
  const listed = async (): Promise<string[]> =>
    (await scene.api('GET', '/emails', { key: mail.team.key })).body.data.map((email: { id: string }) => email.id);
  for (let n = 0; n < 2; n++) {
    await scene.restart();
    const after = await mail.send(`after${n}@one.example`);
    await scene.settled();
    const ids = await listed();
    expect(ids.indexOf(ahead), 'the list shows the entries with times in the future first').toBeLessThan(
      ids.indexOf(after),
    );
    const { summary } = (await fetchFinding(scene)) ?? {};
    expect(summary).toContain('2 days ahead of the clock');
    expect(summary).toContain('Until the clock has caught up, lists show newer entries after those');
  }
  scene.clock.step(2 * DAY + MINUTE);
  await mail.send('caught-up@one.example');
  await scene.settled();
  await scene.restart();
  expect(await fetchFinding(scene)).toBeUndefined();
});

it('a clock that was corrected while no process ran is reported at the start', async () => {
  await using scene = await startScene();
  const mail = await mailIn(scene);
  await scene.restart();
  expect(await fetchFinding(scene)).toBeUndefined();
  await mail.send('tempfail-once@one.example');
  await scene.settled();
  scene.clock.step(2 * DAY);
  await mail.send('tempfail-once+ahead@one.example');
  await scene.settled();
  scene.clock.step(-2 * DAY);
  await scene.restart();
  expect((await fetchFinding(scene))?.summary).toContain('2 days ahead of the clock');
  await vi.waitFor(async () => {
    await scene.settled();
    expect(arrivedAt(scene)).toContain('tempfail-once+ahead@one.example');
  });
});
