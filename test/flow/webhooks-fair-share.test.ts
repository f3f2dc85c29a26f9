import { describe, expect, it } from 'vitest';
import { ALLOWED } from '../rig/file-server.ts';
import { startRawEndpoint, startResetting } from '../rig/raw-endpoint.ts';
import { startScene } from '../rig/scene.ts';
import { sceneFor, startWebhookReceiver } from '../rig/webhook-receiver.ts';
import { plantWebhook } from '../rig/webhooks.ts';
import { happen, hookAt, loadOutbox } from './webhook-scene.ts';

describe('a team whose endpoints were fast and then stop responding', () => {
  it('leaves room for another team, however long its requests take', async () => {
    await using receiver = await startWebhookReceiver();
    const config = { webhooks: { max_in_flight: 16 } };
    await using scene = await startScene(sceneFor(receiver, { config }));
    receiver.publishIn(scene.dns);
    const greedy = await scene.team();
    const modest = await scene.team();
    /** So many answers come at once, and no more after them. */
    const answering = (paths: string[], count: number): void => {
      let left = count;
      for (const path of paths) receiver.reply((response) => void (left-- > 0 && response.writeHead(200).end()), path);
    };
    const paths = ['/a0', '/a1', '/a2'];
    for (const path of paths) await hookAt(scene, greedy, receiver.url(path));
    await hookAt(scene, modest, receiver.url('/b'));
    answering(paths, 900);
    await happen(scene, greedy, 500);
    // Half of the shared places, and the one that each endpoint has to itself.
    await receiver.until(900 + 8 + 3);
    answering(['/b'], 400);
    await happen(scene, modest, 500);
    // Half of what the others left.
    await receiver.until(400 + 4 + 1, '/b');
    expect(receiver.requests).toHaveLength(900 + 8 + 3 + 400 + 4 + 1);
  });
});

describe('a team with two hundred dead endpoints', () => {
  it('does not affect the events of another team', async () => {
    await using receiver = await startWebhookReceiver();
    const config = { webhooks: { max_in_flight: 16 } };
    await using scene = await startScene(sceneFor(receiver, { config }));
    receiver.publishIn(scene.dns);
    const dead = await scene.team();
    const alive = await scene.team();
    for (let n = 0; n < 200; n++) {
      receiver.reply(() => undefined, `/dead${n}`);
      await plantWebhook(scene, dead, { endpoint: receiver.url(`/dead${n}`) });
    }
    const hook = await plantWebhook(scene, alive, { endpoint: receiver.url('/alive') });
    await happen(scene, dead, 3);
    await receiver.until(200);
    await happen(scene, alive, 300);
    await receiver.until(300, '/alive');
    await expect
      .poll(async () => (await loadOutbox(scene, hook)).filter(({ status }) => status !== 'success').length)
      .toBe(0);
    // Each of the others has one request under way still, and never had more.
    expect(receiver.requests).toHaveLength(500);
  });
});

describe('an endpoint whose response never ends', () => {
  const LONG = `HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n${'a'.repeat(9000)}`;

  it.each<[string, string, object | undefined]>([
    ['its address is changed', 'PATCH', { endpoint: 'https://hooks.test/elsewhere' }],
    ['it is disabled', 'PATCH', { status: 'disabled' }],
    ['it is deleted', 'DELETE', undefined],
  ])('has no connection left when %s', async (_what, method, change) => {
    await using raw = await startRawEndpoint((socket) => void socket.write(LONG));
    await using receiver = await startWebhookReceiver();
    await using scene = await startScene(sceneFor(receiver, { trustedCa: [raw.certificate.cert] }));
    receiver.publishIn(scene.dns);
    scene.dns.set(raw.host, 'A', [ALLOWED]);
    const team = await scene.team();
    const { id } = await hookAt(scene, team, `https://${raw.host}:${raw.port}/`);
    await happen(scene, team, 10);
    await scene.settled();
    const body = change && 'endpoint' in change ? { endpoint: receiver.url('/elsewhere') } : change;
    const changed = await scene.api(method as 'PATCH', `/webhooks/${id}`, { key: team.key, ...(body ? { body } : {}) });
    expect(changed.status).toBe(200);
    expect(raw.requests()).toBe(10);
    await raw.untilOpen(0);
  });
});

describe('a faulty response', () => {
  it.each([
    ['SSH-2.0-OpenSSH\r\n\r\n', 'The response is not HTTP/1.1: Expected HTTP/, RTSP/ or ICE/.'],
    ['HTTP/1.1 103 A\r\n\r\n'.repeat(17), 'interim responses (1xx)'],
    ['\r\n'.repeat(70_000), 'more than 128 KB'],
    ['HTTP/1.1 101 A\r\n\r\n', '101 Switching Protocols'],
    [`HTTP/1.1 200 A\r\na: ${'b'.repeat(17_000)}\r\n\r\n`, 'longer than 16 KB'],
    ['HTTP/1.1 200 A\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\na', 'Content-Length'],
  ])('is described to its team, %#', async (bytes, sentence) => {
    await using raw = await startRawEndpoint((socket) => void socket.write(bytes));
    await using receiver = await startWebhookReceiver();
    await using scene = await startScene(sceneFor(receiver, { trustedCa: [raw.certificate.cert] }));
    scene.dns.set(raw.host, 'A', [ALLOWED]);
    const team = await scene.team();
    const id = await plantWebhook(scene, team, { endpoint: `https://${raw.host}:${raw.port}/` });
    await happen(scene, team);
    await scene.settled();
    const rows = await scene.app.world.db.all('select error from webhook_attempts where webhook_id = ?', [id]);
    expect(rows).toEqual([{ error: expect.stringContaining(sentence) }]);
  });

  it('is not reported as a missing public address when each connection is reset', async () => {
    await using resetting = await startResetting();
    await using receiver = await startWebhookReceiver();
    await using scene = await startScene(sceneFor(receiver));
    receiver.publishIn(scene.dns);
    const team = await scene.team();
    const id = await plantWebhook(scene, team, { endpoint: `https://${receiver.host}:${resetting.port}/` });
    await happen(scene, team, 10);
    await scene.settled();
    const rows = await scene.app.world.db.all<{ error: string }>(
      'select distinct error from webhook_attempts where webhook_id = ?',
      [id],
    );
    for (const { error } of rows) expect(error).toMatch(/could not be reached|TLS handshake failed/);
  });
});
