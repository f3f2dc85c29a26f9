import net from 'node:net';
import { describe, expect, it } from 'vitest';
import { administerTeam } from '../../src/tenancy/teams/index.ts';
import { ALLOWED, startDoorbell } from '../rig/file-server.ts';
import { freePort } from '../rig/free-port.ts';
import { startScene, type Scene, type Team } from '../rig/scene.ts';
import { sceneFor, startWebhookReceiver, type Reply, type WebhookReceiver } from '../rig/webhook-receiver.ts';
import { plantWebhook } from '../rig/webhooks.ts';
import { mailIn, MINUTE, SECOND } from './mail.ts';
import { advanceToNextTry, happen, hookAt, loadOutbox } from './webhook-scene.ts';

interface AttemptRow {
  http_status_code: number | null;
  response: string | null;
  error: string | null;
}

const listAttempts = (scene: Scene, webhookId: string): Promise<AttemptRow[]> =>
  scene.app.world.db.all(
    'select http_status_code, response, error from webhook_attempts where webhook_id = ? order by id',
    [webhookId],
  );

async function withHook(
  work: (parts: { scene: Scene; receiver: WebhookReceiver; team: Team; hookId: string }) => Promise<void>,
): Promise<void> {
  await using receiver = await startWebhookReceiver();
  await using scene = await startScene(sceneFor(receiver));
  receiver.publishIn(scene.dns);
  const team = await scene.team();
  const { id: hookId } = await hookAt(scene, team, receiver.url('/hook'));
  await work({ scene, receiver, team, hookId });
}

describe('the response to a webhook', () => {
  it('is a success with any status from 200 to 299, and redirects are not followed', async () => {
    await withHook(async ({ scene, receiver, team }) => {
      const hooks = new Map<number, string>();
      for (const status of [200, 204, 299, 301, 302, 304, 307, 400, 410, 429, 500]) {
        const path = `/${status}`;
        receiver.reply((response) => response.writeHead(status, { location: receiver.url('/elsewhere') }).end(), path);
        hooks.set(status, (await hookAt(scene, team, receiver.url(path))).id);
      }
      await happen(scene, team);
      await scene.settled();
      for (const [status, hookId] of hooks) {
        const outcome = status < 300 ? 'success' : 'attempting';
        expect(await loadOutbox(scene, hookId)).toMatchObject([{ status: outcome, last_http_status: status }]);
      }
      const asked = ['/hook', ...[...hooks.keys()].map((status) => `/${status}`)];
      expect(receiver.requests.map(({ path }) => path).sort()).toEqual(asked.sort());
    });
  });

  it('is stored up to 8 KB, truncated between characters, without waiting for the remaining bytes', async () => {
    await withHook(async ({ scene, receiver, team, hookId }) => {
      receiver.reply((response) => void response.writeHead(200).write(`\0${'ä'.repeat(5000)}`));
      await happen(scene, team);
      await scene.settled();
      const [row] = await listAttempts(scene, hookId);
      expect(row).toMatchObject({ http_status_code: 200, error: null });
      expect(row?.response).toBe(`\ufffd${'ä'.repeat(4094)}`);
    });
  });

  it('of exactly 8 KB is stored whole, and bytes that are no text are replaced', async () => {
    await withHook(async ({ scene, receiver, team, hookId }) => {
      receiver.reply((response) => response.writeHead(500).end('x'.repeat(8192)));
      await happen(scene, team);
      await scene.settled();
      receiver.reply((response) => response.writeHead(500).end(Buffer.from([0x66, 0xff, 0xfe])));
      await advanceToNextTry(scene, hookId);
      const rows = await listAttempts(scene, hookId);
      expect(rows.map((row) => row.response)).toEqual(['x'.repeat(8192), 'f\ufffd\ufffd']);
    });
  });
});

