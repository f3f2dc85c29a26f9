// events --> an endpoint that answers 500, or nothing: what its team reads about it
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { advanceToNextTry, happen, hookAt, loadOutbox } from '../../flow/webhook-scene.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';
import { sceneFor, startWebhookReceiver, type WebhookReceiver } from '../../rig/webhook-receiver.ts';
import { plantWebhook, plantWebhookEvent } from '../../rig/webhooks.ts';

let receiver: WebhookReceiver;
let scene: Scene;
let team: Team;
beforeAll(async () => {
  receiver = await startWebhookReceiver();
  scene = await startScene(sceneFor(receiver));
  receiver.publishIn(scene.dns);
  team = await scene.team();
});
afterAll(async () => {
  await scene?.close();
  await receiver?.close();
});

const read = async (id: string) => (await scene.api('GET', `/webhooks/${id}`, { key: team.key })).body;
const now = (): string => new Date(scene.clock.now()).toISOString();

describe('GET /webhooks/{id} shows the health of its endpoint', () => {
  it('as unknown before anything was sent', async () => {
    const { id } = await hookAt(scene, team, receiver.url('/quiet'), ['email.complained']);
    expect(await read(id)).toMatchObject({
      status: 'enabled',
      last_attempt_at: null,
      last_http_status: null,
      last_error: null,
      failing_since: null,
      events_waiting: 0,
      events_parked: 0,
    });
  });

  it('with the start of its failures, the last answer and the waiting events, and that it works again', async () => {
    const { id } = await hookAt(scene, team, receiver.url('/broken'));
    receiver.reply(500, '/broken');
    const since = now();
    await happen(scene, team, 3);
    await scene.settled();
    const failing = { status: 'enabled', failing_since: since, last_http_status: 500, last_error: null };
    expect(await read(id)).toMatchObject({ ...failing, last_attempt_at: since, events_waiting: 3, events_parked: 0 });

    await advanceToNextTry(scene, id);
    expect(await read(id)).toMatchObject({ ...failing, last_attempt_at: now(), events_waiting: 3 });

    receiver.reply((response) => void response.destroy(), '/broken');
    await advanceToNextTry(scene, id);
    const silent = await read(id);
    expect(silent).toMatchObject({ failing_since: since, last_attempt_at: now(), last_http_status: null });
    expect(silent.last_error).toMatch(/\S/);

    receiver.reply(200, '/broken');
    // Each event has its own time for the next attempt.
    while ((await loadOutbox(scene, id)).some(({ due_at: due }) => due !== null)) await advanceToNextTry(scene, id);
    expect(await read(id)).toMatchObject({
      failing_since: null,
      last_http_status: 200,
      last_error: null,
      last_attempt_at: now(),
      events_waiting: 0,
    });
  });

  it('as unknown after a change of the address', async () => {
    const { id } = await hookAt(scene, team, receiver.url('/before'));
    receiver.reply(500, '/before');
    await happen(scene, team);
    await scene.settled();
    expect(await read(id)).toMatchObject({ last_http_status: 500 });
    const body = { endpoint: receiver.url('/after') };
    expect((await scene.api('PATCH', `/webhooks/${id}`, { key: team.key, body })).status).toBe(200);
    expect(await read(id)).toMatchObject({ last_attempt_at: null, last_http_status: null, failing_since: null });
  });

  it('in the list too', async () => {
    const other = await scene.team();
    const id = await plantWebhook(scene, other, { status: 'disabled' });
    const idle = await plantWebhook(scene, other);
    for (let parked = 0; parked < 2; parked++)
      await plantWebhookEvent(scene, other, id, { status: 'pending', parked: true });
    const { body } = await scene.api('GET', '/webhooks', { key: other.key });
    expect(body.data).toMatchObject([
      { id: idle, events_waiting: 0, events_parked: 0, failing_since: null },
      { id, events_waiting: 0, events_parked: 2, last_http_status: null },
    ]);
  });

  it('with a count of at most 1000', async () => {
    const other = await scene.team();
    const id = await plantWebhook(scene, other, { status: 'disabled' });
    const { ids, db } = scene.app.world;
    const columns = ['webhook_id', 'event_id', 'team_id', 'type', 'status', 'parked', 'created_at'];
    const rows = Array.from({ length: 1001 }, () => [id, ids.uuid(), other.id, 'email.sent', 'pending', 1, 0]);
    await db.insertMany('webhook_events', columns, rows);
    const { body } = await scene.api('GET', `/webhooks/${id}`, { key: other.key });
    expect(body).toMatchObject({ events_parked: 1000 });
  });
});
