// the settings of circuit breakers: what trips by default, transactional mail, switched off, two nodes
import { expect, it, onTestFinished } from 'vitest';
import { startApp } from '../../src/app.ts';
import { addStreamCounts, sumStream } from '../../src/mail/stream-rates/index.ts';
import { createLog } from '../../src/platform/log/index.ts';
import { driver } from '../rig/database.ts';
import { startScene, type Scene, type SceneOptions } from '../rig/scene.ts';
import { sceneFor, startWebhookReceiver } from '../rig/webhook-receiver.ts';
import { campaignIn } from './campaign.ts';
import {
  BREAKER_SETTINGS,
  complain,
  deliver,
  describeStates,
  evaluate,
  listArrived,
  listTeamBreakers,
  listLimitEvents,
  many,
  recordOutcomes,
} from './breakers-desk.ts';
import { hookAt } from './webhook-scene.ts';
import { HOUR, mailIn, MINUTE, SECOND } from './mail.ts';

const DAY = 24 * HOUR;

async function open(config: SceneOptions['config']): Promise<{ scene: Scene; operator: string }> {
  const scene = await startScene({
    startAt: '2026-11-30T09:10:00Z',
    networkWaits: 'by hand',
    roles: ['http', 'delivery', 'receiving'],
    ...(config ? { config } : {}),
  });
  onTestFinished(() => scene.close());
  return { scene, operator: await scene.operator() };
}

it('1 complaint of 100 and 2 of 1,000 trip no breaker by default, 5 of 4,000 slow mail down, and 13 pause it', async () => {
  const { scene, operator } = await open(undefined);
  const readStates = async (counts: Parameters<typeof recordOutcomes>[2]): Promise<string[]> => {
    const mail = await mailIn(scene);
    await recordOutcomes(scene, mail, counts);
    await evaluate(scene);
    return describeStates(await listTeamBreakers(scene, mail.team, operator));
  };
  expect(await readStates({ accepted: 100, complained: 1 })).toEqual([]);
  expect(await readStates({ accepted: 1000, complained: 2 })).toEqual([]);
  expect(await readStates({ accepted: 1000, bounced: 50 })).toEqual([]);
  expect(await readStates({ accepted: 4000, complained: 5 })).toEqual(['domain everywhere slow', 'domain google slow']);
  expect(await readStates({ accepted: 4000, complained: 13 })).toEqual([
    'domain everywhere paused',
    'domain google paused',
  ]);
});

it('outcomes of more than a day ago, and of domains without a bounce or complaint lately, trip no breaker', async () => {
  const { scene, operator } = await open(undefined);
  const mail = await mailIn(scene);
  await recordOutcomes(scene, mail, { accepted: 1000, complained: 50 });
  scene.clock.advance(24 * HOUR);
  await recordOutcomes(scene, mail, { accepted: 1000, complained: 1 });
  await evaluate(scene);
  expect(await listTeamBreakers(scene, mail.team, operator)).toEqual([]);
});

it('a probe is judged by new outcomes only, and mail that is not sent ends it after the window', async () => {
  const { scene, operator } = await open(undefined);
  const mail = await mailIn(scene);
  const readStates = async (): Promise<string[]> => {
    await evaluate(scene);
    return describeStates(await listTeamBreakers(scene, mail.team, operator));
  };
  await recordOutcomes(scene, mail, { accepted: 1000, complained: 50 });
  expect(await readStates()).toEqual(['domain everywhere paused', 'domain google paused']);
  // Complaints about mail from before the pause may be late.
  await recordOutcomes(scene, mail, { complained: 50 });
  scene.clock.advance(HOUR);
  expect(await readStates()).toEqual(['domain everywhere probing', 'domain google probing']);
  await recordOutcomes(scene, mail, { complained: 2 });
  scene.clock.advance(23 * HOUR);
  expect(await readStates()).toEqual(['domain everywhere probing', 'domain google probing']);
  scene.clock.advance(HOUR);
  expect(await readStates()).toEqual(['domain everywhere recovering', 'domain google recovering']);
  expect((await listTeamBreakers(scene, mail.team, operator)).map(({ bad_recipients: bad }) => bad)).toEqual([50, 50]);
});

