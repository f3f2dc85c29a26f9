import { describe, expect, it } from 'vitest';
import { startApp, type App } from '../../src/app.ts';
import { createLog } from '../../src/platform/log/index.ts';
import { driver } from '../rig/database.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { sceneFor, startWebhookReceiver, type WebhookReceiver } from '../rig/webhook-receiver.ts';
import { plantWebhook } from '../rig/webhooks.ts';
import { happen, loadOutbox } from './webhook-scene.ts';

const LEASE_SECONDS = 30;

/** Another process on the same database, but for the process. */
function startNode(scene: Scene, receiver: WebhookReceiver, log: string[] = []): Promise<App> {
  return startApp({
    config: scene.app.world.config,
    dataDir: scene.dataDir,
    clock: scene.clock,
    version: '0.0.0-test',
    log: createLog({ level: 'debug', format: 'json', write: (line) => void log.push(line) }),
    trustedCa: [receiver.certificate.cert],
    roles: ['delivery'],
  });
}

// runs only on PostgreSQL: SQLite has one process.
describe.runIf(driver === 'pg')('two nodes that send webhooks', () => {
  it('share the endpoints, and send each event to each of them once', async () => {
    await using receiver = await startWebhookReceiver();
    await using scene = await startScene(sceneFor(receiver));
    receiver.publishIn(scene.dns);
    const node = await startNode(scene, receiver);
    try {
      const team = await scene.team();
      const hooks: string[] = [];
      for (let n = 0; n < 8; n++) hooks.push(await plantWebhook(scene, team, { endpoint: receiver.url(`/${n}`) }));
      for (let i = 0; i < 10; i++) {
        await happen(scene, team, 20);
        // Each node finds what the other one recorded at its next poll.
        scene.clock.advance(1000);
        await Promise.all([scene.settled(), node.webhooks?.idle()]);
      }
      await receiver.until(8 * 200);
      scene.clock.advance(1000);
      await Promise.all([scene.settled(), node.webhooks?.idle()]);
      expect(receiver.requests).toHaveLength(8 * 200);
      for (const hook of hooks) {
        const rows = await loadOutbox(scene, hook);
        expect(rows.filter((row) => row.status !== 'success' || row.attempt_count !== 1)).toEqual([]);
      }
    } finally {
      await node.close(0);
    }
  });

  it('take over from each other: at once after a stop, and after the lease from one that is gone', async () => {
    await using receiver = await startWebhookReceiver();
    await using scene = await startScene(sceneFor(receiver, { roles: ['http'] }));
    receiver.publishIn(scene.dns);
    const team = await scene.team();
    const hook = await plantWebhook(scene, team, { endpoint: receiver.url() });
    const first = await startNode(scene, receiver);
    await happen(scene, team);
    scene.clock.advance(1000);
    await receiver.until(1);
    // A request that is cut off before its answer is read is sent again; another test covers that.
    await first.webhooks?.idle();
    await first.close(0);

    const second = await startNode(scene, receiver);
    try {
      await happen(scene, team);
      scene.clock.advance(1000);
      await receiver.until(2);
      await second.webhooks?.idle();
      // Another process has taken it and died.
      await scene.app.world.db.run('update webhooks set lease_owner = ?, lease_until = ? where id = ?', [
        'gone',
        scene.clock.now() + LEASE_SECONDS * 1000,
        hook,
      ]);
      await happen(scene, team);
      scene.clock.advance((LEASE_SECONDS - 1) * 1000);
      await second.webhooks?.idle();
      expect(receiver.requests).toHaveLength(2);
      scene.clock.advance(1000);
      await receiver.until(3);
    } finally {
      await second.close(0);
    }
  });
});

describe('a stop of webhook sending', () => {
  it('lets requests in progress end, and waits no longer than allowed', async () => {
    await using receiver = await startWebhookReceiver();
    await using scene = await startScene(sceneFor(receiver));
    receiver.publishIn(scene.dns);
    const team = await scene.team();
    const hook = await plantWebhook(scene, team, { endpoint: receiver.url() });
    let answer = (): void => undefined;
    receiver.reply((response) => void (answer = () => void response.writeHead(200).end()));
    await happen(scene, team);
    await receiver.until(1);
    const stopping = scene.app.webhooks?.stop(60_000);
    answer();
    await stopping;
    expect(await loadOutbox(scene, hook)).toMatchObject([{ status: 'success' }]);

    await scene.restart();
    const [id] = await happen(scene, team);
    await receiver.until(2);
    await scene.app.webhooks?.stop(0);
    const cut = (await loadOutbox(scene, hook)).find((row) => row.event_id === id);
    // The event counts as not tried: the next start sends it again, under the same id.
    expect(cut).toMatchObject({ status: 'pending', attempt_count: 0, due_at: expect.any(Number) });
    receiver.reply(200);
    await scene.restart();
    await scene.settled();
    const [, before, again] = receiver.requests;
    expect(again?.headers['svix-id']).toBe(before?.headers['svix-id']);
    expect(again?.body).toBe(before?.body);
  });
});
