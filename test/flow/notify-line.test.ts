import { expect, it } from 'vitest';
import { createInterrupt } from '../../src/flow/notify/attempt.ts';
import { recordAttempts } from '../../src/flow/notify/attempts.store.ts';
import { createEndpointLine, type LineParts } from '../../src/flow/notify/endpoint-line.ts';
import { leaseEndpoints } from '../../src/flow/notify/notify.store.ts';
import { createPayloads } from '../../src/flow/notify/payloads.ts';
import { createRoom } from '../../src/flow/notify/room.ts';
import type { Settled } from '../../src/flow/notify/settle.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { sceneFor, startWebhookReceiver, type WebhookReceiver } from '../rig/webhook-receiver.ts';
import { plantWebhook } from '../rig/webhooks.ts';
import { happen, outboxOf } from './webhook-scene.ts';

interface Stage {
  scene: Scene;
  receiver: WebhookReceiver;
  id: string;
  parts: LineParts;
  happen(count: number): Promise<unknown>;
}

/** An endpoint that nobody sends to, and what a line to it is made of. */
async function onStage(work: (stage: Stage) => Promise<void>): Promise<void> {
  await using receiver = await startWebhookReceiver();
  await using scene = await startScene(sceneFor(receiver, { roles: ['http'] }));
  receiver.publishIn(scene.dns);
  const team = await scene.team();
  const id = await plantWebhook(scene, team, { endpoint: receiver.url('/hook') });
  const { world } = scene.app;
  const now = world.clock.now();
  const owner = world.ids.uuid();
  await leaseEndpoints(world.db, [id], { owner, now, until: now + 60_000 });
  const parts: LineParts = {
    world,
    id,
    owner,
    windowMax: 4,
    room: createRoom(4).forEndpoint(team.id),
    payloads: createPayloads(world),
    settle: (settled) => settled.over(settled, true),
    onFailure: () => Promise.resolve(),
    onDefect: expect.unreachable,
    isHeld: () => true,
    onLost: expect.unreachable,
    onQuiet: () => undefined,
    interrupt: createInterrupt(new AbortController().signal),
  };
  await work({ scene, receiver, id, parts, happen: (count) => happen(scene, team, count) });
}

it('a line that is stopped while it reads ahead takes nothing more, and comes to rest', async () => {
  await onStage(async ({ scene, receiver, id, parts, happen }) => {
    await happen(3);
    const asked = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<void>();
    const line = createEndpointLine({
      ...parts,
      async payloads(teamId, events) {
        asked.resolve();
        await answer.promise;
        return parts.payloads(teamId, events);
      },
    });
    line.wake();
    await asked.promise;
    const stopped = line.stop();
    answer.resolve();
    await stopped;

    expect(line.isQuiet()).toBe(true);
    expect(receiver.requests).toEqual([]);
    expect((await outboxOf(scene, id)).map((row) => row.status)).toEqual(['pending', 'pending', 'pending']);
  });
});

it('two nodes that made the same attempt have made two, numbered one after the other', async () => {
  await onStage(async ({ scene, id, happen }) => {
    await happen(1);
    const { world } = scene.app;
    const [row] = await outboxOf(scene, id);
    const made = {
      webhookId: id,
      eventId: row?.event_id ?? '',
      ...{ status: 500, response: '', error: null, isSuccess: false, durationMs: 1, sentAt: world.clock.now() },
      taken: { dueAt: row?.due_at ?? 0, tries: 0, attempts: 0 },
      nextAt: world.clock.now() + 5000,
    };
    for (let node = 0; node < 2; node++) {
      await world.db.tx((tx) => recordAttempts(tx, [{ ...made, id: world.ids.prefixed('atmpt_') }]));
    }
    const attempts = await world.db.all('select attempt_number from webhook_attempts order by attempt_number');
    expect(attempts).toEqual([{ attempt_number: 1 }, { attempt_number: 2 }]);
    expect(await outboxOf(scene, id)).toMatchObject([{ attempt_count: 2, tries: 1, due_at: made.nextAt }]);
  });
});

it('a success after a failure that is not written yet is news, although the endpoint reads as one that never failed', async () => {
  await onStage(async ({ scene, receiver, id, parts, happen }) => {
    await scene.app.world.db.run('update webhooks set last_success_at = ? where id = ?', [scene.clock.now(), id]);
    const settled: Settled[] = [];
    const line = createEndpointLine({
      ...parts,
      settle: (one) => void settled.push(one),
    });
    receiver.reply(500);
    await happen(1);
    line.wake();
    await expect.poll(() => settled.length).toBe(1);
    receiver.reply(200);
    await happen(2);
    line.changed();
    line.wake();
    await expect.poll(() => settled.length).toBe(3);
    for (const one of settled) one.over(one, true);
    await line.stop();
    expect(settled.map(({ attempt, isNews }) => [attempt.isSuccess, isNews])).toEqual([
      [false, true],
      [true, true],
      [true, false],
    ]);
  });
});