it('a breaker that is evaluated three times at once trips once', async () => {
  const { scene } = await open(undefined);
  const mail = await mailIn(scene);
  await recordOutcomes(scene, mail, { accepted: 1000, complained: 50 });
  await Promise.all([evaluate(scene), evaluate(scene), evaluate(scene)]);
  expect(await listLimitEvents(scene, mail.domain.id)).toHaveLength(2);
});

it('the limits of a domain hold until their time although the domain was deleted, and end then', async () => {
  const { scene, operator } = await open(undefined);
  const mail = await mailIn(scene);
  await recordOutcomes(scene, mail, { accepted: 1000, complained: 50 });
  await evaluate(scene);
  await scene.api('DELETE', `/domains/${mail.domain.id}`, { key: mail.team.key });
  scene.clock.advance(30 * MINUTE);
  await evaluate(scene);
  expect(await listTeamBreakers(scene, mail.team, operator)).toHaveLength(2);
  const { db } = scene.app.world;
  const listSenders = () => db.all<{ sender_domain: string }>('select distinct sender_domain from throttles', []);
  expect(await listSenders()).toEqual([{ sender_domain: mail.domain.name }]);
  scene.clock.advance(30 * MINUTE);
  await evaluate(scene);
  expect(await listTeamBreakers(scene, mail.team, operator)).toEqual([]);
  expect(await listSenders()).toEqual([]);
});

it('a domain that is deleted and added again is tried after its pause, and paused for longer the next time', async () => {
  const { scene, operator } = await open(undefined);
  const mail = await mailIn(scene);
  const readStates = async (): Promise<string[]> => {
    await evaluate(scene);
    return describeStates(await listTeamBreakers(scene, mail.team, operator));
  };
  await recordOutcomes(scene, mail, { accepted: 1000, complained: 50 });
  expect(await readStates()).toEqual(['domain everywhere paused', 'domain google paused']);
  await scene.api('DELETE', `/domains/${mail.domain.id}`, { key: mail.team.key });
  const again = { ...mail, domain: await mail.team.domain(mail.domain.name) };
  expect(await readStates()).toEqual(['domain everywhere paused', 'domain google paused']);
  scene.clock.advance(HOUR);
  expect(await readStates()).toEqual(['domain everywhere probing', 'domain google probing']);
  await recordOutcomes(scene, again, { accepted: 100, complained: 20 });
  // For the team, mail of the domain that was deleted is that of a second domain.
  expect(await readStates()).toEqual(['domain everywhere paused', 'domain google paused', 'team everywhere paused']);
  for (const { scope, trips, until } of await listTeamBreakers(scene, mail.team, operator)) {
    if (scope === 'team') continue;
    expect(trips).toBe(2);
    expect(Date.parse(until)).toBe(scene.clock.now() + 2 * HOUR);
  }
});

it('the limit of a team holds for a domain that was added since and has sent nothing yet', async () => {
  const { scene, operator } = await open(undefined);
  const mail = await mailIn(scene);
  const second = { ...mail, domain: await mail.team.domain() };
  for (const one of [mail, second]) await recordOutcomes(scene, one, { accepted: 1000, complained: 50 });
  await evaluate(scene);
  const added = await mail.team.domain();
  scene.clock.advance(HOUR);
  await evaluate(scene);
  expect(describeStates(await listTeamBreakers(scene, mail.team, operator))).toContain('team everywhere probing');
  const rows = await scene.app.world.db.all<{ kind: string; value: number }>(
    'select kind, value from throttles where sender_domain = ?',
    [added.name],
  );
  expect(rows).toEqual([{ kind: 'rate', value: 10 }]);
});

