import net, { type AddressInfo, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EVENT_TYPES } from '../../../src/mail/events/index.ts';
import { loadContract } from '../../../src/contract/index.ts';
import { ALLOWED, startDoorbell, startFileServer, type Doorbell, type FileServer } from '../../rig/file-server.ts';
import { freePort } from '../../rig/free-port.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';
import { makeBadCertificate } from '../../rig/tls.ts';
import { plantWebhook } from '../../rig/webhooks.ts';

const LIMIT = 3;
const TYPES = loadContract().components.schemas.WebhookEventType?.enum as string[];

describe('POST /webhooks', () => {
  let scene: Scene;
  let team: Team;
  let server: FileServer;
  let doorbell: Doorbell;
  beforeAll(async () => {
    server = await startFileServer((_, response) => void response.end('posted to'), { names: ['hooks.test'] });
    doorbell = await startDoorbell();
    scene = await startScene({
      roles: ['http'],
      trustedCa: [server.certificate.cert],
      config: {
        // Our own name server runs in this process, which may be busy.
        dns: { timeout_ms: 30_000 } as never,
        network: { http_allow_private: [`${ALLOWED}/32`] } as never,
        plans: { standard: { webhook_endpoint_limit: LIMIT } },
      },
    });
    scene.dns.set('hooks.test', 'A', [ALLOWED]);
    scene.dns.set('other.test', 'A', [ALLOWED]);
    scene.dns.set('inside.test', 'A', ['127.0.0.1']);
    scene.dns.set('inside6.test', 'AAAA', ['::1']);
    scene.dns.set('absent.test', 'ANY', 'NXDOMAIN');
    scene.dns.set('lame.test', 'ANY', 'SERVFAIL');
    team = await scene.team();
  });
  afterAll(async () => {
    await scene.close();
    await Promise.all([server.close(), doorbell[Symbol.asyncDispose]()]);
  });

  const at = (path = '/hooks', host = 'hooks.test'): string => `https://${host}:${server.port}${path}`;
  const create = (body: unknown, as: Team = team) => scene.api('POST', '/webhooks', { key: as.key, body });
  const add = (endpoint: string, as?: Team) => create({ endpoint, events: ['email.sent'] }, as);
  const refused = (message: unknown) => ({
    status: 422,
    body: { name: 'validation_error', message, errors: [{ path: 'endpoint', message }] },
  });
  const malformed = (path: string) => ({ status: 400, body: { name: 'validation_error', errors: [{ path }] } });

  describe('returns 201', () => {
    it('with the whole endpoint and its secret, after connecting to it without posting', async () => {
      const own = await scene.team();
      server.visits.length = 0;
      const { status, body } = await create({ endpoint: at(), events: ['email.bounced', 'email.sent'] }, own);
      expect(status).toBe(201);
      expect(body).toEqual({
        object: 'webhook',
        id: expect.stringMatching(/^wh_[0-9a-f]{32}$/) as string,
        endpoint: at(),
        events: ['email.bounced', 'email.sent'],
        status: 'enabled',
        signing_secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{32}$/) as string,
        created_at: new Date(scene.clock.now()).toISOString(),
        last_attempt_at: null,
        last_http_status: null,
        last_error: null,
        failing_since: null,
        events_waiting: 0,
        events_parked: 0,
      });
      expect(server.visits).toEqual([]);
    });

    it('for every type of event, and counts a repeated one once', async () => {
      const own = await scene.team();
      expect(TYPES).toHaveLength(39);
      const { body } = await create({ endpoint: at(), events: [...TYPES, ...TYPES] }, own);
      expect(body.events).toEqual(TYPES);
    });

    it('for every recorded type of event, except internal ones', () => {
      expect(EVENT_TYPES.filter((type) => !TYPES.includes(type))).toEqual(['email.queued', 'email.unsubscribed']);
    });

    it.each(['?a=b', '/', '/hooks?secret=%41&x=1', '/h%C3%B6ks', `/${'a'.repeat(2048 - 1 - at0().length)}`])(
      'for an endpoint that ends with %.40s, which is stored unchanged',
      async (path) => {
        const endpoint = `https://hooks.test:${server.port}${path}`.slice(0, 2048);
        expect((await add(endpoint, await scene.team())).body).toMatchObject({ endpoint });
      },
    );

    it('for a host in any letter case', async () => {
      expect(await add(at('/', 'HOOKS.test'), await scene.team())).toMatchObject({ status: 201 });
    });
  });

  describe('returns 400', () => {
    it('with a hint at another way to get events if there is no https address', async () => {
      const { body } = await add('http://localhost:3000/hook');
      expect(body).toMatchObject({ message: expect.stringContaining('use rasket webhooks listen') as string });
    });

    it.each([
      ['', 'nothing'],
      ['hooks.test', 'no scheme'],
      ['/hooks', 'a path'],
      ['//hooks.test/', 'no scheme'],
      ['http://hooks.test/', 'http'],
      ['ftp://hooks.test/', 'another scheme'],
      ['javascript:alert(1)', 'no host'],
      ['https:', 'no host'],
      ['https://', 'no host'],
      ['https:///hooks', 'no host'],
      ['https:hooks.test', 'no slashes'],
      ['https:\\\\hooks.test\\', 'other slashes'],
      ['https://hooks.test:70000/', 'no port'],
      ['https://user@hooks.test/', 'a user'],
      ['https://user:password@hooks.test/', 'a password'],
      ['https://:password@hooks.test/', 'a password alone'],
      ['https://hooks.test/#part', 'a fragment'],
      ['https://hooks.test/#', 'an empty fragment'],
      ['https://hooks.test/a b', 'a space'],
      [' https://hooks.test/', 'a space before it'],
      ['https://hooks.test/\n', 'a line break'],
      ['https://hooks.test/\thooks', 'a tab'],
      ['https://exa mple.com/', 'a space in the host'],
      ['https://[::1/', 'half a bracket'],
      ['https://1.2.3.4.5/', 'an address of five numbers'],
      [`https://hooks.test/${'a'.repeat(2048)}`, 'too long'],
    ])('for the endpoint %.50s: %s', async (endpoint) => {
      const answer = await add(endpoint);
      expect(answer).toMatchObject(malformed('endpoint'));
      expect(answer.body.message).toMatch(/^endpoint (must|may) /);
    });

    it.each([
      [7, 'endpoint'],
      [null, 'endpoint'],
      [['https://hooks.test/'], 'endpoint'],
      [{}, 'endpoint'],
    ])('for an endpoint of %j', async (endpoint, path) => {
      expect(await create({ endpoint, events: ['email.sent'] })).toMatchObject(malformed(path));
    });

    it.each([
      [[], 'events'],
      ['email.sent', 'events'],
      [null, 'events'],
      [{}, 'events'],
      [Array.from({ length: 101 }, () => 'email.sent'), 'events'],
      [['email.sent', 'email.read'], 'events.1'],
      [['email.queued'], 'events.0'],
      [['EMAIL.SENT'], 'events.0'],
      [['email.*'], 'events.0'],
      [[''], 'events.0'],
      [[7], 'events.0'],
      [[null], 'events.0'],
    ])('for events of %.60s', async (events, path) => {
      const answer = await create({ endpoint: at(), events });
      expect(answer).toMatchObject(malformed(path));
      // The error lists all types for anyone who has misread one.
      if (path !== 'events') for (const type of TYPES) expect(answer.body.message).toContain(type);
    });

    it('for fields that callers cannot set', async () => {
      const answer = await create({ endpoint: at(), events: ['email.sent'], status: 'disabled', signing_secret: 'x' });
      expect(answer.body.errors.map((error: { path: string }) => error.path).sort()).toEqual([
        'signing_secret',
        'status',
      ]);
    });
  });

  describe('returns 422', () => {
    it('without one of the two required fields', async () => {
      const missing = (name: string) => ({
        status: 422,
        body: { name: 'missing_required_field', message: `Missing required field: ${name}.` },
      });
      expect(await create({})).toMatchObject(missing('endpoint. Also missing: events'));
      expect(await create({ events: ['email.sent'] })).toMatchObject(missing('endpoint'));
      expect(await create({ endpoint: at() })).toMatchObject(missing('events'));
    });

    // All get one text: a caller who could distinguish them could map our network.
    it.each(['127.0.0.1', 'localhost', '[::1]', 'inside.test', 'inside6.test', 'absent.test', '10.0.0.1', '0x7f.1'])(
      'for %s, which is not on the internet, without connecting to it',
      async (host) => {
        const before = doorbell.rings();
        const answer = await add(`https://${host}:${doorbell.port}/`);
        expect(answer).toMatchObject(
          refused(
            'endpoint cannot be used: its host has no public address; it must resolve to an address that can be reached from the internet.',
          ),
        );
        expect(doorbell.rings()).toBe(before);
      },
    );

    it('for a server that accepts no connection, or whose name cannot be resolved', async () => {
      const nobody = await freePort();
      const text = expect.stringMatching(/cannot be reached.* webhooks\.check_connection = false/) as string;
      expect(await add(`https://hooks.test:${nobody}/`)).toMatchObject(refused(text));
      expect(await add('https://lame.test/')).toMatchObject(refused(text));
    });

    it('for a certificate of another host, with the reason', async () => {
      const text = expect.stringMatching(/no TLS certificate .*\(ERR_TLS_CERT_ALTNAME_INVALID\)/) as string;
      expect(await add(at('/', 'other.test'))).toMatchObject(refused(text));
      expect(await add(at('/', ALLOWED))).toMatchObject(refused(text));
    });

    it('for a certificate from an untrusted issuer', async () => {
      const stranger = await startFileServer(() => undefined, { names: ['hooks.test'] });
      const answer = await add(`https://hooks.test:${stranger.port}/`);
      await stranger.close();
      const text = /no TLS certificate .*\(DEPTH_ZERO_SELF_SIGNED_CERT\)\. .*NODE_EXTRA_CA_CERTS=/;
      expect(answer).toMatchObject(refused(expect.stringMatching(text) as string));
    });

    it('for an invalid certificate, which no issuer could fix', async () => {
      const stranger = await startFileServer(() => undefined, { certificate: makeBadCertificate() });
      const answer = await add(`https://hooks.test:${stranger.port}/`);
      await stranger.close();
      expect(answer).toMatchObject(
        refused(
          expect.stringMatching(
            /no TLS certificate [^.]*\. To allow endpoints whose [^.]*webhooks\.check_connection = false\.$/,
          ) as string,
        ),
      );
    });

    it('after five seconds for a server that accepts and then does not answer', async () => {
      const mute = await startMute();
      const answer = add(`https://hooks.test:${mute.port}/`);
      await expect.poll(() => mute.sockets.length).toBe(1);
      scene.clock.advance(4999);
      await mute.hello;
      scene.clock.advance(1);
      expect(await answer).toMatchObject(
        refused(
          expect.stringMatching(
            /^endpoint cannot be used: its server accepted no TLS connection within 5 seconds\. .* webhooks\.check_connection = false\.$/,
          ) as string,
        ),
      );
      // The attempted connection is not left open.
      await expect.poll(() => mute.sockets[0]?.closed).toBe(true);
      mute.close();
    });

    it('after five seconds for a name server that does not answer', async () => {
      const open = scene.dns.hold();
      const asked = scene.dns.queries.length;
      const answer = add('https://slow.test/');
      await expect.poll(() => scene.dns.queries.length).toBeGreaterThan(asked);
      scene.clock.advance(5000);
      expect(await answer).toMatchObject(refused(expect.stringContaining('within 5 seconds') as string));
      open();
    });

    it('beyond the limit of the plan, until an endpoint is deleted', async () => {
      const own = await scene.team();
      const ids: string[] = [];
      for (let i = 0; i < LIMIT; i++) ids.push((await add(at(), own)).body.id as string);
      const full = { status: 422, body: { name: 'validation_error', message: expect.stringContaining(`${LIMIT}`) } };
      server.visits.length = 0;
      expect(await add(at(), own)).toMatchObject(full);
      await scene.api('DELETE', `/webhooks/${ids[0]}`, { key: own.key });
      expect(await add(at(), own)).toMatchObject({ status: 201 });
      expect(await add(at(), own)).toMatchObject(full);
    });

    it('for all but as many concurrent requests as the plan allows', async () => {
      const own = await scene.team();
      const answers = await Promise.all(Array.from({ length: LIMIT + 4 }, () => add(at(), own)));
      expect(answers.map((answer) => answer.status).sort()).toEqual([201, 201, 201, 422, 422, 422, 422]);
      const { body } = await scene.api('GET', '/webhooks', { key: own.key });
      expect(body.data).toHaveLength(LIMIT);
    });

    it('for a full plan before it connects', async () => {
      const own = await scene.team();
      for (let i = 0; i < LIMIT; i++) await plantWebhook(scene, own);
      expect((await add('https://absent.test/', own)).body.message).toContain(`allows ${LIMIT} webhook endpoints`);
    });
  });

  it('and every other route of the family return 401 for a sending key', async () => {
    const key = await team.sendingKey();
    const answer = await scene.api('POST', '/webhooks', { key, body: {} });
    expect(answer).toMatchObject({ status: 401, body: { name: 'restricted_api_key' } });
  });
});

