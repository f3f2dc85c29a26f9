import { expect, it } from 'vitest';
import { createAttemptWriter, createEndpoints } from '../../src/features/webhooks/delivery/attempt.ts';
import {
  EndpointSender,
  createPayloads,
  type SenderParts,
} from '../../src/features/webhooks/delivery/endpoint-sender.ts';
import { leaseEndpoints } from '../../src/features/webhooks/endpoints/webhooks.store.ts';
import {
  recordAttempts,
  recordHealth,
  type Attempt,
} from '../../src/features/webhooks/endpoints/webhook-events.store.ts';
import { createSlotPool } from '../../src/platform/limits/index.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { sceneFor, startWebhookReceiver, type WebhookReceiver } from '../rig/webhook-receiver.ts';
import { plantWebhook } from '../rig/webhooks.ts';
import { happen, loadOutbox, publicId } from './webhook-scene.ts';

interface Stage {
  scene: Scene;
  receiver: WebhookReceiver;
  id: string;
  parts: SenderParts;
  sender(parts?: Partial<SenderParts>): EndpointSender;
  happen(count: number, isBulk?: boolean): Promise<string[]>;
}

/** An endpoint that nobody sends to, and what its sender is made of. */
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
  const endpoints = createEndpoints(world);
  const parts: SenderParts = {
    world,
    owner,
    open: endpoints.open,
    slots: createSlotPool(4),
    payloads: createPayloads(world, world.commits),
    write: createAttemptWriter(world, world.commits),
    disableFailing: () => Promise.resolve(),
  };
  const sender = (wishes: Partial<SenderParts> = {}): EndpointSender =>
    new EndpointSender(id, now + 60_000, { ...parts, ...wishes });
  await work({
    scene,
    receiver,
    id,
    parts,
    sender,
    happen: (count, isBulk) => happen(scene, team, count, 'email.sent', isBulk),
  });
  await endpoints.close();
}

it('a sender that is stopped while it reads sends nothing more, and becomes idle', async () => {
  await onStage(async ({ scene, receiver, id, parts, sender, happen }) => {
    await happen(3);
    const asked = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<void>();
    const stopping = sender({
      async payloads(teamId, events) {
        asked.resolve();
        await answer.promise;
        return parts.payloads(teamId, events);
      },
    });
    let isStopped = false;
    const run = stopping.run(() => isStopped, new AbortController().signal);
    await asked.promise;
    isStopped = true;
    answer.resolve();
    await run;

    expect(stopping.wake()).toBe(false);
    expect(receiver.requests).toEqual([]);
    expect((await loadOutbox(scene, id)).map((row) => row.status)).toEqual(['pending', 'pending', 'pending']);
  });
});

const listSent = (receiver: WebhookReceiver): unknown[] => receiver.requests.map(({ headers }) => headers['svix-id']);

it('events of other mail are sent before those of a broadcast that are waiting', async () => {
  await onStage(async ({ receiver, sender, happen }) => {
    const ofBroadcast = await happen(5, true);
    const others = await happen(3);
    await sender().run(() => false, new AbortController().signal);
    expect(listSent(receiver)).toEqual([...others, ...ofBroadcast].map(publicId));
  });
});

it('an event of other mail overtakes those of a broadcast that have been read', async () => {
  await onStage(async ({ scene, receiver, sender, happen }) => {
    const replies: (() => void)[] = [];
    receiver.reply((response) => void replies.push(() => void response.writeHead(200).end()));
    const ofBroadcast = await happen(40, true);
    const busy = sender();
    const run = busy.run(() => false, new AbortController().signal);
    await receiver.until(1);
    const [other] = await happen(1);
    busy.wake();
    scene.clock.advance(100);
    replies.shift()?.();
    await receiver.until(2);
    receiver.reply((response) => void response.writeHead(200).end());
    replies.shift()?.();
    await run;
    const sent = listSent(receiver);
    expect(sent.slice(0, 2)).toEqual([ofBroadcast[0], other].map((id) => publicId(id ?? '')));
    expect(sent).toHaveLength(41);
  });
});

