import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startScene, type Scene } from '../../rig/scene.ts';
import { sceneFor, startWebhookReceiver, type WebhookReceiver } from '../../rig/webhook-receiver.ts';

describe('a webhook endpoint', () => {
  let scene: Scene;
  let receiver: WebhookReceiver;
  beforeAll(async () => {
    receiver = await startWebhookReceiver();
    scene = await startScene(sceneFor(receiver));
    receiver.publishIn(scene.dns);
  });
  afterAll(async () => {
    await scene.close();
    await receiver.close();
  });

  it('gets its events while enabled, none while disabled, and the missed ones by replay', async () => {
    const team = await scene.team();
    const call = (method: string, path: string, body?: unknown) =>
      scene.api(method, path, { key: team.key, ...(body === undefined ? {} : { body }) });
    const suppress = (email: string) => call('POST', '/suppressions', { email });
    const told = () => receiver.requests.map((request) => request.payload.data.email);
    const idle = async () => void (await scene.app.webhooks?.idle());
    const { id } = (await call('POST', '/webhooks', { endpoint: receiver.url('/hook'), events: ['suppression.added'] }))
      .body;
    expect(receiver.requests).toEqual([]);

    await suppress('one@example.org');
    await call('DELETE', '/suppressions/one@example.org');
    await receiver.until(1);
    await idle();
    const sent = (await call('GET', `/webhooks/${id}/events`)).body.data;
    expect(sent).toMatchObject([
      { type: 'suppression.added', status: 'success', attempt_count: 1, last_http_status: 200 },
    ]);
    const event = (await call('GET', `/webhooks/${id}/events/${sent[0].id}`)).body;
    expect(event).toMatchObject({ next_attempt_at: null, payload: receiver.requests[0]?.payload });
    expect(JSON.stringify(event.payload)).toBe(receiver.requests[0]?.body);
    expect(receiver.requests[0]?.headers['svix-id']).toBe(sent[0].id);
    const attempts = (await call('GET', `/webhooks/${id}/events/${sent[0].id}/attempts`)).body.data;
    expect(attempts).toMatchObject([
      { object: 'webhook_attempt', attempt_number: 1, http_status_code: 200, error: null },
    ]);
    expect(attempts[0].id).toMatch(/^atmpt_[0-9a-f]{32}$/);

    await call('PATCH', `/webhooks/${id}`, { status: 'disabled' });
    await suppress('two@example.org');
    await suppress('three@example.org');
    await call('PATCH', `/webhooks/${id}`, { status: 'enabled' });
    await suppress('four@example.org');
    await receiver.until(2);
    await idle();
    expect(told()).toEqual(['one@example.org', 'four@example.org']);
    const parked = (await call('GET', `/webhooks/${id}/parked`)).body.data;
    expect(parked).toMatchObject([{ status: 'pending', attempt_count: 0 }, { status: 'pending' }]);
    const { payload } = (await call('GET', `/webhooks/${id}/events/${parked[0].id}`)).body;
    expect(payload.data.email).toBe('two@example.org');

    expect((await call('POST', `/webhooks/${id}/events/${parked[0].id}/replay`)).status).toBe(200);
    await receiver.until(3);
    await idle();
    expect(receiver.requests[2]?.body).toBe(JSON.stringify(payload));
    expect((await call('GET', `/webhooks/${id}/parked`)).body.data).toEqual([parked[1]]);
    expect((await call('GET', `/webhooks/${id}/events/${parked[0].id}`)).body).toMatchObject({
      status: 'success',
      attempt_count: 1,
    });

    await call('DELETE', `/webhooks/${id}`);
    await suppress('five@example.org');
    await idle();
    expect(told()).toHaveLength(3);
  });
});