it('outcomes that a clock which was ahead counted are left out until they are corrected, and count from then on', async () => {
  const { scene, operator } = await open(undefined);
  const mail = await mailIn(scene);
  const { db, ids, clock } = scene.app.world;
  scene.clock.step(60 * DAY);
  await recordOutcomes(scene, mail, { accepted: 300, complained: 10 });
  await db.tx((tx) =>
    addStreamCounts(tx, ids, clock.now(), [
      { teamId: mail.team.id, stream: 'broadcast', delivered: 300, bounced: 0, complained: 10 },
    ]),
  );
  scene.clock.step(-60 * DAY);
  await evaluate(scene);
  expect(await listTeamBreakers(scene, mail.team, operator)).toEqual([]);
  expect(await sumStream(db, mail.team.id, 'broadcast', clock.now())).toMatchObject({ complained: 0 });
  await scene.app.jobs.find(({ name }) => name === 'correct-times')?.run(new AbortController().signal);
  await evaluate(scene);
  expect(describeStates(await listTeamBreakers(scene, mail.team, operator))).toEqual([
    'domain everywhere paused',
    'domain google paused',
  ]);
  expect(await sumStream(db, mail.team.id, 'broadcast', clock.now())).toMatchObject({ complained: 10 });
  // Only the window later, they count no more.
  for (let hour = 0; hour < 26; hour++) {
    scene.clock.advance(HOUR);
    await recordOutcomes(scene, mail, { accepted: 100 });
    await evaluate(scene);
  }
  for (let step = 0; step < 10; step++) {
    scene.clock.advance(5 * MINUTE);
    await evaluate(scene);
  }
  expect(await listTeamBreakers(scene, mail.team, operator)).toEqual([]);
});

it('a release while the clock was ahead hides no complaints after it was set back', async () => {
  const { scene, operator } = await open(undefined);
  const mail = await mailIn(scene);
  await recordOutcomes(scene, mail, { accepted: 300, complained: 10 });
  await evaluate(scene);
  scene.clock.step(20 * DAY);
  for (const { id } of await listTeamBreakers(scene, mail.team, operator)) {
    const body = { reason: 'The list was cleaned' };
    expect((await scene.api('POST', `/operator/breakers/${id}/release`, { key: operator, body })).status).toBe(200);
  }
  scene.clock.step(-20 * DAY);
  await evaluate(scene);
  expect(await listTeamBreakers(scene, mail.team, operator)).toEqual([]);
  scene.clock.advance(HOUR);
  await recordOutcomes(scene, mail, { accepted: 300, complained: 10 });
  await evaluate(scene);
  expect(describeStates(await listTeamBreakers(scene, mail.team, operator))).toEqual([
    'domain everywhere paused',
    'domain google paused',
  ]);
});

it('a release at the moment of an evaluation ends the limits, whichever of them is written first', async () => {
  const { scene, operator } = await open(undefined);
  const mail = await mailIn(scene);
  await recordOutcomes(scene, mail, { accepted: 300, complained: 10 });
  await evaluate(scene);
  const [breaker] = await listTeamBreakers(scene, mail.team, operator);
  scene.clock.advance(HOUR + MINUTE);
  const { db } = scene.app.world;
  const get = db.get.bind(db);
  let isEvaluated = false;
  db.get = async <Row>(sql: string, values: Parameters<typeof get>[1]) => {
    const row = await get<Row>(sql, values);
    if (!isEvaluated && sql.startsWith('select * from breakers where id')) {
      isEvaluated = true;
      await evaluate(scene);
    }
    return row;
  };
  onTestFinished(() => void (db.get = get));
  const { status, body } = await scene.api('POST', `/operator/breakers/${breaker?.id}/release`, {
    key: operator,
    body: { reason: 'The list was cleaned' },
  });
  expect([isEvaluated, status, body.breaker.state]).toEqual([true, 200, 'closed']);
  expect((await listTeamBreakers(scene, mail.team, operator)).map(({ id }) => id)).not.toContain(breaker?.id);
});

it('transactional mail is judged and paused by its own figures if the settings say so', async () => {
  const { scene, operator } = await open({
    ...BREAKER_SETTINGS,
    breakers: { ...BREAKER_SETTINGS.breakers, transactional: true },
  });
  const mail = await mailIn(scene);
  const send = async (to: readonly string[], subject: string): Promise<void> => {
    for (const address of to) await mail.send(address, { subject });
    await deliver(scene);
  };
  const readers = many(20, 'reader', 'acme.example');
  await send(readers, 'Receipt');
  await complain(scene, 'Receipt', readers.slice(0, 6));
  await evaluate(scene);
  expect(describeStates(await listTeamBreakers(scene, mail.team, operator))).toEqual([
    'domain acme paused',
    'domain everywhere paused',
  ]);
  expect(await listLimitEvents(scene, mail.domain.id)).toContain('paused transactional acme complaints');
  await send(['person@acme.example'], 'Second receipt');
  expect(listArrived(scene, 'Second receipt')).toEqual([]);
  const campaign = await campaignIn(scene);
  await campaign.addContacts(['person@acme.example']);
  await campaign.broadcast({ subject: 'Marketing of others' });
  await deliver(scene);
  expect(listArrived(scene, 'Marketing of others')).toHaveLength(1);
  // Without the setting, the limits of transactional mail end.
  await scene.restart({ breakers: { transactional: false } });
  await evaluate(scene);
  await deliver(scene);
  scene.clock.advance(10 * SECOND);
  await deliver(scene);
  expect(listArrived(scene, 'Second receipt')).toEqual(['person@acme.example']);
});

