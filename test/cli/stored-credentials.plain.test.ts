import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { startAnswering } from './contract-server.ts';
import { Desk } from './desk.ts';

vi.setConfig({ testTimeout: 180_000 });

let desk: Desk;
let server: Awaited<ReturnType<typeof startAnswering>>;
beforeEach(async () => {
  desk = new Desk();
  server = await startAnswering(({ method, path }) => {
    if (path === '/ready') return { status: 200, body: { object: 'ready', status: 'ok', checks: [], failed: [] } };
    return { status: 200, body: method === 'POST' ? { id: 'e-1' } : { object: 'list', has_more: false, data: [] } };
  });
});
afterEach(async () => {
  server.close();
  await desk.clear();
});

const login = (env: Record<string, string | undefined>) =>
  desk.run(['login', '--url', server.url], { env, input: 'rk_mine\n' });
const send = ['send', '--from', 'a@example.com', '--to', 'b@example.org', '--subject', 'Hi', '--text', 'x'];
const file = () => desk.at('config/rasket/credentials.json');

it('rasket login sends a key to no program that does not speak this API', async () => {
  const heard: (string | undefined)[] = [];
  const other = http.createServer((request, response) => {
    heard.push(request.headers.authorization);
    response.writeHead(404).end('Not here.');
  });
  await new Promise<void>((done) => other.listen(0, '127.0.0.1', done));
  onTestFinished(() => void other.close());
  const url = `http://127.0.0.1:${(other.address() as net.AddressInfo).port}`;
  const refused = await desk.run(['login', '--url', url], { env: {}, input: 'rk_mine\n' });
  expect(refused.stderr).toContain(`${url} returned 404, but not in the format of this API; is it the right address?`);
  expect(refused.code).not.toBe(0);
  expect(heard).toEqual([undefined]);
  expect(fs.existsSync(file())).toBe(false);
});

describe('a key without a keyring', () => {
  it.each([
    { why: 'no D-Bus', env: {}, says: /; not in a keyring, because there is no D-Bus session here\.\n$/ },
    {
      why: 'a D-Bus that is gone',
      env: { DBUS_SESSION_BUS_ADDRESS: 'unix:path=/nonexistent/bus' },
      says: /; not in a keyring, because keytar: .+; secret-service: .+\.\n$/,
    },
  ])('is saved in a file that only its owner can read: $why', async ({ env, says }) => {
    const kept = await login(env);
    expect(kept, kept.stderr).toMatchObject({ code: 0, stdout: expect.stringMatching(says) });
    expect(kept.stdout).toMatch(new RegExp(`^The key for ${server.url} is stored in ${file()}; `));
    expect(fs.statSync(file()).mode & 0o777).toBe(0o600);
    expect(fs.statSync(desk.at('config/rasket')).mode & 0o777).toBe(0o700);
    expect(await desk.run(send, { env })).toMatchObject({ code: 0 });
    expect(server.asked.at(-1)?.headers.authorization).toBe('Bearer rk_mine');
    const doctor = JSON.parse((await desk.run(['doctor', '--json'], { env })).stdout) as { key_store: string };
    expect(doctor.key_store).toMatch(/^files that only you can read; not in a keyring, because /);
    const out = await desk.run(['logout'], { env });
    expect(out.stdout).toContain(`The key was removed from ${file()}.`);
    expect(out.stdout).not.toContain('keyring');
    expect(fs.existsSync(file())).toBe(false);
  });

  it('is saved in the file also when the keyring does not answer, after at most five seconds', async () => {
    const silent = net.createServer(() => undefined);
    const sockets = new Set<net.Socket>();
    silent.on('connection', (socket) => {
      sockets.add(socket);
      socket.on('error', () => undefined);
    });
    await new Promise<void>((resolve) => silent.listen(desk.at('bus'), resolve));
    const env = { DBUS_SESSION_BUS_ADDRESS: `unix:path=${desk.at('bus')}` };
    const refusing = new Desk();
    const leaving = new Desk();
    onTestFinished(() => Promise.all([refusing.clear(), leaving.clear()]).then(() => undefined));
    // A user whose key was in a keyring is told why there is no key now, and what to do.
    for (const before of [refusing, leaving]) {
      const named = JSON.stringify({ url: server.url, keyring: 'secret-service' });
      fs.chmodSync(before.write('config/rasket/credentials.json', named), 0o600);
    }
    // Each waits for five seconds or more: at once, since they have nothing to do with each other.
    const [kept, refused, out] = await Promise.all([
      login(env),
      refusing.run(send, { env }),
      leaving.run(['logout'], { env }),
    ]);
    expect(kept).toMatchObject({ code: 0, stdout: expect.stringContaining(file()) });
    expect(kept.stdout).toContain('; not in a keyring, because the keyring did not answer within 5 s.');
    expect(refused.code).toBe(77);
    expect(refused.stderr).toContain(
      'The key is stored in the keyring (Secret Service), which cannot be read: the keyring did not answer within 5 s. Set one with: rasket login',
    );
    expect(out.stdout).toContain(
      'It may still be in the keyring, under rasket: the keyring did not answer within 5 s.',
    );
    expect(sockets.size).toBeGreaterThanOrEqual(3);
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => silent.close(resolve));
  });
});

describe('the keyring', () => {
  it('is not asked when RASKET_API_KEY has the key', async () => {
    const bus = net.createServer((socket) => socket.destroy());
    let asked = 0;
    bus.on('connection', () => (asked += 1));
    await new Promise<void>((resolve) => bus.listen(desk.at('bus'), resolve));
    // No installation is named for doctor to examine.
    const env = { DBUS_SESSION_BUS_ADDRESS: `unix:path=${desk.at('bus')}`, RASKET_DATA: '' };
    fs.mkdirSync(desk.at('config/rasket'), { recursive: true, mode: 0o700 });
    fs.writeFileSync(file(), JSON.stringify({ url: server.url, keyring: 'secret-service' }), { mode: 0o600 });
    for (const words of [send, ['doctor'], ['emails', 'list']])
      expect(await desk.run(words, { env: { ...env, RASKET_API_KEY: 'rk_named' } })).toMatchObject({ code: 0 });
    expect(server.asked.at(-1)?.headers.authorization).toBe('Bearer rk_named');
    await desk.run(['--version'], { env });
    await desk.run(['profiles'], { env });
    expect(asked).toBe(0);
    await desk.run(send, { env });
    expect(asked).toBeGreaterThan(0);
    await new Promise((resolve) => bus.close(resolve));
  });
});
