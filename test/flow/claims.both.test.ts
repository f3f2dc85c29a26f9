// A queue of this test's own on a scene without one: its network is a function, and its database can be made to lose an answer.
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { createComposer } from '../../src/mail/compose/index.ts';
import type { Deliver, DeliveryJob } from '../../src/mail/deliver/index.ts';
import { createQueue, openHandOffLog, type Queue } from '../../src/mail/queue/index.ts';
import { createSettle } from '../../src/mail/settle/index.ts';
import { createGroupCommit } from '../../src/platform/db/index.ts';
import type { World } from '../../src/platform/world.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { DAY } from './expiry.ts';
import { mailIn } from './mail.ts';

const delivered: Deliver = (job) =>
  Promise.resolve(
    job.recipients.map((address) => ({
      kind: 'delivered' as const,
      address,
      reply: { code: 250, lines: ['ok'] },
      mx: 'mx.test',
      tls: null,
    })),
  );

function openQueue(scene: Scene, world: World, deliver: Deliver, isContended: () => boolean): Queue {
  const handOffLog = openHandOffLog(path.join(scene.dataDir, 'run'), world.ids.uuid(), { runtimeDir: scene.dataDir });
  const settle = createSettle(world, handOffLog.owner);
  return createQueue({ world, deliver, composer: createComposer(world), settle, handOffLog, isContended });
}

/** Forty emails due at once, to somebody who does not answer until the gate opens. */
async function openBacklog(scene: Scene) {
  const mail = await mailIn(scene);
  await Promise.all(Array.from({ length: 40 }, (_, n) => mail.send(`x${n}@slow.example`)));
  const begun: DeliveryJob[] = [];
  const gate = Promise.withResolvers<void>();
  const deliver: Deliver = async (job, ctx) => {
    begun.push(job);
    await gate.promise;
    return delivered(job, ctx);
  };
  const pressure = { isOn: true };
  const queue = openQueue(scene, scene.app.world, deliver, () => pressure.isOn);
  queue.start();
  return { begun, gate, pressure, queue };
}

/** Wakes the queue again and again: each round is a commit of its own, which leaves time for a poll however often it is woken. */
async function lookAgain(scene: Scene, queue: Queue, until: () => boolean, rounds: number): Promise<void> {
  for (let round = 0; round < rounds && !until(); round++) {
    queue.wake();
    await scene.app.world.db.run('update teams set name = name');
    await new Promise((turn) => setImmediate(turn));
  }
}

describe('while accepting is contended,', () => {
  it('delivery starts sixteen messages and no more, and all others when the contention is over', async () => {
    await using scene = await startScene({ roles: ['http'], config: { delivery: { poll_ms: 60_000 } } });
    const { begun, gate, pressure, queue } = await openBacklog(scene);
    await lookAgain(scene, queue, () => begun.length >= 16, 1000);
    await lookAgain(scene, queue, () => begun.length > 16, 50);
    expect(begun).toHaveLength(16);
    pressure.isOn = false;
    await lookAgain(scene, queue, () => begun.length === 40, 1000);
    gate.resolve();
    await queue.idle();
    expect(new Set(begun.map((job) => job.id)).size).toBe(40);
    await queue.stop(0);
  });

  it('more messages start after a poll, although those in progress hang', async () => {
    await using scene = await startScene({ roles: ['http'], config: { delivery: { poll_ms: 1 } } });
    const { begun, gate, queue } = await openBacklog(scene);
    await lookAgain(scene, queue, () => begun.length === 40, 10_000);
    expect(begun).toHaveLength(40);
    gate.resolve();
    await queue.idle();
    await queue.stop(0);
  });
});

describe('a claim that was committed without a response', () => {
  it('is taken back and processed once by the next poll', async () => {
    await using scene = await startScene({ roles: ['http'] });
    const mail = await mailIn(scene);
    const id = await mail.send('x@one.example');
    const { db } = scene.app.world;
    let losesAnswer = true;
    const forgetful: World['db'] = Object.assign(Object.create(db) as World['db'], {
      tx: async (work: Parameters<World['db']['tx']>[0]) => {
        const result = await db.tx(work);
        if (!losesAnswer) return result;
        losesAnswer = false;
        throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
      },
    });
    const world: World = { ...scene.app.world, db: forgetful, commits: createGroupCommit(forgetful) };
    const jobs: DeliveryJob[] = [];
    const deliver: Deliver = (job, ctx) => {
      jobs.push(job);
      return delivered(job, ctx);
    };
    const queue = openQueue(scene, world, deliver, () => false);
    queue.start();
    await queue.idle();
    expect(losesAnswer).toBe(false);
    expect(jobs).toEqual([]);
    queue.wake();
    await queue.idle();
    expect(jobs).toMatchObject([{ emailId: id, attempt: 1 }]);
    expect(await mail.account(id)).toMatchObject({
      state: 'delivered',
      events: ['email.queued', 'email.sent', 'email.delivered x@one.example'],
      waiting: [],
    });
    await queue.stop(0);
  });
});

it('leases that were due for renewal many times are renewed once', async () => {
  await using scene = await startScene({ roles: ['http'], config: { delivery: { lease_seconds: 1200 } } });
  const { gate, pressure, queue } = await openBacklog(scene);
  pressure.isOn = false;
  await lookAgain(scene, queue, () => queue.inFlight() === 40, 1000);
  let writes = 0;
  const stop = scene.app.world.db.onCommit('deliveries', () => writes++);
  // A machine that slept wakes up to all of it at once.
  scene.clock.advance(29 * DAY);
  gate.resolve();
  await queue.idle();
  stop();
  expect(writes).toBeGreaterThan(0);
  expect(writes).toBeLessThan(100);
  await queue.stop(0);
});
