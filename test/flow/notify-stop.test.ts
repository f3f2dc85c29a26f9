import { expect, it } from 'vitest';
import { createEndpointLine } from '../../src/flow/notify/endpoint-line.ts';
import { leaseEndpoints } from '../../src/flow/notify/notify.store.ts';
import { createPayloads } from '../../src/flow/notify/payloads.ts';
import { createRoom } from '../../src/flow/notify/room.ts';
import { startScene } from '../rig/scene.ts';
import { sceneFor, startWebhookReceiver } from '../rig/webhook-receiver.ts';
import { plantWebhook } from '../rig/webhooks.ts';
import { happen, outboxOf } from './webhook-scene.ts';

it('a line that is stopped while it reads ahead takes nothing more, and comes to rest', async () => {
  await using receiver = await startWebhookReceiver();
  // Nobody else sends here.
  await using scene = await startScene(sceneFor(receiver, { roles: ['http'] }));
  receiver.publishIn(scene.dns);
  const team = await scene.team();
  const id = await plantWebhook(scene, team, { endpoint: receiver.url('/hook') });
  await happen(scene, team, 3);
  const { world } = scene.app;
  const now = world.clock.now();
  const owner = world.ids.uuid();
  await leaseEndpoints(world.db, [id], { owner, now, until: now + 60_000 });

  const asked = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<void>();
  const payloads = createPayloads(world);
  const line = createEndpointLine({
    world,
    id,
    owner,
    windowMax: 4,
    room: createRoom(4).forEndpoint(team.id),
    async payloads(teamId, events) {
      asked.resolve();
      await answer.promise;
      return payloads(teamId, events);
    },
    settle: () => Promise.resolve(true),
    onFailure: () => Promise.resolve(),
    onDefect: expect.unreachable,
    isHeld: () => true,
    onLost: expect.unreachable,
    onQuiet: () => undefined,
    interrupt: new AbortController().signal,
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
