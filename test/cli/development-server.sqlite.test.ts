// Tests what `rasket dev` accepts for development and tests, at a terminal; test/flow/development-profile.test.ts tests what it does with
// mail.
import fs from 'node:fs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Desk, expectOneLine, type Server } from './desk.ts';

// Several servers one after the other, on whatever else the machine does.
vi.setConfig({ testTimeout: 180_000 });

let desk: Desk;
let env: Record<string, string>;
beforeEach(async () => {
  desk = new Desk();
  env = await desk.database();
});
afterEach(() => desk.clear());

const KEY = 'rk_ci-key';
/** Resolves once the panel is printed, which is the last thing of a start. */
async function dev(more: Record<string, string> = {}, ...flags: string[]): Promise<Server> {
  const server = await desk.serve(['dev', '--data', 'dev', ...flags], { env: { ...env, ...more } });
  await vi.waitFor(() => expect(server.stdout).toContain('Ctrl-C stops it'));
  return server;
}

async function call(
  server: { url: string },
  path: string,
  { key = KEY, method = 'GET', body = undefined as unknown } = {},
) {
  const headers = { authorization: `Bearer ${key}`, 'user-agent': 'a test', 'content-type': 'application/json' };
  const answer = await fetch(server.url + path, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) });
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
}

const send = (server: { url: string }, more: object = {}) =>
  call(server, '/emails', {
    method: 'POST',
    body: { from: 'no-reply@acme.com', to: 'ada@example.org', subject: 'Welcome', text: 'Hello', ...more },
  });

describe('RASKET_DEV_API_KEY', () => {
  it('is valid before the first request, and again on the same folder, also after it was revoked', async () => {
    const first = await dev({ RASKET_DEV_API_KEY: KEY });
    expect(first.stdout).toContain(`API key  ${KEY}\n`);
    expect((await send(first)).status).toBe(200);
    const { body } = await call(first, '/api-keys');
    const mine = (body['data'] as { id: string; name: string }[]).find(({ name }) => name === 'RASKET_DEV_API_KEY');
    expect((await call(first, `/api-keys/${mine?.id}`, { method: 'DELETE' })).status).toBe(200);
    expect((await send(first)).status).toBe(403);
    await first.stop();
    const second = await dev({ RASKET_DEV_API_KEY: KEY });
    expect((await send(second)).status).toBe(200);
    expect((await call(second, '/emails')).body['data']).toHaveLength(2);
    await second.stop();
    // Without the variable the server keeps it, as it keeps one that it made.
    const third = await dev();
    expect(third.stdout).toContain(`API key  ${KEY}\n`);
    await third.stop();
  });

  it('becomes a key of a folder that has another one, and both are valid', async () => {
    const first = await dev();
    const own = /API key {2}(rk_\S+)/.exec(first.stdout)?.[1] ?? '';
    expect((await call(first, '/emails')).status).toBe(401);
    await first.stop();
    const second = await dev({ RASKET_DEV_API_KEY: KEY });
    for (const key of [own, KEY]) expect((await call(second, '/emails', { key })).status).toBe(200);
    await second.stop();
  });

  it('revokes its earlier value when it changes, and no key with the same name that a person created', async () => {
    const first = await dev({ RASKET_DEV_API_KEY: KEY });
    const made = await call(first, '/api-keys', { method: 'POST', body: { name: 'RASKET_DEV_API_KEY' } });
    const own = made.body['token'] as string;
    await first.stop();
    const second = await dev({ RASKET_DEV_API_KEY: 'rk_other-key' });
    expect((await call(second, '/emails', { key: KEY })).status).toBe(403);
    for (const key of ['rk_other-key', own]) expect((await call(second, '/emails', { key })).status).toBe(200);
    await second.stop();
    const third = await dev();
    expect((await call(third, '/emails', { key: 'rk_other-key' })).status).toBe(200);
    await third.stop();
    const fourth = await dev({ RASKET_DEV_API_KEY: KEY });
    expect((await call(fourth, '/emails', { key: 'rk_other-key' })).status).toBe(403);
    for (const key of [KEY, own]) expect((await call(fourth, '/emails', { key })).status).toBe(200);
    await fourth.stop();
  });

  it.each([
    ['secret', /must be rk_ followed by 2 to 120 letters, digits, _ or -, such as rk_test/],
    ['re_123456', /it is a Resend key; keys of this server begin with rk_/],
    ['rk_a', /2 to 120/],
    ['rk_with space', /2 to 120/],
    [`rk_${'a'.repeat(121)}`, /2 to 120/],
  ])('with the value %s is refused in one line before anything starts', async (key, says) => {
    expectOneLine(await desk.rasket(['dev', '--data', 'dev'], { env: { ...env, RASKET_DEV_API_KEY: key } }), says, 64);
    expect(fs.existsSync(desk.at('dev'))).toBe(false);
  });

  it('has no effect in the production profile', async () => {
    expect(await desk.rasket(['init', '--data', 'data'], { env })).toMatchObject({ code: 0 });
    const server = await desk.serve(['serve', '--data', 'data'], { env: { ...env, RASKET_DEV_API_KEY: KEY } });
    expect((await call(server, '/emails')).status).toBe(401);
    expect((await call(server, '/playground/messages')).status).toBe(404);
    await server.stop();
  });
});

