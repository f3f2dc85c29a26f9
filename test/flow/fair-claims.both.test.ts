// Tests whose mail is claimed while more is due than can be delivered. The queue's network is a function.
import { EventEmitter, once } from 'node:events';
import path from 'node:path';
import { expect, it } from 'vitest';
import { createComposer } from '../../src/mail/compose/index.ts';
import type { Deliver, DeliveryJob, Obstacle } from '../../src/mail/deliver/index.ts';
import { createQueue, openHandOffLog, type Queue } from '../../src/mail/queue/index.ts';
import { UNMEASURED } from '../../src/platform/loop-delay.ts';
import { createCaptureMessage } from '../../src/mail/capture/index.ts';
import { nextTurn } from '../../src/platform/clock.ts';
import { createSettle } from '../../src/mail/settle/index.ts';
import { createImportLoop } from '../../src/features/audience/import-runner/run-import.ts';
import { createAutomationLoop } from '../../src/features/automations/runner/execute-run.ts';
import type { LeasedLoop } from '../../src/platform/work-loop/index.ts';
import { line, step, supply } from '../api/automations/graph.ts';
import { uploadIn } from '../api/contact-imports/importing.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { mailIn, MINUTE, type Mail } from './mail.ts';

/** Says `change` whenever a network has begun or delivered something. */
const watched = new EventEmitter();

interface Network {
  begun: DeliveryJob[];
  delivered: string[];
}

/** Never answers, but for these destinations: dead ones fail at once and are known to be down from then on. */
function createNetwork(options: { quick?: RegExp; dead?: RegExp }): Network & {
  deliver: Deliver;
  findObstacle(row: { destination: string }): Obstacle | undefined;
} {
  const down = new Set<string>();
  const network = { begun: [] as DeliveryJob[], delivered: [] as string[] };
  return {
    ...network,
    findObstacle: ({ destination }) => (down.has(destination) ? { kind: 'down' } : undefined),
    async deliver(job, { signal }) {
      network.begun.push(job);
      watched.emit('change');
      if (options.dead?.test(job.domain)) {
        down.add(job.domain);
        const detail = 'no connection';
        return job.recipients.map((address) => ({ kind: 'deferred', address, reason: 'unreachable', detail }));
      }
      if (!options.quick?.test(job.domain)) {
        if (!signal.aborted) await new Promise((stop) => signal.addEventListener('abort', stop));
        return job.recipients.map((address) => ({ kind: 'deferred', address, reason: 'stopping', detail: 'stopped' }));
      }
      network.delivered.push(...job.recipients);
      watched.emit('change');
      const reply = { code: 250, lines: ['ok'] };
      return job.recipients.map((address) => ({ kind: 'delivered', address, reply, mx: 'mx.test', tls: null }));
    },
  };
}

function openQueue(scene: Scene, network: ReturnType<typeof createNetwork>, isLate = false): Queue {
  const world = { ...scene.app.world, loopDelay: { ...UNMEASURED, recentMs: () => (isLate ? 100 : 0) } };
  const handOffLog = openHandOffLog(path.join(scene.dataDir, 'run'), world.ids.uuid(), { runtimeDir: scene.dataDir });
  const settle = createSettle(world, handOffLog.owner);
  const { deliver, findObstacle } = network;
  const queue = createQueue({
    world,
    deliver,
    obstacles: { findObstacle, dependsOnSender: false, giveUpMs: 48 * 3_600_000 },
    composer: createComposer(world),
    settle,
    handOffLog,
    isContended: () => false,
  });
  queue.start();
  return queue;
}

const POLL_MS = 50;

/**
 * The clock stands, so the polls are made here: beside a slow database a look that took long is
 * followed by a rest, and nothing else would end that.
 */
async function until(queue: Queue, holds: () => boolean): Promise<void> {
  while (!holds()) {
    await once(watched, 'change', { signal: AbortSignal.timeout(POLL_MS) }).catch(() => queue.wake());
  }
}

const LOOKS = 10;

/** Lets the queue look often enough to begin all that it may. */
async function lookAround(queue: Queue): Promise<void> {
  let looks = 0;
  await until(queue, () => looks++ >= LOOKS);
}

