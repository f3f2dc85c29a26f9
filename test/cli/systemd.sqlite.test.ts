// rasket serve --> systemd-notify --> a stand-in for systemd's socket
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { loadConfig } from '../../src/platform/config/index.ts';
import { Desk, root, type Running } from './desk.ts';
import fs from 'node:fs';

vi.setConfig({ testTimeout: 180_000 });

const has = (command: string): boolean => spawnSync('/bin/sh', ['-c', `command -v ${command}`]).status === 0;

// It prints a line for each state, and closes descriptors that come along, which systemd-notify waits for.
const LISTENER = `
import os, socket, sys
name = sys.argv[1]
server = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
server.bind('\\0' + name[1:] if name.startswith('@') else name)
print('listening', flush=True)
while True:
    data, fds, _, _ = socket.recv_fds(server, 4096, 4)
    for fd in fds: os.close(fd)
    for line in data.decode().splitlines(): print(line, flush=True)
`;

// runs only where there is systemd-notify, as wherever there is systemd, and a Python for the stand-in
describe.runIf(has('systemd-notify') && has('python3'))('a server under a service manager', () => {
  let desk: Desk;
  beforeEach(async () => {
    desk = new Desk();
    desk.write('listen.py', LISTENER);
    expect(await desk.rasket(['init', '--data', 'data'])).toMatchObject({ code: 0 });
  });
  afterEach(() => desk.clear());

  async function listenAt(name: string): Promise<Running> {
    const listener = desk.start('python3', [desk.at('listen.py'), name], { patienceMs: 150_000 });
    await vi.waitFor(() => expect(listener.stdout).toContain('listening'), { timeout: 60_000 });
    return listener;
  }

  const said = ({ stdout }: Running): string[] => stdout.split('\n').slice(1, -1);

  it.each([
    { kind: 'a path', nameOf: () => desk.at('notify') },
    { kind: 'an abstract name', nameOf: () => `@rasket-test-${path.basename(desk.folder)}` },
  ])('notifies when it is ready, that it is alive, and how long its stop takes, at $kind', async ({ nameOf }) => {
    const name = nameOf();
    const manager = await listenAt(name);
    const env = { NOTIFY_SOCKET: name, WATCHDOG_USEC: '400000', RASKET_HTTP_SHUTDOWN_SECONDS: '120' };
    const server = await desk.serve(['serve', '--data', 'data'], { env });
    await vi.waitFor(() => expect(said(manager).filter((line) => line === 'WATCHDOG=1').length).toBeGreaterThan(2), {
      timeout: 60_000,
    });
    expect(said(manager)[0]).toBe('READY=1');
    await server.stop();
    // One message, of which the lines are printed one after the other.
    await vi.waitFor(() => expect(said(manager)).toContain('EXTEND_TIMEOUT_USEC=130000000'), { timeout: 60_000 });
    expect(said(manager)).toContain('STOPPING=1');
    expect(server.stderr).not.toContain('cannot be notified');
  });

  it('sends no watchdog notification when none is requested, or it is for another process', async () => {
    const name = desk.at('notify');
    const manager = await listenAt(name);
    const env = { NOTIFY_SOCKET: name, WATCHDOG_USEC: '1000', WATCHDOG_PID: '1' };
    const server = await desk.serve(['serve', '--data', 'data'], { env });
    await server.stop();
    await vi.waitFor(() => expect(said(manager)).toContain('STOPPING=1'), { timeout: 60_000 });
    expect(said(manager)).not.toContain('WATCHDOG=1');
  });

  it('continues when nobody listens, and logs that once', async () => {
    const env = { NOTIFY_SOCKET: desk.at('nobody'), WATCHDOG_USEC: '100000' };
    const server = await desk.serve(['serve', '--data', 'data'], { env });
    await vi.waitFor(() => expect(server.stderr).toContain('the service manager cannot be notified'), {
      timeout: 60_000,
    });
    expect((await server.stop()).code).toBe(0);
    expect(server.stderr.split('the service manager cannot be notified')).toHaveLength(2);
  });
});

describe('the systemd unit', () => {
  const unit = fs.readFileSync(path.join(root, 'systemd/rasket.service'), 'utf8');
  const readValue = (name: string): string => new RegExp(`^${name}=(.*)$`, 'm').exec(unit)?.[1] ?? '';

  it('waits longer for a stop than the program takes, and does not restart after a refused upgrade', () => {
    // After the grace period, the program ends by itself within five seconds.
    const seconds = loadConfig({ env: {} }).config.http.shutdown_seconds + 5;
    expect(Number(readValue('TimeoutStopSec'))).toBeGreaterThan(seconds);
    expect([readValue('Type'), readValue('NotifyAccess')]).toEqual(['notify', 'all']);
    expect(Number(readValue('WatchdogSec'))).toBeGreaterThan(0);
    expect([readValue('TimeoutStartSec'), readValue('LimitCORE')]).toEqual(['infinity', '0']);
    expect(readValue('RestartPreventExitStatus')).toBe('65');
  });

  // runs only where systemd's own checker is installed
  it.runIf(has('systemd-analyze'))('passes the exposure check of systemd', () => {
    const words = ['security', '--offline=yes', '--threshold=20', path.join(root, 'systemd/rasket.service')];
    const { status, stdout } = spawnSync('systemd-analyze', words, { encoding: 'utf8' });
    expect(status, stdout.split('\n').slice(-3).join('\n')).toBe(0);
  });
});
