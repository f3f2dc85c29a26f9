import net from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newSigningSecret } from '../../../src/features/webhooks/endpoints/webhooks.ts';
import { happen, hookAt, loadOutbox } from '../../flow/webhook-scene.ts';
import { ALLOWED, PRIVATE_URLS, startDoorbell, type Doorbell } from '../../rig/file-server.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';
import { sceneFor, startWebhookReceiver, type WebhookReceiver } from '../../rig/webhook-receiver.ts';

/** Names whose owners have pointed them into our network. */
const ZONES = {
  'a.inside.test': { A: ['127.0.0.1'] },
  'all-a.inside.test': { A: ['127.0.0.1', '127.0.0.3', '10.0.0.1'] },
  'aaaa.inside.test': { AAAA: ['::1'] },
  'mapped.inside.test': { AAAA: ['::ffff:127.0.0.1'] },
  'nat64.inside.test': { AAAA: ['64:ff9b::7f00:1'] },
  '6to4.inside.test': { AAAA: ['2002:7f00:1::'] },
  'teredo.inside.test': { AAAA: ['2001:0:7f00:1::'] },
  'local.inside.test': { AAAA: ['fe80::1', 'fd00::1'] },
  'both.inside.test': { A: ['127.0.0.1'], AAAA: ['::1'] },
  'zero.inside.test': { A: ['0.0.0.0'], AAAA: ['::'] },
  'cname.inside.test': { CNAME: ['a.inside.test'] },
  'metadata.google.internal': { A: ['169.254.169.254'] },
  'instance-data.ec2.internal': { A: ['169.254.169.254'] },
  '127.0.0.1.nip.test': { A: ['127.0.0.1'] },
  'xn--lochost-4ve.test': { A: ['127.0.0.1'] },
  'empty.inside.test': { A: [] },
  'absent.inside.test': { ANY: 'NXDOMAIN' as const },
};

/** Each leads inside, in some spelling, so that only its address reveals it; PORT stands for a port that listens. */
const INSIDE = [
  ...PRIVATE_URLS.filter((url) => url.startsWith('https://')),
  'HTTPS://127.0.0.1:PORT/',
  'https://127.0.0.1:PORT/?https://example.com/',
  'https://3232235521:PORT/',
  'https://0xc0a80001:PORT/',
  'https://0300.0250.1:PORT/',
  'https://[::ffff:a9fe:a9fe]:PORT/',
  'https://[::ffff:0:127.0.0.1]:PORT/',
  'https://[64:ff9b::a9fe:a9fe]:PORT/',
  'https://192.0.0.8:PORT/',
  'https://192.0.2.1:PORT/',
  'https://192.88.99.1:PORT/',
  'https://[2001:db8::1]:PORT/',
  'https://[ff05::1]:PORT/',
  'https://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ:PORT/',
  'https://ｌｏｃａｌｈｏｓｔ:PORT/',
  'https://local\u00ADhost:PORT/',
  'https://loc%61lhost:PORT/',
  'https://foo.localhost:PORT/',
  'https://localhost.localdomain:PORT/',
  'https://127.0.0.1.nip.test:PORT/',
  'https://loc\u0430lhost.test:PORT/',
  ...Object.keys(ZONES).map((name) => `https://${name}:PORT/`),
  'https://A.INSIDE.TEST.:PORT/',
];