const many = (count: number): number[] => Array.from({ length: count }, (_, n) => n);

/** Sends to the addresses in batches, all of them due by `at` if it is given. */
async function sendAll(scene: Scene, mail: Mail, to: string[], at?: number): Promise<void> {
  for (let from = 0; from < to.length; from += 100) {
    const body = to.slice(from, from + 100).map((address) => ({
      from: `a@${mail.domain.name}`,
      to: [address],
      subject: 'Hello',
      text: 'It works.',
      ...(at === undefined ? {} : { scheduled_at: new Date(at).toISOString() }),
    }));
    const { status, text } = await scene.api('POST', '/emails/batch', { key: mail.team.key, body });
    if (status !== 200) throw new Error(text);
  }
}

async function runOnce(loop: Pick<LeasedLoop, 'start' | 'idle' | 'stop'>): Promise<void> {
  await loop.start();
  await loop.idle();
  await loop.stop(0);
}

it('the mail of one team is sent while another has a long backlog for silent servers', async () => {
  await using scene = await startScene({ roles: ['http'], config: { delivery: { max_in_flight: 40 } } });
  const crowd = await mailIn(scene);
  const other = await mailIn(scene);
  // Each to a destination of its own, so that no destination is at its limit.
  await sendAll(
    scene,
    crowd,
    many(300).map((n) => `x@silent${n}.example`),
  );
  const network = createNetwork({ quick: /quick/ });
  const queue = openQueue(scene, network);
  await until(queue, () => network.begun.length >= 20);
  await sendAll(
    scene,
    other,
    many(5).map((n) => `y${n}@quick.example`),
  );
  queue.wake();
  await until(queue, () => network.delivered.length === 5);
  // A half of the places, and what one claim may take beyond it.
  expect(network.begun.filter((job) => job.teamId === crowd.team.id).length).toBeLessThanOrEqual(25);
  await queue.stop(0);
});

it('a backlog in delivery does not make another team wait for its end', async () => {
  await using scene = await startScene({ roles: ['http'], config: { delivery: { max_in_flight: 16 } } });
  const crowd = await mailIn(scene);
  const other = await mailIn(scene);
  await sendAll(
    scene,
    crowd,
    many(200).map((n) => `x${n}@quick.example`),
  );
  await sendAll(
    scene,
    other,
    many(5).map((n) => `y${n}@quick.example`),
  );
  const network = createNetwork({ quick: /quick/ });
  const queue = openQueue(scene, network);
  await until(queue, () => network.delivered.filter((to) => to.startsWith('y')).length === 5);
  expect(network.delivered.length).toBeLessThan(100);
  await until(queue, () => network.delivered.length === 205);
  await queue.idle();
  expect(network.delivered).toHaveLength(205);
  expect(new Set(network.delivered).size).toBe(205);
  await queue.stop(0);
});

it('retries that are due together are shared among the teams like new mail', async () => {
  await using scene = await startScene({ roles: ['http'], config: { delivery: { max_in_flight: 16 } } });
  const crowd = await mailIn(scene);
  const other = await mailIn(scene);
  const { db } = scene.app.world;
  await sendAll(
    scene,
    crowd,
    many(600).map((n) => `x${n}@quick.example`),
  );
  await db.run('update deliveries set attempt = 3');
  scene.clock.advance(MINUTE);
  await sendAll(
    scene,
    other,
    many(5).map((n) => `y${n}@quick.example`),
  );
  await db.run('update deliveries set attempt = 2 where attempt = 0');
  const network = createNetwork({ quick: /quick/ });
  const queue = openQueue(scene, network);
  await until(queue, () => network.delivered.filter((to) => to.startsWith('y')).length === 5);
  expect(network.delivered.length).toBeLessThan(100);
  await queue.stop(0);
});

it('a slow destination of a team delays neither its other destination nor other teams', async () => {
  await using scene = await startScene({ roles: ['http'], config: { delivery: { max_in_flight: 16 } } });
  const crowd = await mailIn(scene);
  const other = await mailIn(scene);
  await sendAll(
    scene,
    crowd,
    many(300).map((n) => `x${n}@silent.example`),
  );
  const network = createNetwork({ quick: /quick/ });
  const queue = openQueue(scene, network);
  await until(queue, () => network.begun.length >= 5);
  await sendAll(scene, crowd, ['mine@quick.example']);
  await sendAll(scene, other, ['yours@quick.example']);
  queue.wake();
  await until(queue, () => network.delivered.length === 2);
  await queue.stop(0);
});

