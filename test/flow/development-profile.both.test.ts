import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { DeepPartial, Config } from '../../src/platform/config/index.ts';
import { loadConfig } from '../../src/platform/config/index.ts';
import { keepFixedKey } from '../../src/tenancy/api-keys/index.ts';
import { keepPlaceholderAddress } from '../../src/tenancy/teams/index.ts';
import { ADDRESS } from '../api/broadcasts/drafting.ts';
import { startScene, type Scene, type Team } from '../rig/scene.ts';

let scene: Scene;
let team: Team;

async function start(profile: 'development' | 'production', config: DeepPartial<Config> = {}): Promise<void> {
  scene = await startScene({
    profile,
    roles: ['http', 'delivery', 'submission', 'receiving'],
    config: { delivery: { capture: true }, ...config },
  });
  team = await scene.team();
}
beforeEach(() => start('development'));
afterEach(() => scene.close());

const again = async (...how: Parameters<typeof start>): Promise<void> => {
  await scene.close();
  await start(...how);
};

const call = (method: string, path: string, body?: object) =>
  scene.api(method, path, { key: team.key, ...(body ? { body } : {}) });

const send = (body: object) =>
  call('POST', '/emails', { from: 'Acme <no-reply@acme.com>', to: 'b@example.org', subject: 'S', text: 'T', ...body });

const caught = async (): Promise<Record<string, unknown>[]> => {
  await scene.settled();
  return (await scene.api('GET', '/playground/messages')).body.data;
};

describe('a domain in the development profile', () => {
  it('is verified for sending and receiving as soon as it is created, without a DNS query', async () => {
    scene.dns.queries.length = 0;
    const { status, body } = await call('POST', '/domains', {
      name: 'acme.com',
      capabilities: { sending: 'enabled', receiving: 'enabled' },
    });
    expect(status).toBe(201);
    expect(body).toMatchObject({ name: 'acme.com', status: 'verified' });
    expect(new Set(body.records.map(({ status: one }: { status: string }) => one))).toEqual(new Set(['verified']));
    expect((await call('GET', `/domains/${body.id}`)).body).toMatchObject({ status: 'verified' });
    expect((await scene.events(body.id)).map(({ type }) => type)).toEqual(['domain.created', 'domain.updated']);
    expect(scene.dns.queries).toEqual([]);
    expect((await send({})).status).toBe(200);
    expect(await caught()).toMatchObject([{ authentication: { dkim: [{ result: 'pass' }, { result: 'pass' }] } }]);
  });

  it('receives once receiving is switched on, without DNS', async () => {
    const { body } = await call('POST', '/domains', { name: 'acme.com' });
    const changed = await call('PATCH', `/domains/${body.id}`, { capabilities: { receiving: 'enabled' } });
    expect(changed.status).toBe(200);
    expect((await call('GET', `/domains/${body.id}`)).body).toMatchObject({ status: 'verified' });
  });

  it('is not verified automatically in the production profile, even when mail is captured', async () => {
    await again('production');
    const { body } = await call('POST', '/domains', { name: 'acme.com' });
    expect(body).toMatchObject({ status: 'not_started' });
    expect((await send({})).status).toBe(403);
  });
});