/** URLs that an endpoint may not have, wherever they lead. */
const MALFORMED = [
  'http://127.0.0.1:PORT/',
  'http://a.inside.test:PORT/',
  'javascript:alert(1)//https://example.com/',
  'data:text/html,https://example.com/',
  'file:///etc/passwd',
  'gopher://127.0.0.1:PORT/_POST',
  'ftp://127.0.0.1:PORT/',
  'wss://127.0.0.1:PORT/',
  'unix:/run/rasket.sock',
  '//127.0.0.1:PORT/',
  '127.0.0.1:PORT',
  'https:127.0.0.1:PORT/',
  'https:/127.0.0.1:PORT/',
  'https:///127.0.0.1:PORT/',
  'https:\\\\127.0.0.1:PORT\\',
  'https://',
  'https://:PORT/',
  'https://127.0.0.1:65536/',
  'https://127.0.0.256:PORT/',
  'https://0x100000000:PORT/',
  'https://1.2.3.4.5:PORT/',
  'https://[::1:PORT/',
  'https://[::1%25lo]:PORT/',
  'https://[fe80::1%eth0]:PORT/',
  'https://user@127.0.0.1:PORT/',
  'https://user:secret@127.0.0.1:PORT/',
  'https://example.com@127.0.0.1:PORT/',
  'https://example.com\\@127.0.0.1:PORT/',
  'https://127.0.0.1:PORT#@example.com/',
  'https://127.0.0.1:PORT/#',
  ' https://127.0.0.1:PORT/',
  'https://127.0.0.1 :PORT/',
  'https://127.0.0.1\t:PORT/',
  'https://127.0.0.1:PORT/\r\nHost: example.com',
  'https://a\u0000.inside.test:PORT/',
  `https://127.0.0.1:PORT/${'a'.repeat(2048)}`,
];

const NO_PUBLIC_ADDRESS =
  'endpoint cannot be used: its host has no public address; it must resolve to an address that can be reached from the internet.';