const MARKETING = 'update deliveries set lane = 1, is_marketing = 1';

it('a password reset is sent before the newsletter of its own team', async () => {
  await using scene = await startScene({ roles: ['http'], config: { delivery: { max_in_flight: 16 } } });
  const crowd = await mailIn(scene);
  await sendAll(
    scene,
    crowd,
    many(120).map((n) => `x${n}@quick.example`),
  );
  await scene.app.world.db.run(MARKETING);
  await sendAll(
    scene,
    crowd,
    many(20).map((n) => `y${n}@quick.example`),
  );
  const network = createNetwork({ quick: /quick/ });
  const queue = openQueue(scene, network);
  await until(queue, () => network.delivered.filter((to) => to.startsWith('y')).length === 20);
  expect(network.delivered.filter((to) => to.startsWith('x')).length).toBeLessThan(20);
  await until(queue, () => network.delivered.length === 140);
  await queue.idle();
  expect(new Set(network.delivered).size).toBe(140);
  await queue.stop(0);
});

it('a newsletter to silent servers leaves room for the other mail of its team', async () => {
  await using scene = await startScene({ roles: ['http'], config: { delivery: { max_in_flight: 16 } } });
  const crowd = await mailIn(scene);
  await sendAll(
    scene,
    crowd,
    many(300).map((n) => `x${n}@silent.example`),
  );
  await scene.app.world.db.run(MARKETING);
  const network = createNetwork({ quick: /quick/ });
  const queue = openQueue(scene, network);
  await lookAround(queue);
  // The mail goes to the very destination that the newsletter is stuck at, too.
  await sendAll(scene, crowd, ['reset@silent.example', 'reset@quick.example']);
  queue.wake();
  await until(queue, () => network.begun.filter((job) => !job.isMarketing).length === 2);
  expect(network.begun.filter((job) => job.isMarketing).length).toBeLessThan(16);
  await queue.stop(0);
});

it('nothing of a newsletter begins while more of its team’s other mail is due than a claim takes', async () => {
  await using scene = await startScene({ roles: ['http'] });
  const crowd = await mailIn(scene);
  await sendAll(
    scene,
    crowd,
    many(100).map((n) => `x${n}@quick.example`),
  );
  await scene.app.world.db.run(MARKETING);
  await sendAll(
    scene,
    crowd,
    many(500).map((n) => `y${n}@quick.example`),
  );
  const network = createNetwork({ quick: /quick/ });
  const queue = openQueue(scene, network);
  await until(queue, () => network.delivered.length === 600);
  await queue.stop(0);
  const recipients = network.begun.flatMap((job) => job.recipients);
  // While they take turns, 50 of a newsletter begin beside 200 others.
  expect(recipients.slice(0, 400).filter((to) => to.startsWith('x'))).toEqual([]);
});

it('while the event loop is late, few emails of newsletters are under way, and other mail is not held back', async () => {
  await using scene = await startScene({ roles: ['http'], config: { delivery: { max_in_flight: 400 } } });
  const crowd = await mailIn(scene);
  await sendAll(
    scene,
    crowd,
    many(100).map((n) => `x${n}@silent.example`),
  );
  await scene.app.world.db.run(MARKETING);
  await sendAll(
    scene,
    crowd,
    many(50).map((n) => `y${n}@quick.example`),
  );
  const network = createNetwork({ quick: /quick/ });
  const queue = openQueue(scene, network, true);
  await until(queue, () => network.delivered.length === 50);
  await lookAround(queue);
  await sendAll(scene, crowd, ['z@quick.example']);
  queue.wake();
  await until(queue, () => network.delivered.includes('z@quick.example'));
  expect(network.begun.some((job) => job.isMarketing)).toBe(true);
  expect(network.begun.filter((job) => job.isMarketing).length).toBeLessThanOrEqual(16);
  await queue.stop(0);
});