it('all limits end once breakers are switched off, and none begins', async () => {
  const { scene, operator } = await open(undefined);
  const mail = await mailIn(scene);
  await recordOutcomes(scene, mail, { accepted: 1000, complained: 50 });
  await evaluate(scene);
  await scene.restart({ breakers: { enabled: false } });
  await recordOutcomes(scene, mail, { accepted: 1000, complained: 50 });
  await evaluate(scene);
  expect(await listTeamBreakers(scene, mail.team, operator)).toEqual([]);
  expect((await listLimitEvents(scene, mail.domain.id)).filter((event) => event.startsWith('resumed'))).toHaveLength(2);
  expect(await scene.app.world.db.all('select id from throttles', [])).toEqual([]);
});

it('an endpoint of the team is sent what was limited, with the figures, and when the limit ended', async () => {
  await using receiver = await startWebhookReceiver();
  await using scene = await startScene(sceneFor(receiver, { startAt: '2026-11-30T13:20:00Z' }));
  receiver.publishIn(scene.dns);
  const operator = await scene.operator();
  const mail = await mailIn(scene);
  await hookAt(scene, mail.team, receiver.url('/hook'), ['domain.sending_limited', 'domain.sending_resumed']);
  await recordOutcomes(scene, mail, { accepted: 4000, complained: 20 });
  await evaluate(scene);
  await scene.settled();
  const common = {
    id: mail.domain.id,
    name: mail.domain.name,
    stream: 'marketing',
    scope: 'domain',
    cause: 'complaints',
  };
  const listPayloads = () =>
    receiver.requests
      .filter(({ path }) => path === '/hook')
      .map(({ payload: { type, data } }) => ({ type, data }))
      .filter(({ type }) => type.startsWith('domain.'));
  const limited = (provider: string | null) => ({
    type: 'domain.sending_limited',
    data: {
      ...common,
      provider,
      action: 'paused',
      messages_per_minute: null,
      bad_recipients: 20,
      recipients: 4000,
      window_hours: 24,
      since: '2026-11-30T13:20:00.000Z',
      until: '2026-11-30T14:20:00.000Z',
    },
  });
  expect(listPayloads()).toHaveLength(2);
  expect(listPayloads()).toEqual(expect.arrayContaining([limited('google'), limited(null)]));
  const [breaker] = (await listTeamBreakers(scene, mail.team, operator)).filter(
    ({ provider }) => provider === 'google',
  );
  await scene.api('POST', `/operator/breakers/${breaker?.id}/release`, {
    key: operator,
    body: { reason: 'A mistake' },
  });
  await scene.settled();
  expect(listPayloads().at(-1)).toEqual({ type: 'domain.sending_resumed', data: { ...common, provider: 'google' } });
});

it('a limit that is left of a team which was deleted ends with the next evaluation', async () => {
  const { scene } = await open(undefined);
  const mail = await mailIn(scene);
  await recordOutcomes(scene, mail, { accepted: 1000, complained: 50 });
  await evaluate(scene);
  const { db } = scene.app.world;
  await db.tx((tx) => tx.run('delete from breakers where team_id = ?', [mail.team.id]));
  await db.tx((tx) => tx.run('delete from reputation_counts where team_id = ?', [mail.team.id]));
  await evaluate(scene);
  expect(await db.all('select id from throttles', [])).toEqual([]);
});