it('events of a broadcast go on beside more events of other mail than are read at once', async () => {
  await onStage(async ({ receiver, sender, happen }) => {
    const ofBroadcast = await happen(5, true);
    await happen(200);
    await sender().run(() => false, new AbortController().signal);
    const sent = listSent(receiver);
    expect(ofBroadcast.filter((id) => sent.indexOf(publicId(id)) < 64)).toEqual(ofBroadcast);
    expect(sent).toHaveLength(205);
  });
});

it('a sender that cannot read reports that when its requests in progress have ended', async () => {
  await onStage(async ({ scene, receiver, id, parts, sender, happen }) => {
    let reply = (): void => undefined;
    receiver.reply((response) => void (reply = () => void response.writeHead(200).end()));
    await happen(1);
    let isBroken = false;
    const payloads: SenderParts['payloads'] = (teamId, events) =>
      isBroken ? Promise.reject(new Error('planted')) : parts.payloads(teamId, events);
    const broken = sender({ payloads });
    const run = broken.run(() => false, new AbortController().signal);
    let hasEnded = false;
    const ended = run.catch(String).finally(() => (hasEnded = true));
    await receiver.until(1);
    isBroken = true;
    await happen(1);
    expect(broken.wake()).toBe(true);
    await scene.app.world.db.get('select 1 as one');
    expect(hasEnded).toBe(false);
    reply();
    expect(await ended).toBe('Error: planted');
    expect((await loadOutbox(scene, id)).map((row) => row.status)).toEqual(['success', 'pending']);
  });
});

it('two nodes that made the same attempt have made two, with consecutive numbers', async () => {
  await onStage(async ({ scene, id, happen }) => {
    await happen(1);
    const { world } = scene.app;
    const [row] = await loadOutbox(scene, id);
    const made = {
      webhookId: id,
      eventId: row?.event_id ?? '',
      status: 500,
      response: '',
      error: null,
      isSuccess: false,
      durationMs: 1,
      sentAt: world.clock.now(),
      read: { dueAt: row?.due_at ?? 0, tries: 0 },
      nextAt: world.clock.now() + 5000,
    };
    for (let node = 0; node < 2; node++) {
      await world.db.tx((tx) => recordAttempts(tx, [{ ...made, id: world.ids.prefixed('atmpt_') }]));
    }
    const attempts = await world.db.all('select attempt_number from webhook_attempts order by attempt_number');
    expect(attempts).toEqual([{ attempt_number: 1 }, { attempt_number: 2 }]);
    expect(await loadOutbox(scene, id)).toMatchObject([{ attempt_count: 2, tries: 1, due_at: made.nextAt }]);
  });
});

it('the state of an endpoint is the same whether its attempts are written together or one after the other', async () => {
  await onStage(async ({ scene, id }) => {
    const { db } = scene.app.world;
    const at = (sentAt: number, isSuccess: boolean): Attempt => ({
      id: `${sentAt}`,
      webhookId: id,
      eventId: '',
      status: null,
      response: null,
      error: null,
      durationMs: 1,
      sentAt,
      isSuccess,
      read: { dueAt: 0, tries: 0 },
      nextAt: null,
    });
    const after = async (...lots: Attempt[][]): Promise<unknown> => {
      await db.run('update webhooks set last_success_at = null, failing_since = null where id = ?', [id]);
      for (const lot of lots) await db.tx((tx) => recordHealth(tx, lot));
      return db.get('select last_success_at, failing_since from webhooks where id = ?', [id]);
    };
    const failed = at(10, false);
    const succeeded = at(20, true);
    const again = at(30, false);
    expect(await after([failed], [again])).toEqual({ last_success_at: null, failing_since: 10 });
    expect(await after([again, failed])).toEqual({ last_success_at: null, failing_since: 10 });
    for (const lots of [[[failed, succeeded]], [[failed], [succeeded]], [[succeeded], [failed]]]) {
      expect(await after(...lots)).toEqual({ last_success_at: 20, failing_since: null });
    }
    for (const lots of [[[failed, succeeded, again]], [[succeeded, again], [failed]], [[failed, succeeded], [again]]]) {
      expect(await after(...lots)).toEqual({ last_success_at: 20, failing_since: 30 });
    }
  });
});
