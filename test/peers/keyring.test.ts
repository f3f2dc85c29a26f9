import fs from 'node:fs';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { askKeyring, KEYRINGS } from '../../cli/client/keyring.ts';
import { startAnswering } from '../cli/contract-server.ts';
import { Desk } from '../cli/desk.ts';
import { describePeers } from './peers.ts';

vi.setConfig({ testTimeout: 180_000 });

describePeers('a desktop keyring', ['dbus-daemon', 'gnome-keyring-daemon', 'secret-tool'], () => {
  let desk: Desk;
  let server: Awaited<ReturnType<typeof startAnswering>>;
  let env: Record<string, string>;
  let stop: () => Promise<void>;

  beforeEach(async () => {
    desk = new Desk();
    server = await startAnswering(({ path }) => ({
      status: 200,
      body:
        path === '/ready' ? { status: 'ok', checks: [], failed: [] } : { object: 'list', has_more: false, data: [] },
    }));
    ({ env, stop } = await startKeyring(desk));
  });
  afterEach(async () => {
    server.close();
    await stop();
    await desk.clear();
  });

  const login = (key: string, ...more: string[]) =>
    desk.rasket(['login', '--url', server.url, ...more], { env, input: `${key}\n` });
  const locateFile = (profile?: string) =>
    desk.at('config/rasket', profile === undefined ? 'credentials.json' : `profiles/${profile}.json`);
  const stored = async () => {
    const found = await desk.start('secret-tool', ['search', '--all', 'service', 'rasket'], { env }).ended;
    return found.stdout.split('\n').filter((line) => line.startsWith('secret = '));
  };
  const loadKey = async (...words: string[]) => {
    expect(await desk.rasket(['emails', 'list', ...words], { env })).toMatchObject({ code: 0 });
    return server.asked.at(-1)?.headers.authorization;
  };

  it('stores each profile’s key instead of a file, and rasket logout removes it', async () => {
    expect((await login('rk_plain')).stdout).toMatch(
      / is stored in the keyring \((keytar\)|Secret Service\); keytar: it is not installed on this machine)\.$/m,
    );
    await login('rk_live', '--profile', 'live');
    for (const file of [locateFile(), locateFile('live')]) {
      expect(fs.readFileSync(file, 'utf8')).not.toContain('rk_');
      expect(fs.statSync(file).mode & 0o777).toBe(0o600);
    }
    expect(await loadKey()).toBe('Bearer rk_plain');
    expect(await loadKey('--profile', 'live')).toBe('Bearer rk_live');
    expect((await desk.rasket(['doctor'], { env })).stdout).toMatch(/Kept in +the keyring \(/);
    expect(await stored()).toHaveLength(2);
    const out = await desk.rasket(['logout', '--profile', 'live'], { env });
    expect(out.stdout).toMatch(/^The key was removed from the keyring \(.*\) and .*live\.json\./);
    expect(await stored()).toEqual([expect.stringContaining('rk_plain')]);
    // The key is removed even when its file is lost.
    fs.rmSync(locateFile());
    expect((await desk.rasket(['logout'], { env })).stdout).toMatch(
      /^The key was removed from the keyring \([^)]*\)\./,
    );
    expect(await stored()).toEqual([]);
  });

  it.each(KEYRINGS)('works the same through %s', (from) => {
    const ask = (verb: 'get' | 'set' | 'remove', secret?: string) =>
      askKeyring(env, { verb, account: '/a file', from, ...(secret !== undefined && { secret }) });
    const kept = ask('set', 'schlüssel\n"x"');
    if (from === 'keytar' && kept.why.keytar === 'it is not installed on this machine') return;
    expect(kept).toEqual({ by: from, why: {}, secret: 'schlüssel\n"x"' });
    expect(ask('get')).toEqual(kept);
    expect(ask('remove')).toEqual({ by: from, why: {} });
    expect(ask('remove')).toEqual({ why: {} });
    expect(ask('get')).toEqual({ by: from, why: {}, secret: null });
  });

  it('gives a key only to its own server, whatever the file says', async () => {
    await login('rk_plain');
    const other = await startAnswering(() => ({ status: 200, body: {} }));
    const held = JSON.parse(fs.readFileSync(locateFile(), 'utf8')) as object;
    fs.writeFileSync(locateFile(), JSON.stringify({ ...held, url: other.url }));
    const ended = await desk.rasket(['emails', 'list'], { env });
    expect(ended.stderr).toContain(`is for ${server.url}`);
    expect(ended.code).toBe(77);
    expect(other.asked).toEqual([]);
    other.close();
  });

  it('receives the keys from files at the next login', async () => {
    const desktop = env;
    env = {};
    await login('rk_plain');
    await login('rk_live', '--profile', 'live');
    expect(fs.readFileSync(locateFile('live'), 'utf8')).toContain('rk_live');
    env = desktop;
    const moved = await login('rk_new');
    expect(moved.stdout).toContain('The key of profile live was moved from its file into the keyring.');
    expect(fs.readFileSync(locateFile('live'), 'utf8')).not.toContain('rk_live');
    expect([await loadKey(), await loadKey('--profile', 'live')]).toEqual(['Bearer rk_new', 'Bearer rk_live']);
  });
});

/**
 * Builds the configuration of a bus that starts no services: it would start a second keyring, a locked one, for a client that
 * asks before the keyring is there.
 */
const busConfig = (address: string): string => `<!DOCTYPE busconfig PUBLIC
  "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN" "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type><listen>${address}</listen><auth>EXTERNAL</auth>
  <policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy>
</busconfig>
`;

/** A D-Bus of its own, and on it a keyring that an empty password opens. */
async function startKeyring(desk: Desk): Promise<{ env: Record<string, string>; stop(): Promise<void> }> {
  const address = `unix:path=${desk.at('bus')}`;
  fs.writeFileSync(desk.at('bus.conf'), busConfig(address));
  const bus = desk.start('dbus-daemon', [
    `--config-file=${desk.at('bus.conf')}`,
    '--nofork',
    '--nopidfile',
    '--print-address',
  ]);
  await vi.waitFor(() => expect(bus.stdout).toContain(address), { timeout: 60_000 });
  const env = {
    DBUS_SESSION_BUS_ADDRESS: address,
    XDG_DATA_HOME: desk.at('data'),
    XDG_RUNTIME_DIR: desk.at('runtime'),
  };
  fs.mkdirSync(env.XDG_RUNTIME_DIR, { mode: 0o700 });
  const keyring = desk.start('gnome-keyring-daemon', ['--foreground', '--unlock', '--components=secrets'], {
    env,
    input: '\n',
  });
  await vi.waitFor(
    async () => {
      const asked = await desk.start('secret-tool', ['store', '--label', 'first', 'service', 'test'], {
        env,
        input: 'x',
      }).ended;
      expect(asked.code, asked.stderr).toBe(0);
    },
    { timeout: 60_000, interval: 100 },
  );
  const stop = async () => {
    keyring.kill('SIGTERM');
    bus.kill('SIGTERM');
    await Promise.all([keyring.ended, bus.ended]);
  };
  return { env, stop };
}