describe('webhook endpoints inside the network', () => {
  let receiver: WebhookReceiver;
  let doorbell: Doorbell;
  let scene: Scene;
  let team: Team;
  /** The endpoint that is to be changed. */
  let standing: string;
  let bell: Bell;
  beforeAll(async () => {
    ({ receiver, bell } = await startReceiverWithBell());
    doorbell = await startDoorbell();
    scene = await startScene(sceneFor(receiver));
    receiver.publishIn(scene.dns);
    for (const [name, records] of Object.entries(ZONES)) {
      for (const [type, values] of Object.entries(records)) scene.dns.set(name, type as 'A', values);
    }
    scene.dns.set('localhost', 'A', ['127.0.0.1']);
    scene.dns.set('*.localhost', 'A', ['127.0.0.1']);
    scene.dns.set('localhost.localdomain', 'A', ['127.0.0.1']);
    team = await scene.team();
    standing = (await hookAt(scene, team, receiver.url(), ['email.bounced'])).id;
  });
  afterAll(async () => {
    await scene.close();
    await receiver.close();
    bell.server.close();
    await doorbell[Symbol.asyncDispose]();
  });
  const within = (url: string): string => url.replace('PORT', String(doorbell.port));
  const fetchAddress = async (id: string): Promise<string> =>
    (await scene.api('GET', `/webhooks/${id}`, { key: team.key })).body.endpoint as string;

  it('would be noticed by the doorbell of these tests', async () => {
    await using bell = await startDoorbell();
    await new Promise<void>((resolve) => net.connect(bell.port, '127.0.0.1').on('error', resolve).on('close', resolve));
    expect(bell.rings()).toBe(1);
    expect(INSIDE.length + MALFORMED.length).toBeGreaterThan(100);
  });

  describe('at creation and at a change', () => {
    const attempt = async (url: string, expected: object): Promise<void> => {
      const body = { endpoint: within(url), events: ['email.sent'] };
      const created = await scene.api('POST', '/webhooks', { key: team.key, body });
      expect(created).toMatchObject(expected);
      const { endpoint } = body;
      const changed = await scene.api('PATCH', `/webhooks/${standing}`, { key: team.key, body: { endpoint } });
      expect(changed).toMatchObject(expected);
      expect(await fetchAddress(standing)).toBe(receiver.url());
      expect(doorbell.rings()).toBe(0);
    };

    it.each(INSIDE)('are refused for their address: %s', async (url) => {
      await attempt(url, { status: 422, body: { name: 'validation_error', message: NO_PUBLIC_ADDRESS } });
    });

    it.each(MALFORMED.map((url) => [url.slice(0, 60), url]))('are refused for their text: %j', async (_, url) => {
      await attempt(url, { status: 400, body: { name: 'validation_error', errors: [{ path: 'endpoint' }] } });
    });

    it('get the same error as names that do not exist, so that nothing is revealed', async () => {
      const answers = await Promise.all(
        ['absent.inside.test', 'a.inside.test', 'metadata.google.internal'].map((name) =>
          scene.api('POST', '/webhooks', {
            key: team.key,
            body: { endpoint: `https://${name}:${doorbell.port}/`, events: ['email.sent'] },
          }),
        ),
      );
      expect(new Set(answers.map((answer) => JSON.stringify([answer.status, answer.body.message]))).size).toBe(1);
    });

    it('cannot use a second DNS answer, because a name is resolved once per connection', async () => {
      const name = 'once.hooks.test';
      await hookAt(scene, team, `https://${name}:${receiver.port}/`);
      expect(
        scene.dns.queries
          .filter((query) => query.name === name)
          .map((query) => query.type)
          .sort(),
      ).toEqual(['A', 'AAAA']);
    });
  });

  describe('at delivery', () => {
    it('are not contacted even if stored, and each attempt fails with the same words', async () => {
      const owner = await scene.team();
      const real = await hookAt(scene, owner, receiver.url('/real'));
      const { db, ids } = scene.app.world;
      const hooks = INSIDE.map((url) => ({ id: ids.prefixed('wh_'), endpoint: within(url) }));
      for (const { id, endpoint } of hooks) {
        await db.run(
          `insert into webhooks (id, team_id, endpoint, events, status, secret_sealed, created_at)
             select ?, team_id, ?, events, status, ?, created_at from webhooks where id = ?`,
          [id, endpoint, newSigningSecret(scene.app.world, id).sealed, real.id],
        );
      }
      await happen(scene, owner);
      await receiver.until(1, '/real');
      await scene.settled();
      for (const { id, endpoint } of hooks) {
        const [row] = await loadOutbox(scene, id);
        expect(row, endpoint).toMatchObject({ status: 'attempting', attempt_count: 1, last_http_status: null });
        const sql = 'select http_status_code, response, error from webhook_attempts where webhook_id = ?';
        expect(await db.all(sql, [id]), endpoint).toEqual([
          { http_status_code: null, response: null, error: 'The host of the endpoint has no public address.' },
        ]);
      }
      expect(doorbell.rings()).toBe(0);
    });

    it.each([301, 302, 303, 307, 308])('cannot be reached by a redirect with %i', async (status) => {
      const owner = await scene.team();
      const path = `/to/${status}`;
      receiver.reply((response) => {
        response.writeHead(status, { location: `https://127.0.0.1:${doorbell.port}/` }).end();
      }, path);
      const hook = await hookAt(scene, owner, receiver.url(path));
      await happen(scene, owner);
      await receiver.until(1, path);
      await scene.settled();
      expect(await loadOutbox(scene, hook.id)).toMatchObject([{ status: 'attempting', last_http_status: status }]);
      expect(doorbell.rings()).toBe(0);
    });
  });

  // The bell listens at the receiver's own port, on the address that must not be reached.
  describe('with changing DNS answers', () => {
    /** Moves the clock past the time that a look-up is cached. */
    const forget = (): void => scene.clock.advance(301_000);
    const loadError = async (webhookId: string): Promise<unknown> => {
      const sql = 'select error from webhook_attempts where webhook_id = ? order by sent_at desc, id desc limit 1';
      return (await scene.app.world.db.get<{ error: string }>(sql, [webhookId]))?.error;
    };

    it.each([
      ['A', ['127.0.0.1']],
      ['A', ['127.0.0.1', '127.0.0.3']],
      ['AAAA', ['::1']],
      ['AAAA', ['::ffff:127.0.0.1']],
      ['CNAME', ['a.inside.test']],
    ] as const)('that resolve publicly at creation and to %s %j at delivery are not contacted', async (type, to) => {
      const owner = await scene.team();
      const name = `${Math.random().toString(36).slice(2)}.hooks.test`;
      scene.dns.set(name, 'A', [ALLOWED]);
      const hook = await hookAt(scene, owner, `https://${name}:${receiver.port}/rebound`);
      scene.dns.forget(name);
      if (type !== 'CNAME') scene.dns.set(name, 'ANY', []);
      scene.dns.set(name, type, [...to]);
      forget();
      await happen(scene, owner);
      await scene.settled();
      expect(await loadOutbox(scene, hook.id)).toMatchObject([{ status: 'attempting', last_http_status: null }]);
      expect(await loadError(hook.id)).toBe('The host of the endpoint has no public address.');
      expect([bell.rings, doorbell.rings()]).toEqual([0, 0]);
      expect(receiver.requests.filter((request) => request.path === '/rebound')).toEqual([]);
    });

    it('that resolve publicly at the first delivery only are checked again at the next', async () => {
      const owner = await scene.team();
      const name = `${Math.random().toString(36).slice(2)}.hooks.test`;
      scene.dns.set(name, 'A', [ALLOWED]);
      receiver.reply((response) => void response.writeHead(200, { connection: 'close' }).end(), '/turning');
      const hook = await hookAt(scene, owner, `https://${name}:${receiver.port}/turning`);
      await happen(scene, owner);
      await receiver.until(1, '/turning');
      await scene.settled();
      scene.dns.set(name, 'A', ['127.0.0.1']);
      forget();
      await happen(scene, owner);
      await scene.settled();
      expect((await loadOutbox(scene, hook.id)).map((row) => row.status)).toEqual(['success', 'attempting']);
      expect(await loadError(hook.id)).toBe('The host of the endpoint has no public address.');
      expect(receiver.requests.filter((request) => request.path === '/turning')).toHaveLength(1);
      expect([bell.rings, doorbell.rings()]).toEqual([0, 0]);
    });

    it('with public and private answers are contacted at the public ones only', async () => {
      const owner = await scene.team();
      scene.dns.set('mixed.hooks.test', 'A', ['127.0.0.1', ALLOWED, '127.0.0.3']);
      scene.dns.set('mixed.hooks.test', 'AAAA', ['::1', '::ffff:127.0.0.1']);
      const hook = await hookAt(scene, owner, `https://mixed.hooks.test:${receiver.port}/mixed`);
      await happen(scene, owner);
      await receiver.until(1, '/mixed');
      await scene.settled();
      expect(await loadOutbox(scene, hook.id)).toMatchObject([{ status: 'success' }]);
      expect([bell.rings, doorbell.rings()]).toEqual([0, 0]);
    });

    it('are not tried when the public ones do not answer', async () => {
      // Nothing listens at the allowed address on this port; inside, the bell does.
      await using inside = await startDoorbell('127.0.0.1');
      scene.dns.set('half.hooks.test', 'A', ['127.0.0.1', ALLOWED]);
      const answer = await scene.api('POST', '/webhooks', {
        key: team.key,
        body: { endpoint: `https://half.hooks.test:${inside.port}/`, events: ['email.sent'] },
      });
      expect(answer).toMatchObject({ status: 422, body: { name: 'validation_error' } });
      expect(answer.body.message).toContain('its server cannot be reached');
      expect(inside.rings()).toBe(0);
    });
  });
});

interface Bell {
  server: net.Server;
  rings: number;
}

/** Starts a receiver, and a bell at its port on the next address: the port must be free on both. */
async function startReceiverWithBell(): Promise<{ receiver: WebhookReceiver; bell: Bell }> {
  for (;;) {
    const receiver = await startWebhookReceiver();
    const server = net.createServer((socket) => {
      bell.rings++;
      socket.on('error', () => undefined).destroy();
    });
    const bell = { server, rings: 0 };
    const isHung = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false));
      server.listen(receiver.port, '127.0.0.1', () => resolve(true));
    });
    if (isHung) return { receiver, bell };
    await receiver.close();
  }
}