describe('the setting development.any_sender', () => {
  it('lets a team send from any domain, signed, immediately and in parallel', async () => {
    const sent = await Promise.all([send({}), send({ from: 'a@other.example' }), send({}), send({})]);
    expect(sent.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    const messages = await caught();
    expect(messages).toHaveLength(4);
    for (const message of messages) {
      expect(message).toMatchObject({
        authentication: {
          spf: { result: 'pass' },
          dkim: [{ result: 'pass' }, { result: 'pass' }],
          dmarc: { result: 'pass' },
        },
      });
    }
    const { body } = await call('GET', '/domains');
    expect(body.data.map(({ name, status }: { name: string; status: string }) => [name, status]).sort()).toEqual([
      ['acme.com', 'verified'],
      ['other.example', 'verified'],
    ]);
  });

  it('lets a broadcast be sent from any domain', async () => {
    await call('PATCH', '/team', { sender_name: 'Acme', postal_address: ADDRESS });
    const segment = (await call('POST', '/segments', { name: 'All' })).body.id;
    await call('POST', '/contacts', { email: 'c@example.org', segments: [{ id: segment }] });
    const draft = {
      name: 'N',
      segment_id: segment,
      from: 'news@acme.com',
      subject: 'News',
      text: 'Hello',
    };
    const created = await call('POST', '/broadcasts', draft);
    expect(created.status, JSON.stringify(created.body)).toBe(201);
    const sent = await call('POST', `/broadcasts/${created.body.id}/send`, {});
    expect(sent.status, JSON.stringify(sent.body)).toBe(200);
    expect(await caught()).toMatchObject([{ from: 'news@acme.com', subject: 'News' }]);
  });

  it('does not lift the restrictions of a key or a domain', async () => {
    const { body: domain } = await call('POST', '/domains', { name: 'acme.com' });
    const pinned = await team.sendingKey({ domain_id: domain.id });
    const body = { from: 'a@other.example', to: 'b@example.org', subject: 'S', text: 'T' };
    expect((await scene.api('POST', '/emails', { key: pinned, body })).status).toBe(403);
    await call('PATCH', `/domains/${domain.id}`, { capabilities: { receiving: 'enabled' } });
    await call('PATCH', `/domains/${domain.id}`, { capabilities: { sending: 'disabled' } });
    expect(await send({})).toMatchObject({
      status: 403,
      body: { message: expect.stringMatching(/disabled/) as string },
    });
  });

  it('does not affect the domain of another team, and does not suggest to create it', async () => {
    const other = await (await scene.team()).domain();
    const { status, body } = await send({ from: `a@${other.name}` });
    expect([status, body.message]).toEqual([
      403,
      `The domain ${other.name} belongs to another team of this server; send from another domain. This team has no verified domain yet.`,
    ]);
  });

  it('leaves the rules for senders as in production when it is off', async () => {
    await again('development', { development: { any_sender: false } });
    expect(await send({})).toMatchObject({ status: 403 });
    expect((await call('GET', '/domains')).body.data).toEqual([]);
    await call('POST', '/domains', { name: 'acme.com' });
    expect((await send({})).status).toBe(200);
  });

  it.each(['any_sender', 'any_host'])('is refused at a start in the production profile: development.%s', (name) => {
    expect(() => loadConfig({ env: {}, overrides: { development: { [name]: true } } })).toThrow(
      `development.${name} is true, which only \`rasket dev\` allows`,
    );
  });
});

describe('test addresses at resend.dev', () => {
  const CASES = [
    ['delivered', 'delivered', ['email.sent', 'email.delivered']],
    ['bounced', 'bounced', ['email.sent', 'email.bounced']],
    ['complained', 'complained', ['email.sent', 'email.delivered', 'email.complained']],
    ['suppressed', 'suppressed', ['email.sent', 'email.suppressed']],
  ] as const;

  it.each(CASES)('%s@resend.dev, with any label, has the outcome of the simulator', async (box, state, events) => {
    for (const to of [`${box}@resend.dev`, `${box}+signup-1@Resend.dev`, `${box}@simulator.rasket.test`]) {
      const { body } = await send({ to });
      await scene.settled();
      const account = await scene.account(team, body.id);
      expect({ to, state: account.state, events: account.events.filter((type) => type !== 'email.queued') }).toEqual({
        to,
        state,
        events,
      });
      // None of them is suppressed, or each could be used only once.
      expect((await call('GET', '/suppressions')).body.data).toEqual([]);
    }
    expect((await caught()).length).toBe(3);
  });

  it('are ordinary addresses in the production profile', async () => {
    await again('production');
    const { name } = await team.domain();
    const { body } = await send({ from: `a@${name}`, to: 'bounced@resend.dev' });
    await scene.settled();
    expect(await scene.account(team, body.id)).toMatchObject({ state: 'delivered' });
  });
});

describe('a webhook endpoint over http', () => {
  async function listen(): Promise<{ port: number; posts: { path: string; body: string; signature: unknown }[] }> {
    const posts: { path: string; body: string; signature: unknown }[] = [];
    const server = http.createServer((request, response) => {
      let body = '';
      request.setEncoding('utf8').on('data', (text: string) => (body += text));
      request.on('end', () => {
        posts.push({ path: request.url ?? '', body, signature: request.headers['svix-signature'] });
        response.end();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(
      () => new Promise<void>((resolve) => void (server.close(() => resolve()), server.closeAllConnections())),
    );
    return { port: (server.address() as AddressInfo).port, posts };
  }

  it.each(['127.0.0.1', 'localhost'])('on %s gets signed events in the development profile', async (host) => {
    scene.dns.set('localhost', 'A', ['127.0.0.1']);
    const { port, posts } = await listen();
    const endpoint = `http://${host}:${port}/hooks?a=1`;
    const made = await call('POST', '/webhooks', { endpoint, events: ['email.delivered'] });
    expect(made.status, JSON.stringify(made.body)).toBe(201);
    await send({});
    await scene.settled();
    expect(posts).toMatchObject([
      {
        path: '/hooks?a=1',
        body: expect.stringContaining('email.delivered') as string,
        signature: expect.stringMatching(/^v1,/) as string,
      },
    ]);
  });

  it.each(['http://example.com/h', 'http://8.8.8.8/h', 'http://user:word@localhost/h', 'http://[2a00::1]/h'])(
    'at %s is refused in the development profile too',
    async (endpoint) => {
      expect(await call('POST', '/webhooks', { endpoint, events: ['email.sent'] })).toMatchObject({ status: 400 });
    },
  );

  it('at an address of a network that is not allowed is refused', async () => {
    const refused = await call('POST', '/webhooks', { endpoint: 'http://10.0.0.1:1/h', events: ['email.sent'] });
    expect(refused).toMatchObject({
      status: 422,
      body: { message: expect.stringMatching(/http_allow_private/) as string },
    });
  });

  it('is refused in the production profile, whatever networks are allowed', async () => {
    await again('production', { network: { mail_allow_private: [], http_allow_private: ['127.0.0.0/8'] } });
    const { port } = await listen();
    const refused = await call('POST', '/webhooks', { endpoint: `http://127.0.0.1:${port}/h`, events: ['email.sent'] });
    expect(refused).toMatchObject({
      status: 400,
      body: { message: expect.stringMatching(/must be an https URL/) as string },
    });
  });
});

it('a chosen fixed key is valid, also after it was revoked, only in the development profile', async () => {
  const token = 'rk_chosen';
  expect(await keepFixedKey(scene.app.world, { teamId: team.id, token })).toBe(team.id);
  const status = async (): Promise<number> => (await scene.api('GET', '/emails', { key: token })).status;
  expect(await status()).toBe(200);
  const { body } = await call('GET', '/api-keys');
  const { id } = body.data.find(({ name }: { name: string }) => name === 'RASKET_DEV_API_KEY');
  await call('DELETE', `/api-keys/${id}`);
  expect(await status()).toBe(403);
  expect(await keepFixedKey(scene.app.world, { teamId: (await scene.team()).id, token })).toBe(team.id);
  expect(await status()).toBe(200);
  await again('production');
  await expect(keepFixedKey(scene.app.world, { teamId: team.id, token })).rejects.toThrow(
    'outside the development profile',
  );
});

it('the certificate of the development profile is valid for localhost and the loopback addresses', async () => {
  const names = async (): Promise<string | undefined> => {
    const port = scene.app.smtp?.listening.find(({ tls }) => tls === 'implicit')?.port ?? 0;
    const { promise, resolve, reject } = Promise.withResolvers<string | undefined>();
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false }, () => {
      resolve(socket.getPeerX509Certificate()?.subjectAltName);
      socket.destroy();
    });
    socket.on('error', reject);
    return promise;
  };
  expect(await names()).toBe('DNS:rasket.test, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1');
  await again('production');
  expect(await names()).toBe('DNS:rasket.test');
});

it('a team may make a thousand requests a second in the development profile and ten in production', () => {
  const limits = (profile: 'development' | 'production') => loadConfig({ env: {}, profile }).config.rate_limit;
  expect(limits('development')).toEqual({ requests_per_second: 1000, burst: 1000 });
  expect(limits('production')).toEqual({ requests_per_second: 10, burst: 10 });
});

it('another fixed key revokes the earlier one, and the placeholder address replaces no postal address', async () => {
  const { world } = scene.app;
  const earlier = 'rk_the_first_of_two';
  await keepFixedKey(world, { teamId: team.id, token: earlier });
  expect((await scene.api('GET', '/domains', { key: earlier })).status).toBe(200);
  await keepFixedKey(world, { teamId: team.id, token: 'rk_the_second_of_two', earlier });
  expect((await scene.api('GET', '/domains', { key: earlier })).status).toBe(403);
  expect((await scene.api('GET', '/domains', { key: 'rk_the_second_of_two' })).status).toBe(200);

  await keepPlaceholderAddress(world, team.id);
  expect((await call('GET', '/team')).body.sender_identity.postal_address).toMatchObject({
    line1: 'Placeholder Street 1',
  });
  await call('PATCH', '/team', { postal_address: ADDRESS });
  await keepPlaceholderAddress(world, team.id);
  expect((await call('GET', '/team')).body.sender_identity.postal_address).toMatchObject({ line1: ADDRESS.line1 });
});
