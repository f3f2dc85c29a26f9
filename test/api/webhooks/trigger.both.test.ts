import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { Webhook } from 'svix';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadContract } from '../../../src/contract/index.ts';
import { hookAt } from '../../flow/webhook-scene.ts';
import { startScene, type Scene } from '../../rig/scene.ts';
import { sceneFor, startWebhookReceiver, type WebhookReceiver } from '../../rig/webhook-receiver.ts';
import { plantWebhook } from '../../rig/webhooks.ts';

const TYPES = (loadContract().components.schemas.WebhookEventType?.enum ?? []).map(String);

let receiver: WebhookReceiver;
let scene: Scene;
beforeAll(async () => {
  receiver = await startWebhookReceiver();
  scene = await startScene(sceneFor(receiver));
  receiver.publishIn(scene.dns);
});
afterAll(async () => {
  await scene.close();
  await receiver.close();
});

/** Returns a check of a payload against the section `webhooks` of the server's description for its type. */
async function createPayloadCheck() {
  const ajv = new Ajv2020({ strict: false });
  formats.default(ajv);
  ajv.addSchema((await scene.api('GET', '/openapi.json')).body, 'description');
  return (type: string, payload: unknown): unknown[] => {
    const schema = `description#/webhooks/${type}/post/requestBody/content/application~1json/schema`;
    const validate = ajv.compile({ $ref: schema });
    return validate(payload) ? [] : (validate.errors ?? []);
  };
}

const trigger = (key: string, body: object) => scene.api('POST', '/webhooks/trigger', { key, body });

describe('POST /webhooks/trigger', () => {
  it('sends a sample of every type with a cause: signed, marked as a test, and as the contract defines', async () => {
    const team = await scene.team();
    const hook = await hookAt(scene, team, receiver.url('/all'), TYPES);
    for (const type of TYPES) {
      const { status, body } = await trigger(team.key, { type });
      expect([status, body]).toEqual([
        200,
        { object: 'webhook_trigger', id: body.id as string, type, webhooks: [hook.id], listeners: 0 },
      ]);
      const event = await scene.api('GET', `/webhooks/${hook.id}/events/${body.id}`, { key: team.key });
      expect(event.body).toMatchObject({ id: body.id as string, type, test: true, payload: { type } });
      scene.clock.advance(1000);
    }
    const requests = await receiver.until(TYPES.length, '/all');
    await scene.settled();
    expect(requests.map(({ payload }) => payload.type).sort()).toEqual(TYPES.toSorted());
    const check = await createPayloadCheck();
    for (const { payload } of requests) expect(check(payload.type, payload), payload.type).toEqual([]);
    expect(check('email.clicked', { ...requests[0]?.payload, type: 'email.clicked' })).not.toEqual([]);
    const listed = await scene.api('GET', `/webhooks/${hook.id}/events?limit=100`, { key: team.key });
    const rows = listed.body.data as { id: string; status: string; test: boolean }[];
    expect(rows.map(({ status, test }) => [status, test])).toEqual(TYPES.map(() => ['success', true]));
    const { body, headers, payload } = requests.find((request) => request.payload.type === 'email.bounced')!;
    expect(rows.map(({ id }) => id)).toContain(headers['svix-id']);
    expect(payload.data).toMatchObject({
      to: ['someone@example.org'],
      bounce: { type: 'Permanent', subType: 'NoEmail' },
    });
    // The clock of the scene is not that of the library.
    const verify = () => new Webhook(hook.secret).verify(body, headers as Record<string, string>);
    expect(verify).not.toThrow(/No matching signature/);
  });

  it('changes nothing and is not counted in metrics', async () => {
    const team = await scene.team();
    await hookAt(scene, team, receiver.url('/quiet'), ['email.bounced', 'suppression.added']);
    for (const type of ['email.bounced', 'suppression.added']) {
      expect((await trigger(team.key, { type })).status).toBe(200);
    }
    await receiver.until(2, '/quiet');
    await scene.settled();
    for (const path of ['/emails', '/suppressions', '/domains', '/contacts']) {
      expect((await scene.api('GET', path, { key: team.key })).body.data).toEqual([]);
    }
    const { db } = scene.app.world;
    expect(await db.all('select * from events where team_id = ?', [team.id])).toEqual([]);
    expect(await db.all('select * from metric_counts where team_id = ?', [team.id])).toEqual([]);
  });

  it('reaches endpoints that take the type, or the one that is named', async () => {
    const team = await scene.team();
    const one = await plantWebhook(scene, team, { events: ['email.sent'] });
    const two = await plantWebhook(scene, team, { events: ['email.sent', 'email.opened'] });
    await plantWebhook(scene, team, { events: ['email.sent'], status: 'disabled' });
    expect((await trigger(team.key, { type: 'email.sent' })).body.webhooks).toEqual([one, two]);
    expect((await trigger(team.key, { type: 'email.opened' })).body.webhooks).toEqual([two]);
    expect((await trigger(team.key, { type: 'email.sent', webhook_id: two })).body.webhooks).toEqual([two]);
  });

  it('returns the reason and stores nothing if nobody would get it', async () => {
    const team = await scene.team();
    const takes = await plantWebhook(scene, team, { events: ['email.sent'] });
    const disabled = await plantWebhook(scene, team, { events: ['email.failed'], status: 'disabled' });
    const theirs = await plantWebhook(scene, await scene.team(), { events: ['email.sent'] });
    const refused = async (body: object) => {
      const answer = await trigger(team.key, body);
      return [answer.status, answer.body.message];
    };
    expect(await refused({ type: 'email.failed' })).toEqual([
      422,
      'No enabled webhook and no listener subscribes to email.failed.',
    ]);
    expect(await refused({ type: 'email.failed', webhook_id: disabled })).toEqual([
      422,
      `The webhook ${disabled} is disabled; enable it first.`,
    ]);
    expect(await refused({ type: 'email.failed', webhook_id: takes })).toEqual([
      422,
      `The webhook ${takes} does not subscribe to email.failed; add it to its events.`,
    ]);
    expect((await refused({ type: 'email.sent', webhook_id: theirs }))[0]).toBe(404);
    expect((await refused({ type: 'email.sent', webhook_id: 'x' }))[0]).toBe(400);
    expect((await refused({ type: 'email.snet' }))[0]).toBe(400);
    expect(await scene.app.world.db.all('select * from webhook_payloads where team_id = ?', [team.id])).toEqual([]);
  });
});