it('a fresh rasket dev sends a broadcast, because its team has a placeholder for a postal address', async () => {
  const server = await dev({ RASKET_DEV_API_KEY: KEY });
  const post = (path: string, body: object) => call(server, path, { method: 'POST', body });
  const segment = await post('/segments', { name: 'Readers' });
  const segments = [{ id: segment.body['id'] }];
  expect((await post('/contacts', { email: 'ada@example.org', segments })).status).toBe(201);
  const draft = {
    segment_id: segment.body['id'],
    from: 'News <news@acme.com>',
    subject: 'News',
    html: '<p>Hello</p>',
    send: true,
  };
  expect(await post('/broadcasts', draft)).toMatchObject({ status: 201 });
  const path = '/playground/messages?to=ada@example.org&wait=60s';
  const { body } = await call(server, path);
  expect(JSON.stringify(body)).toContain('Placeholder Street 1');
  const address = { line1: 'Own Street 1', city: 'Leeds', country: 'GB' };
  expect((await call(server, '/team', { method: 'PATCH', body: { postal_address: address } })).status).toBe(200);
  await server.stop();
  const again = await dev({ RASKET_DEV_API_KEY: KEY });
  expect((await call(again, '/team')).body).toMatchObject({ sender_identity: { postal_address: address } });
  await again.stop();
});