describe('the timeout of ten seconds', () => {
  it.each<[string, Reply]>([
    ['says nothing', () => undefined],
    ['sends a status and no body', (response) => void response.writeHead(200).flushHeaders()],
    ['lets its body drip', (response) => void response.writeHead(200).write('a')],
  ])('applies to an endpoint that %s', async (_what, reply) => {
    await withHook(async ({ scene, receiver, team, hookId }) => {
      receiver.reply(reply);
      await happen(scene, team);
      await receiver.until(1);
      scene.clock.advance(10 * SECOND - 1);
      expect(await listAttempts(scene, hookId)).toEqual([]);
      scene.clock.advance(1);
      await scene.settled();
      expect(await listAttempts(scene, hookId)).toEqual([
        { http_status_code: null, response: null, error: 'The endpoint did not respond within 10 seconds.' },
      ]);
      expect(await loadOutbox(scene, hookId)).toMatchObject([{ status: 'attempting', last_http_status: null }]);
    });
  });

  it('applies to a server that never finishes its handshake', async () => {
    const sockets: net.Socket[] = [];
    const silent = net.createServer((socket) => void sockets.push(socket.on('error', () => undefined)));
    await new Promise<void>((resolve) => silent.listen(0, ALLOWED, resolve));
    await withHook(async ({ scene, team, receiver }) => {
      const { port } = silent.address() as net.AddressInfo;
      const connected = new Promise<void>((resolve) => silent.once('connection', () => resolve()));
      const id = await plantWebhook(scene, team, { endpoint: `https://${receiver.host}:${port}/` });
      await happen(scene, team);
      await connected;
      scene.clock.advance(10 * SECOND);
      await scene.settled();
      expect(await listAttempts(scene, id)).toMatchObject([{ error: expect.stringContaining('within 10 seconds') }]);
    });
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => silent.close(resolve));
  });
});

describe('a faulty endpoint', () => {
  it('gets failed attempts that say what was wrong, and no more than its team may know', async () => {
    await withHook(async ({ scene, team, receiver }) => {
      await using inside = await startDoorbell();
      const port = await freePort();
      scene.dns.set('other.test', 'A', [ALLOWED]);
      scene.dns.set('inside.test', 'A', ['127.0.0.1']);
      const told: Record<string, unknown> = {};
      for (const endpoint of [
        `https://${receiver.host}:${port}/`,
        `https://other.test:${receiver.port}/`,
        `https://inside.test:${inside.port}/`,
        `https://127.0.0.1:${inside.port}/`,
        `https://nowhere.invalid/`,
      ]) {
        told[endpoint] = await plantWebhook(scene, team, { endpoint });
      }
      await happen(scene, team);
      await scene.settled();
      const errors = [];
      for (const id of Object.values(told)) errors.push((await listAttempts(scene, id as string))[0]?.error);
      expect(errors).toEqual([
        'The endpoint could not be reached.',
        'The TLS handshake failed: ERR_TLS_CERT_ALTNAME_INVALID.',
        'The host of the endpoint has no public address.',
        'The host of the endpoint has no public address.',
        'The host of the endpoint has no public address.',
      ]);
      expect(inside.rings()).toBe(0);
    });
  });

  it('that breaks off the connection gets one failed attempt', async () => {
    await withHook(async ({ scene, receiver, team, hookId }) => {
      receiver.reply((response) => void response.socket?.destroy());
      await happen(scene, team);
      await scene.settled();
      expect(receiver.requests).toHaveLength(1);
      expect(await listAttempts(scene, hookId)).toMatchObject([
        { error: expect.stringContaining('closed the connection') },
      ]);
    });
  });

  it('whose host has a private address at delivery is not contacted, whatever it was when it was added', async () => {
    await withHook(async ({ scene, receiver, team, hookId }) => {
      await using inside = await startDoorbell();
      scene.dns.set(receiver.host, 'A', ['127.0.0.1']);
      // DNS answers are cached for a minute.
      scene.clock.advance(10 * MINUTE);
      await scene.settled();
      await happen(scene, team);
      await scene.settled();
      expect(receiver.requests).toHaveLength(0);
      expect(inside.rings()).toBe(0);
      expect(await listAttempts(scene, hookId)).toMatchObject([
        { error: expect.stringContaining('no public address') },
      ]);
    });
  });
});