describe('POST /webhooks with webhooks.check_connection = false', () => {
  it('accepts an endpoint before its server runs, and refuses private addresses without connecting', async () => {
    await using doorbell = await startDoorbell();
    await using scene = await startScene({
      roles: ['http'],
      config: { webhooks: { check_connection: false }, network: { http_allow_private: [`${ALLOWED}/32`] } as never },
    });
    scene.dns.set('hooks.test', 'A', [ALLOWED]);
    scene.dns.set('inside.test', 'A', ['127.0.0.1']);
    scene.dns.set('lame.test', 'ANY', 'SERVFAIL');
    const { key } = await scene.team();
    const create = (endpoint: string) =>
      scene.api('POST', '/webhooks', { key, body: { endpoint, events: ['email.sent'] } });
    const nobody = await freePort();
    const created = await create(`https://hooks.test:${nobody}/`);
    expect(created).toMatchObject({ status: 201, body: { signing_secret: expect.stringMatching(/^whsec_/) } });
    expect(await create('https://lame.test/')).toMatchObject({ status: 201 });
    const path = `/webhooks/${created.body.id}`;
    const moved = { endpoint: `https://hooks.test:${nobody}/moved` };
    expect(await scene.api('PATCH', path, { key, body: moved })).toMatchObject({ status: 200 });
    for (const host of ['127.0.0.1', '10.0.0.1', 'inside.test']) {
      const message = expect.stringMatching(/has no public address/) as string;
      const body = { endpoint: `https://${host}:${doorbell.port}/` };
      expect(await create(body.endpoint)).toMatchObject({ status: 422, body: { message } });
      expect(await scene.api('PATCH', path, { key, body })).toMatchObject({ status: 422, body: { message } });
    }
    expect(doorbell.rings()).toBe(0);
  });

  it('in development reports whether the host cannot be resolved or is in a private network', async () => {
    await using scene = await startScene({ roles: ['http'], profile: 'development' });
    scene.dns.set('inside.test', 'A', ['10.0.0.1']);
    const { key } = await scene.team();
    for (const [host, reason] of [
      ['absent.test', 'its host cannot be resolved: '],
      ['inside.test', 'its host has an address in a private network; '],
    ]) {
      const body = { endpoint: `https://${host}/`, events: ['email.sent'] };
      const answer = await scene.api('POST', '/webhooks', { key, body });
      expect([answer.status, answer.body.message]).toEqual([422, expect.stringContaining(`cannot be used: ${reason}`)]);
    }
  });
});

/** Returns the longest origin before a path. */
function at0(): string {
  return 'https://hooks.test:65535';
}

async function startMute() {
  const sockets: Socket[] = [];
  let heard = (): void => undefined;
  const hello = new Promise<void>((resolve) => (heard = resolve));
  const server = net.createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => undefined);
    socket.once('data', () => heard());
  });
  await new Promise<void>((resolve) => server.listen(0, ALLOWED, resolve));
  return {
    port: (server.address() as AddressInfo).port,
    sockets,
    /** Resolves when the first bytes of a handshake have arrived. */
    hello,
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