describe('a flag of rasket dev', () => {
  it('--no-any-sender accepts verified domains only, and the panel shows which senders are accepted', async () => {
    const strict = await dev({ RASKET_DEV_API_KEY: KEY }, '--no-any-sender');
    expect(strict.stdout).toMatch(/Senders {2}verified domains only \(--any-sender: any domain\)/);
    expect((await send(strict)).status).toBe(403);
    expect((await call(strict, '/domains', { method: 'POST', body: { name: 'acme.com' } })).body).toMatchObject({
      status: 'verified',
    });
    expect((await send(strict)).status).toBe(200);
    await strict.stop();
    const open = await dev({ RASKET_DEV_API_KEY: KEY, RASKET_DEVELOPMENT_ANY_SENDER: 'false' }, '--any-sender');
    expect(open.stdout).toMatch(/Senders {2}any domain \(--no-any-sender: verified domains only\)/);
    expect((await send(open, { from: 'a@other.example' })).status).toBe(200);
    await open.stop();
  });

  it.each([
    {
      args: ['--listen', '192.0.2.1'],
      says: /loopback only, but http\.host is "192\.0\.2\.1".*rasket dev --listen 192\.0\.2\.1 --any-host\n$/,
    },
    {
      args: ['--listen', 'everywhere'],
      says: /--listen must be an IP address, such as 0\.0\.0\.0; got "everywhere"/,
      code: 64,
    },
    { args: [], more: { RASKET_HTTP_HOST: '192.0.2.1' }, says: /loopback only, but http\.host is "192\.0\.2\.1"/ },
    { args: [], more: { RASKET_SMTP_HOST: '192.0.2.1' }, says: /loopback only, but smtp\.host is "192\.0\.2\.1"/ },
  ])(
    'that listens for other machines is refused without --any-host: $args with $more',
    async ({ args, more = {}, says, code }) => {
      expectOneLine(
        await desk.rasket(['dev', '--data', 'dev', ...args], { env: { ...env, ...more } }),
        says,
        code ?? 1,
      );
    },
  );

  it.each([
    ['serve', '--any-host'],
    ['serve', '--any-sender'],
    ['serve', '--listen', '127.0.0.1'],
  ])('does not exist for the command %s: %s', async (...words) => {
    expect(await desk.rasket(words, { env })).toMatchObject({ code: 64 });
  });

  it.each(['ANY_HOST', 'ANY_SENDER'])(
    'is refused as RASKET_DEVELOPMENT_%s by a server with real mail',
    async (name) => {
      expect(await desk.rasket(['init', '--data', 'data'], { env })).toMatchObject({ code: 0 });
      const more = { [`RASKET_DEVELOPMENT_${name}`]: 'true' };
      const ended = await desk.rasket(['serve', '--data', 'data'], { env: { ...env, ...more } });
      expectOneLine(ended, /is true, which only `rasket dev` allows/);
    },
  );
});

describe('rasket playground', () => {
  it('wait shows the matching message as soon as it arrives, and clear removes all', async () => {
    const server = await dev({ RASKET_DEV_API_KEY: KEY });
    const on = ['--data', 'dev'];
    const waiting = desk.run([
      'playground',
      'wait',
      '--to',
      'ada@example.org',
      '--subject',
      'welcome',
      '--json',
      '--timeout',
      '60s',
      ...on,
    ]);
    await send(server, { subject: 'Other' });
    const { body } = await send(server);
    const ended = await waiting;
    expect(ended, ended.stderr).toMatchObject({ code: 0 });
    expect(JSON.parse(ended.stdout)).toMatchObject({
      email_id: body['id'],
      subject: 'Welcome',
      text: expect.stringMatching(/Hello/) as string,
    });
    const shown = await desk.rasket(['playground', 'wait', '--email', `${body['id'] as string}`, ...on]);
    expect(shown.stdout).toMatch(/^Subject +Welcome$/m);
    const raw = await desk.rasket(['playground', 'wait', ...on, '--raw', '--subject', 'Other']);
    expect(raw.stdout).toMatch(/^Subject: Other\r$/m);
    expectOneLine(
      await desk.rasket(['playground', 'wait', '--to', 'nobody@example.org', '--timeout', '50ms', ...on]),
      /no message to nobody@example\.org arrived within 50ms/,
      66,
    );
    expectOneLine(
      await desk.rasket(['playground', 'wait', '--timeout', '5', ...on]),
      /wait must be a number of seconds/,
      64,
    );
    expect(await desk.rasket(['playground', 'clear', ...on])).toMatchObject({
      code: 0,
      stdout: 'Removed 2 messages.\n',
    });
    await server.stop();
    const cleared = await desk.rasket(['playground', 'clear', '--json', ...on]);
    expect(JSON.parse(cleared.stdout)).toEqual({ object: 'playground', deleted: true, count: 0 });
    expectOneLine(
      await desk.rasket(['playground', 'wait', ...on]),
      /no development server runs on .*; start one with: rasket dev --data dev/,
      69,
    );
  });

  it('clear removes nothing from the folder of a server with real mail', async () => {
    expect(await desk.rasket(['init', '--data', 'data'], { env })).toMatchObject({ code: 0 });
    expectOneLine(
      await desk.rasket(['playground', 'clear', '--data', 'data'], { env }),
      /is not a data folder of a development server/,
    );
  });
});