it('a newsletter to silent servers leaves room for the newsletter of another team', async () => {
  await using scene = await startScene({ roles: ['http'], config: { delivery: { max_in_flight: 16 } } });
  const crowd = await mailIn(scene);
  const other = await mailIn(scene);
  await sendAll(
    scene,
    crowd,
    many(300).map((n) => `x${n}@silent${n}.example`),
  );
  await scene.app.world.db.run(MARKETING);
  const network = createNetwork({ quick: /quick/ });
  const queue = openQueue(scene, network);
  await lookAround(queue);
  // A team may have as many under way as are free.
  expect(network.begun.length).toBeLessThanOrEqual(8);
  await sendAll(scene, other, ['news@quick.example']);
  await scene.app.world.db.run(`${MARKETING} where lane = 0`);
  queue.wake();
  await until(queue, () => network.delivered.length === 1);
  await queue.stop(0);
});

it('a single email is kept in the playground before the rest of a newsletter of its team, and before that of another team', async () => {
  await using scene = await startScene({ roles: ['http'] });
  const { world } = scene.app;
  const crowd = world.ids.uuid();
  const other = world.ids.uuid();
  const { promise: held, resolve: letGo } = Promise.withResolvers<void>();
  const put: string[] = [];
  const blobs: typeof world.blobs = {
    ...world.blobs,
    async put(key, content) {
      put.push(content.toString());
      await held;
      return world.blobs.put(key, content);
    },
  };
  const keep = createCaptureMessage({ ...world, blobs });
  const capture = (name: string, teamId: string, isBulk: boolean): Promise<void> => {
    const ids = { id: world.ids.uuid(), emailId: world.ids.uuid(), teamId };
    const mail = { domain: 'one.example', recipients: ['a@one.example'], mailFrom: '', region: '', attempt: 1 };
    return keep({ ...ids, ...mail, tls: 'opportunistic', isBulk }, Buffer.from(name));
  };
  const all = many(20).map((n) => capture(`news${n}`, crowd, true));
  while (put.length < 4) await nextTurn();
  all.push(capture('reset', crowd, false), capture('news of another team', other, true));
  for (let n = 0; n < 50; n++) await world.db.get('select 1 as one');
  letGo();
  await Promise.all(all);
  expect(put).toHaveLength(22);
  expect(put.indexOf('reset')).toBeLessThan(8);
  expect(put.indexOf('news of another team')).toBeLessThan(8);
});

it('transactional mail of runs that were begun together comes after the other mail of its team, and is no marketing mail', async () => {
  await using scene = await startScene({ roles: ['http'] });
  const has = await supply(scene);
  const mail = step('mail', 'send_email', { template: { id: has.template, variables: { PRODUCT: 'Tea' } } });
  const created = step('start', 'trigger', { event_name: 'rasket:contact.created' });
  const body = { name: 'A', status: 'enabled', ...line(created, mail) };
  await scene.api('POST', '/automations', { key: has.team.key, body });
  const rows = many(30).map((n) => `x${n}@quick.example`);
  await uploadIn(scene, has.team, `email\n${rows.join('\n')}\n`, { start_automations: 'true' });
  await runOnce(createImportLoop(scene.app.world));
  await runOnce(createAutomationLoop(scene.app.world, () => undefined));
  const from = `a@${has.domain}`;
  for (const to of ['y0@quick.example', 'y1@quick.example'])
    await scene.api('POST', '/emails', { key: has.team.key, body: { from, to, subject: 'Hello', text: 'It works.' } });
  const network = createNetwork({ quick: /quick/ });
  const queue = openQueue(scene, network);
  await until(queue, () => network.delivered.length === 32);
  await queue.stop(0);
  const recipients = network.begun.flatMap((job) => job.recipients);
  expect(recipients.slice(0, 2).toSorted()).toEqual(['y0@quick.example', 'y1@quick.example']);
  expect(network.begun.filter((job) => job.isBulk)).toHaveLength(30);
  expect(network.begun.filter((job) => job.isMarketing)).toEqual([]);
});

