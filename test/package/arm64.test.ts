// The file and the package for arm64, made on this machine and run by an emulator.
import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { ARM64_LIBRARIES, describePeers } from '../peers/peers.ts';
import { root } from './bare-root.ts';
import { buildFile } from './built-file.ts';

vi.setConfig({ testTimeout: 240_000, hookTimeout: 300_000 });

const EMULATOR = 'qemu-aarch64-static';
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rasket-arm64-'));
/** A server without these variables would start itself once more, which the emulator does not follow. */
const env = {
  PATH: process.env['PATH'],
  HOME: path.join(folder, 'home'),
  QEMU_LD_PREFIX: ARM64_LIBRARIES,
  UV_THREADPOOL_SIZE: '8',
  MALLOC_MMAP_THRESHOLD_: '65536',
  MALLOC_ARENA_MAX: '2',
  RASKET_HTTP_PORT: '0',
  RASKET_RECEIVING_PORTS: '',
  RASKET_SUBMISSION_PORTS: '',
  RASKET_SUBMISSION_TLS_PORTS: '',
};
/** The commit is that of the build, which may be older than the checkout's. */
const VERSION = /^\d+\.\d+\.\d+(\+[0-9a-f]{8})?\n$/;

describePeers('for arm64,', [EMULATOR, 'arm64-libraries'], () => {
  let file: string;
  beforeAll(() => {
    file = buildFile('arm64');
  });
  afterAll(() => fs.rmSync(folder, { recursive: true, force: true, maxRetries: 10 }));

  const rasket = (words: readonly string[], more: Record<string, string> = {}): string => {
    const ended = spawnSync(EMULATOR, [file, ...words], { env: { ...env, ...more }, encoding: 'utf8' });
    expect(ended, `${words.join(' ')}: ${ended.stderr}`).toMatchObject({ status: 0 });
    return ended.stdout;
  };

  it('the single file prints its version, serves with its database, and delivers a first email', async () => {
    expect(rasket(['--version'])).toMatch(VERSION);
    const server = spawn(EMULATOR, [file, 'dev', '--data', path.join(folder, 'data')], {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    try {
      const { url, key } = await waitForAnswers(server);
      const answer = await fetch(`${url}/emails`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'user-agent': 'test' },
        body: JSON.stringify({ from: 'you@playground.test', to: 'someone@example.com', subject: 'Arm', text: 'Hi' }),
      });
      expect(answer.status).toBe(200);
      const { id } = (await answer.json()) as { id: string };
      await vi.waitFor(async () => {
        const email = await fetch(`${url}/emails/${id}`, {
          headers: { authorization: `Bearer ${key}`, 'user-agent': 'test' },
        });
        expect(await email.json()).toMatchObject({ last_event: 'delivered' });
      });
      const listed = rasket(['emails', 'list', '--json'], { RASKET_URL: url, RASKET_API_KEY: key });
      expect(JSON.parse(listed)).toMatchObject({ data: [{ id, last_event: 'delivered' }] });
    } finally {
      const ended = once(server, 'exit');
      server.kill('SIGTERM');
      await ended;
    }
  });

  it('the Debian package names its architecture, and contains that file', () => {
    const words = ['packaging/build-deb.ts', '--compress', 'none', '--version', '0.0.3'];
    const made = execFileSync(process.execPath, words, {
      cwd: root,
      env: { ...process.env, RASKET_PACKAGE_ARCH: 'arm64' },
      encoding: 'utf8',
    }).trim();
    try {
      expect(path.basename(made)).toBe('rasket_0.0.3_arm64.deb');
      expect(execFileSync('dpkg-deb', ['--field', made, 'Architecture'], { encoding: 'utf8' })).toBe('arm64\n');
      execFileSync('dpkg-deb', ['--extract', made, path.join(folder, 'package')]);
      const packed = fs.readFileSync(path.join(folder, 'package/usr/lib/rasket/bin/rasket'));
      expect(packed.equals(fs.readFileSync(file))).toBe(true);
    } finally {
      fs.rmSync(made);
    }
  });
});

/** Waits until the server is ready, and returns where it listens and the key of its team. */
async function waitForAnswers(server: ChildProcess): Promise<{ url: string; key: string }> {
  let said = '';
  for (const stream of [server.stdout, server.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => (said += text));
  await vi.waitFor(() => expect(said).toContain(' info ready '), { timeout: 200_000 });
  const [, url = ''] = /API {6}(http:\S+)/.exec(said) ?? [];
  const [, key = ''] = /API key {2}(rk_\S+)/.exec(said) ?? [];
  return { url, key };
}