describe('the next event', () => {
  it('is sent one at a time and in order to an endpoint that keeps pace', async () => {
    await withHook(async ({ scene, receiver, team }) => {
      const ids: string[] = [];
      for (let i = 0; i < 20; i++) {
        ids.push(...(await happen(scene, team)));
        await scene.settled();
      }
      const seen = receiver.requests.map(({ headers }) => headers['svix-id']);
      expect(seen).toEqual(ids.map((id) => `msg_${id.replaceAll('-', '')}`));
      expect(receiver.connections()).toBeLessThanOrEqual(2);
    });
  });

  it('does not wait for a retry', async () => {
    await withHook(async ({ scene, receiver, team, hookId }) => {
      receiver.reply(500);
      await happen(scene, team);
      await scene.settled();
      receiver.reply(200);
      await happen(scene, team);
      await scene.settled();
      expect((await loadOutbox(scene, hookId)).map((row) => row.status)).toEqual(['attempting', 'success']);
    });
  });

  it('is not sent to a disabled or deleted endpoint, and a changed address applies at once', async () => {
    await withHook(async ({ scene, receiver, team, hookId }) => {
      const path = `/webhooks/${hookId}`;
      receiver.reply(500);
      await happen(scene, team);
      await scene.settled();
      await scene.api('PATCH', path, { key: team.key, body: { endpoint: receiver.url('/new') } });
      await advanceToNextTry(scene, hookId);
      await scene.api('PATCH', path, { key: team.key, body: { status: 'disabled' } });
      await happen(scene, team);
      scene.clock.advance(MINUTE);
      await scene.settled();
      expect(receiver.requests.map((request) => request.path)).toEqual(['/hook', '/new']);
      expect(await loadOutbox(scene, hookId)).toMatchObject([
        { parked: 1, due_at: null },
        { parked: 1, due_at: null },
      ]);
      await scene.api('PATCH', path, { key: team.key, body: { status: 'enabled' } });
      receiver.reply(200);
      await happen(scene, team);
      await scene.settled();
      expect(receiver.requests).toHaveLength(3);
      await scene.api('DELETE', path, { key: team.key });
      await happen(scene, team);
      await scene.settled();
      expect(receiver.requests).toHaveLength(3);
    });
  });

  it('waits while the team is suspended, and is sent when it is resumed', async () => {
    await withHook(async ({ scene, receiver, team, hookId }) => {
      await administerTeam(scene.app.world, team.id, { riskState: 'suspended' });
      await happen(scene, team);
      scene.clock.advance(MINUTE);
      await scene.settled();
      expect(receiver.requests).toHaveLength(0);
      expect(await loadOutbox(scene, hookId)).toMatchObject([{ status: 'pending', attempt_count: 0 }]);
      await administerTeam(scene.app.world, team.id, { riskState: 'normal' });
      await scene.settled();
      expect(receiver.requests).toHaveLength(1);
    });
  });
});

describe('one endpoint', () => {
  it('that never responds delays neither the others nor mail', async () => {
    await using receiver = await startWebhookReceiver();
    await using scene = await startScene(sceneFor(receiver));
    receiver.publishIn(scene.dns);
    const mail = await mailIn(scene);
    await hookAt(scene, mail.team, receiver.url('/dead'));
    await hookAt(scene, mail.team, receiver.url('/alive'));
    receiver.reply(() => undefined, '/dead');
    const ids = await Promise.all(Array.from({ length: 30 }, () => mail.send('a@one.example')));
    await receiver.until(30, '/alive');
    await scene.app.queue?.idle();
    for (const id of ids) expect((await mail.account(id)).state).toBe('delivered');
    // A window of one, however long the line is: it has never answered.
    expect(receiver.requests.filter(({ path }) => path === '/dead')).toHaveLength(1);
  });

  it('gets more concurrent requests while it responds well and has a backlog, up to its limit', async () => {
    await withHook(async ({ scene, receiver, team }) => {
      let open = 0;
      let most = 0;
      // The first is answered at once; then none until a second comes beside it, whatever the machine has to do.
      const held: (() => void)[] = [];
      receiver.reply((response) => {
        most = Math.max(most, ++open);
        held.push(() => {
          open--;
          response.writeHead(200).end();
        });
        if (receiver.requests.length === 1 || most > 1)
          setImmediate(() => held.splice(0).forEach((answer) => answer()));
      });
      await happen(scene, team, 500);
      await scene.settled();
      expect(receiver.requests).toHaveLength(500);
      expect(new Set(receiver.requests.map(({ headers }) => headers['svix-id'])).size).toBe(500);
      // How far it grows depends on how quickly it answers: the window's own tests say how.
      expect(most).toBeGreaterThan(1);
      expect(most).toBeLessThanOrEqual(32);
      // However many answers came together, they used few connections.
      expect(receiver.connections()).toBeLessThanOrEqual(33);
    });
  });

  it('gets one request at a time while its responses have no end, however many events wait', async () => {
    await withHook(async ({ scene, receiver, team, hookId }) => {
      let open = 0;
      let most = 0;
      receiver.reply((response) => {
        most = Math.max(most, ++open);
        response.once('close', () => open--);
        response.writeHead(200).write('a'.repeat(100_000));
      });
      await happen(scene, team, 60);
      await scene.settled();
      expect(receiver.requests).toHaveLength(60);
      expect((await loadOutbox(scene, hookId)).every(({ status }) => status === 'success')).toBe(true);
      // One connection may be closing while the next is open.
      expect(most).toBeLessThanOrEqual(2);
    });
  });
});