it('a newsletter of one team and the backlog of another both make progress', async () => {
  await using scene = await startScene({ roles: ['http'], config: { delivery: { max_in_flight: 16 } } });
  const crowd = await mailIn(scene);
  const other = await mailIn(scene);
  await sendAll(
    scene,
    other,
    many(40).map((n) => `y${n}@quick.example`),
  );
  await scene.app.world.db.run(MARKETING);
  await sendAll(
    scene,
    crowd,
    many(280).map((n) => `x${n}@quick.example`),
  );
  const network = createNetwork({ quick: /quick/ });
  const queue = openQueue(scene, network);
  await until(queue, () => network.delivered.filter((to) => to.startsWith('y')).length === 40);
  expect(network.delivered.length).toBeLessThan(240);
  await queue.stop(0);
});

const DEAD_MESSAGES = 300;
const DEAD_SITES = 30;

it('mail to 30 dead sites gets a small share of the attempts while other mail is due', async () => {
  await using scene = await startScene({ roles: ['http'], config: { delivery: { max_in_flight: 25 } } });
  const crowd = await mailIn(scene);
  const other = await mailIn(scene);
  await sendAll(
    scene,
    crowd,
    many(DEAD_MESSAGES).map((n) => `x${n}@dead${n % DEAD_SITES}.example`),
  );
  const network = createNetwork({ quick: /quick/, dead: /dead/ });
  const dead = (): number => network.begun.filter((job) => job.domain.startsWith('dead')).length;
  const quick = many(200).map((n) => `y${n}@quick.example`);
  await sendAll(scene, other, quick);
  // So many ids of one instant are dated a little ahead of it.
  scene.clock.advance(1000);
  const queue = openQueue(scene, network);
  await until(queue, () => network.delivered.length === quick.length);
  // Each site once or twice, as those under way fail together, and then one for twenty others. Without holding back there would
  // be one for each other, as the teams take turns: 200.
  expect(dead()).toBeLessThan(2 * DEAD_SITES + quick.length / 10);
  await until(queue, () => dead() === DEAD_MESSAGES);
  await queue.idle();
  // Nothing else is due: they get everything. None is lost and none attempted twice.
  expect(dead()).toBe(DEAD_MESSAGES);
  expect(new Set(network.begun.map((job) => job.id)).size).toBe(DEAD_MESSAGES + quick.length);
  const waiting = await scene.app.world.db.all<{ attempt: number; n: number }>(
    'select attempt, count(*) as n from deliveries group by attempt',
  );
  expect(waiting).toEqual([{ attempt: 1, n: DEAD_MESSAGES }]);
  expect(network.delivered).toHaveLength(quick.length);
  await queue.stop(0);
}, 600_000);

it('mail that was never attempted because its destination was down is given up after two days as well', async () => {
  await using scene = await startScene({ roles: ['http'] });
  const mail = await mailIn(scene);
  const id = await mail.send('x@dead.example');
  await scene.app.world.db.run('update deliveries set lane = 2');
  scene.clock.advance(48 * 60 * MINUTE);
  const network = createNetwork({ dead: /dead/ });
  const queue = openQueue(scene, network);
  await queue.idle();
  expect(await mail.account(id)).toMatchObject({ state: 'bounced', waiting: [] });
  expect(network.begun).toHaveLength(1);
  await queue.stop(0);
});

it.each([
  { said: 'no SMTP', reason: 'protocol_error', code: 354, lane: 2 },
  { said: '421', reason: 'refused_for_now', code: 421, lane: 2 },
  { said: '451', reason: 'refused_for_now', code: 451, lane: 0 },
] as const)('the next attempt at a server that replied $said is in lane $lane', async ({ reason, code, lane }) => {
  await using scene = await startScene({ roles: ['http'] });
  const mail = await mailIn(scene);
  await mail.send('x@some.example');
  const reply = { code, lines: ['Not now'] };
  const queue = openQueue(scene, {
    ...createNetwork({}),
    deliver: ({ recipients }) =>
      Promise.resolve(recipients.map((address) => ({ kind: 'deferred', address, reason, detail: 'said so', reply }))),
  });
  await queue.idle();
  const rows = await scene.app.world.db.all<{ attempt: number; lane: number }>('select attempt, lane from deliveries');
  expect(rows).toEqual([{ attempt: 1, lane }]);
  await queue.stop(0);
});
