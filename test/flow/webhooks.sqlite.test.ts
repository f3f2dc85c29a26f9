import { Webhook } from 'svix';
import { describe, expect, it } from 'vitest';
import { startScene } from '../rig/scene.ts';
import { sceneFor, startWebhookReceiver } from '../rig/webhook-receiver.ts';
import { HOUR, mailIn, MINUTE, SECOND } from './mail.ts';
import { advanceToNextTry, happen, hookAt, loadOutbox, publicId } from './webhook-scene.ts';

const WAITS = [5 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 4 * HOUR, 8 * HOUR];

describe('a webhook', () => {
  it('notifies an endpoint of what happens to an email, signed, in order and only of its subscribed events', async () => {
    await using receiver = await startWebhookReceiver();
    await using scene = await startScene(sceneFor(receiver));
    receiver.publishIn(scene.dns);
    const mail = await mailIn(scene);
    const hook = await hookAt(scene, mail.team, receiver.url('/hook?a=b'), ['email.sent', 'email.delivered']);
    const tags = [{ name: 'kind', value: 'welcome' }];
    const emailId = await mail.send(['a@one.example', 'b@two.example'], { tags, headers: { 'X-One': '1' } });
    await scene.settled();

    const told = receiver.requests.map(({ payload }) => [payload.type, payload.data.to]);
    expect(told[0]).toEqual(['email.sent', ['a@one.example', 'b@two.example']]);
    // Each destination ends by itself.
    expect(new Set(told.slice(1))).toEqual(
      new Set([
        ['email.delivered', ['a@one.example']],
        ['email.delivered', ['b@two.example']],
      ]),
    );
    const [first] = receiver.requests;
    const email = (await scene.api('GET', `/emails/${emailId}`, { key: mail.team.key })).body;
    expect(first?.payload).toEqual({
      type: 'email.sent',
      created_at: new Date(scene.clock.now()).toISOString(),
      data: {
        email_id: emailId,
        from: email.from,
        to: email.to,
        subject: 'Hello',
        message_id: email.message_id,
        created_at: email.created_at,
        tags: { kind: 'welcome' },
        headers: [{ name: 'X-One', value: '1' }],
      },
    });
    expect(first?.path).toBe('/hook?a=b');
    expect(first?.headers).toMatchObject({
      'content-type': 'application/json',
      'user-agent': 'rasket-Webhooks/1.0',
      'svix-timestamp': String(Math.floor(scene.clock.now() / 1000)),
    });
    for (const { body, headers } of receiver.requests) {
      expect(() => new Webhook(hook.secret).verify(body, headers as Record<string, string>)).not.toThrow();
    }
    expect((await loadOutbox(scene, hook.id)).map(({ status, due_at }) => [status, due_at])).toEqual([
      ['success', null],
      ['success', null],
      ['success', null],
    ]);
  });

  it('is attempted ten times, at the documented times within a tenth, with one id and the same bytes', async () => {
    await using receiver = await startWebhookReceiver();
    await using scene = await startScene(sceneFor(receiver));
    receiver.publishIn(scene.dns);
    receiver.reply(503);
    const team = await scene.team();
    const hook = await hookAt(scene, team, receiver.url());
    const [eventId = ''] = await happen(scene, team);
    await scene.settled();

    const waits: number[] = [];
    for (const [i, planned] of WAITS.entries()) {
      expect(await loadOutbox(scene, hook.id)).toMatchObject([
        { status: 'attempting', attempt_count: i + 1, tries: i + 1, last_http_status: 503 },
      ]);
      const waitMs = await advanceToNextTry(scene, hook.id);
      expect(waitMs).toBeGreaterThanOrEqual(planned * 0.9);
      expect(waitMs).toBeLessThanOrEqual(planned * 1.1);
      waits.push(waitMs / planned);
    }
    expect(receiver.requests).toHaveLength(10);
    expect(new Set(waits.map((part) => part.toFixed(4))).size).toBeGreaterThan(4);
    expect(await loadOutbox(scene, hook.id)).toMatchObject([{ status: 'failed', attempt_count: 10, due_at: null }]);
    scene.clock.advance(48 * HOUR);
    await scene.settled();
    expect(receiver.requests).toHaveLength(10);

    expect(new Set(receiver.requests.map(({ body }) => body)).size).toBe(1);
    expect(new Set(receiver.requests.map(({ headers }) => headers['svix-id']))).toEqual(new Set([publicId(eventId)]));
    expect(new Set(receiver.requests.map(({ headers }) => headers['svix-timestamp'])).size).toBe(10);
    const attempts = await scene.app.world.db.all<{ attempt_number: number; http_status_code: number }>(
      'select attempt_number, http_status_code from webhook_attempts where webhook_id = ? order by id',
      [hook.id],
    );
    expect(attempts).toEqual(Array.from({ length: 10 }, (_, i) => ({ attempt_number: i + 1, http_status_code: 503 })));
  });

  it('keeps its waits within a tenth at both ends of the random range', async () => {
    for (const [roll, part] of [
      [0, 0.9],
      [0.999_999, 1.1],
    ] as const) {
      await using receiver = await startWebhookReceiver();
      await using scene = await startScene(sceneFor(receiver));
      scene.app.world.random = () => roll;
      receiver.publishIn(scene.dns);
      receiver.reply(500);
      const team = await scene.team();
      const hook = await hookAt(scene, team, receiver.url());
      await happen(scene, team);
      await scene.settled();
      for (const planned of WAITS) {
        expect(Math.abs((await advanceToNextTry(scene, hook.id)) - planned * part)).toBeLessThan(planned * 0.001 + 1);
      }
    }
  });

  it('is replayed from the first attempt, with the same id and bytes and a new signature', async () => {
    await using receiver = await startWebhookReceiver();
    await using scene = await startScene(sceneFor(receiver));
    receiver.publishIn(scene.dns);
    const team = await scene.team();
    const hook = await hookAt(scene, team, receiver.url());
    const [eventId = ''] = await happen(scene, team);
    await scene.settled();
    scene.clock.advance(HOUR);
    receiver.reply(500);
    const path = `/webhooks/${hook.id}/events/${publicId(eventId)}/replay`;
    expect(await scene.api('POST', path, { key: team.key })).toMatchObject({ status: 200 });
    await scene.settled();
    expect(await loadOutbox(scene, hook.id)).toMatchObject([{ status: 'attempting', attempt_count: 2, tries: 1 }]);
    const waitMs = await advanceToNextTry(scene, hook.id);
    expect(Math.abs(waitMs - 5000)).toBeLessThanOrEqual(500);
    const [first, second] = receiver.requests;
    expect(second?.body).toBe(first?.body);
    expect(second?.headers['svix-id']).toBe(first?.headers['svix-id']);
    expect(second?.headers['svix-signature']).not.toBe(first?.headers['svix-signature']);
  });

  it('is signed with both secrets for 24 hours after a rotation, and with one after that', async () => {
    await using receiver = await startWebhookReceiver();
    await using scene = await startScene(sceneFor(receiver));
    receiver.publishIn(scene.dns);
    const team = await scene.team();
    const hook = await hookAt(scene, team, receiver.url());
    const rotated = await scene.api('POST', `/webhooks/${hook.id}/rotate-secret`, { key: team.key });
    const signatures = async (): Promise<number> => {
      await happen(scene, team);
      await scene.settled();
      return receiver.requests.at(-1)?.headers['svix-signature']?.toString().split(' ').length ?? 0;
    };
    expect(await signatures()).toBe(2);
    const { body, headers } = receiver.requests.at(-1) ?? { body: '', headers: {} };
    for (const secret of [hook.secret, rotated.body.signing_secret as string]) {
      expect(() => new Webhook(secret).verify(body, headers as Record<string, string>)).not.toThrow();
    }
    scene.clock.advance(24 * HOUR - 1);
    expect(await signatures()).toBe(2);
    scene.clock.advance(1);
    expect(await signatures()).toBe(1);
  });
});