it('mail that leaves by a pool of sources is limited by breakers too, and says so', async () => {
  const { scene, operator } = await open({
    ...BREAKER_SETTINGS,
    sources: { first: { source_v4: '127.0.8.1' }, second: { source_v4: '127.0.8.2' } },
    pools: { main: { sources: ['first', 'second'] } },
  });
  const campaign = await campaignIn(scene);
  await campaign.addContacts([...many(24, 'a', 'acme.example'), ...many(60, 'b', 'zeta.example')]);
  await campaign.broadcast({ subject: 'First' });
  await deliver(scene);
  await complain(scene, 'First', many(8, 'a', 'acme.example'));
  await evaluate(scene);
  expect(describeStates(await listTeamBreakers(scene, campaign.team, operator))).toEqual(['domain acme paused']);
  await campaign.broadcast({ subject: 'Second' });
  const receipt = { from: `Example <hello@${campaign.domain.name}>`, to: ['p@acme.example'], subject: 'Receipt' };
  await campaign.call('POST', '/emails', { ...receipt, text: 'It works.' });
  await deliver(scene);
  expect(listArrived(scene, 'Receipt')).toHaveLength(1);
  expect(listArrived(scene, 'Second')).toHaveLength(60);
  const { body } = await scene.api('GET', '/operator/queue', { key: operator });
  const waiting = (body.destinations as { destination: string; waits_because: string | null }[]).find(
    ({ destination }) => destination === 'acme.example',
  );
  const queued = await scene.api('GET', '/operator/queue/deliveries?destination=acme.example&limit=1', {
    key: operator,
  });
  expect(waiting).toBeDefined();
  expect(queued.body.data[0].waits_because).toContain(`marketing mail from ${campaign.domain.name}`);
});

it('a closed breaker is forgotten after seven days', async () => {
  const { scene, operator } = await open(undefined);
  const mail = await mailIn(scene);
  await recordOutcomes(scene, mail, { accepted: 1000, complained: 50 });
  await evaluate(scene);
  for (const { id } of await listTeamBreakers(scene, mail.team, operator))
    await scene.api('POST', `/operator/breakers/${id}/release`, { key: operator, body: { reason: 'A mistake' } });
  const countRows = async (): Promise<number> => (await scene.app.world.db.all('select id from breakers', [])).length;
  await evaluate(scene);
  expect(await countRows()).toBe(2);
  scene.clock.advance(7 * 24 * HOUR);
  await evaluate(scene);
  expect(await countRows()).toBe(0);
});

// runs only on PostgreSQL, because SQLite bears one process.
it.runIf(driver === 'pg')('a breaker that one node trips holds at the other at once', async () => {
  const { scene, operator } = await open(BREAKER_SETTINGS);
  const campaign = await campaignIn(scene);
  // The contacts at the other provider keep the share of the domain low.
  await campaign.addContacts([...many(30, 'a', 'acme.example'), ...many(60, 'b', 'zeta.example')]);
  await campaign.broadcast({ subject: 'First' });
  await deliver(scene);
  const { config } = scene.app.world;
  const { clock } = scene;
  const log = createLog({ level: 'error', format: 'json', write: (line) => void scene.log.push(line) });
  const node = await startApp({
    config,
    dataDir: scene.dataDir,
    clock,
    networkClock: clock,
    log,
    roles: ['delivery'],
    version: '0.0.0-test',
  });
  onTestFinished(() => node.close(0));
  await complain(scene, 'First', many(8, 'a', 'acme.example'));
  await evaluate(scene);
  expect(describeStates(await listTeamBreakers(scene, campaign.team, operator))).toEqual(['domain acme paused']);
  // Only the other node delivers from now on.
  await scene.app.queue?.stop(0);
  await campaign.broadcast({ subject: 'Second' });
  const receipt = {
    from: `Example <hello@${campaign.domain.name}>`,
    to: ['p@acme.example'],
    subject: 'Receipt',
    text: 'It works.',
  };
  for (let second = 0; second < 20; second++) {
    clock.advance(SECOND);
    await Promise.all([node.queue?.idle(), scene.app.broadcasts?.idle(), node.broadcasts?.idle()]);
  }
  await campaign.call('POST', '/emails', receipt);
  const poll = (subject: string) =>
    expect.poll(
      () => {
        clock.advance(SECOND);
        return listArrived(scene, subject).length;
      },
      { timeout: 15_000 },
    );
  await poll('Receipt').toBe(1);
  await poll('Second').toBe(60);
  const second = listArrived(scene, 'Second');
  expect(second.filter((address) => address.endsWith('@acme.example'))).toEqual([]);
  const waiting = await scene.app.world.db.all("select id from deliveries where destination = 'acme.example'", []);
  expect(waiting.length).toBeGreaterThanOrEqual(20);
});
