// findings that appear or are resolved -> the log, a command, a URL: once per change, and not twice after a crash
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { webhookHeaders } from '../../../src/protocol/webhook-signature.ts';
import { beginNotice } from '../../../src/features/installation/findings/notices.ts';
import { scratchFolder } from '../../rig/scratch.ts';
import { startMachine, type Machine } from './examined.ts';

const SECRET = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;
const MINUTE_MS = 60_000;

interface Notice {
  type: string;
  created_at: string;
  data: {
    host: string;
    appeared: { code: string; severity: string; summary: string; subjects: string[] }[];
    mended: { code: string; severity: string; subject: string | null }[];
    findings: { code: string }[];
  };
}

/** Writes a program that stores each notice in a file of its own, unless it is to fail. */
function makePager() {
  const folder = scratchFolder('rasket-pager-');
  const [program, told, fails] = ['page', 'told', 'fails'].map((name) => path.join(folder, name)) as [
    string,
    string,
    string,
  ];
  writeFileSync(
    program,
    `#!/bin/sh\ntest -e '${fails}' && { echo 'no paper' >&2; exit 3; }\n{ cat; echo; env | grep -c RASKET_ ; echo "$1"; } >> '${told}'\n`,
  );
  chmodSync(program, 0o700);
  return {
    program,
    fails,
    lines: () => (existsSync(told) ? readFileSync(told, 'utf8').trim().split('\n') : []),
    /** Returns the notices in order; each is followed by the number of our variables it saw, and its argument. */
    notices: (): Notice[] =>
      (existsSync(told) ? readFileSync(told, 'utf8').trim().split('\n') : [])
        .filter((line) => line.startsWith('{'))
        .map((line) => JSON.parse(line) as Notice),
  };
}

const tell = async (machine: Machine) => machine.scene.app.jobs.find(({ name }) => name === 'tell-findings')?.run();

const logged = (machine: Machine, words: string): Record<string, unknown>[] =>
  machine.scene.log.filter((line) => line.includes(words)).map((line) => JSON.parse(line) as Record<string, unknown>);

describe('a notification command', () => {
  it('runs once per change with all findings, and again when they are resolved, with a log line each', async () => {
    const pager = makePager();
    await using machine = await startMachine({
      doctor: { notify_command: [pager.program, 'an argument; not a line'] },
    });
    await machine.examine();
    await tell(machine);
    expect(pager.notices(), 'nothing is wrong').toEqual([]);

    machine.list(['127.0.0.4']);
    await machine.examine();
    await tell(machine);
    expect(pager.notices()).toMatchObject([
      {
        type: 'findings.changed',
        created_at: new Date(machine.scene.clock.now()).toISOString(),
        data: {
          host: 'rasket.test',
          appeared: [{ code: 'address_listed', severity: 'error', subjects: ['127.7.7.7 list.test'] }],
          mended: [],
          findings: [{ code: 'address_listed' }],
        },
      },
    ]);
    expect(pager.lines().slice(1)).toEqual(['0', 'an argument; not a line']);
    expect(logged(machine, 'found: something is wrong')).toMatchObject([{ code: 'address_listed', level: 'error' }]);

    await machine.examine();
    await tell(machine);
    machine.list('SERVFAIL');
    await machine.examine();
    await tell(machine);
    expect(pager.notices(), 'nothing has changed, and what cannot be known was not mended').toHaveLength(1);

    machine.list('NXDOMAIN');
    await machine.examine();
    await tell(machine);
    await tell(machine);
    expect(pager.notices().slice(1)).toMatchObject([
      {
        data: {
          appeared: [],
          mended: [{ code: 'address_listed', severity: 'error', subject: '127.7.7.7 list.test' }],
          findings: [],
        },
      },
    ]);
    expect(logged(machine, 'resolved: a finding no longer applies')).toMatchObject([{ code: 'address_listed' }]);
  });

  it('that fails is retried in the order of events, and then no more', async () => {
    const pager = makePager();
    await using machine = await startMachine({ doctor: { notify_command: [pager.program] } });
    writeFileSync(pager.fails, '');
    machine.list(['127.0.0.4']);
    await machine.examine();
    await tell(machine);
    expect(logged(machine, 'could not be sent')).toMatchObject([
      { channel: 'command', fault: `${pager.program}: it ended with the code 3: no paper` },
    ]);
    machine.list('NXDOMAIN');
    await machine.examine();
    await tell(machine);
    expect(logged(machine, 'could not be sent'), 'the second waits for the first').toHaveLength(1);
    machine.scene.clock.advance(MINUTE_MS);
    rmSync(pager.fails);
    await tell(machine);
    expect(pager.notices().map(({ data }) => [data.appeared.length, data.mended.length])).toEqual([
      [1, 0],
      [0, 1],
    ]);

    writeFileSync(pager.fails, '');
    machine.list(['127.0.0.4']);
    await machine.examine();
    for (let tries = 0; tries < 10; tries++) {
      await tell(machine);
      machine.scene.clock.advance(180 * MINUTE_MS);
    }
    expect(logged(machine, 'could not be sent')).toHaveLength(1 + 5);
    expect(logged(machine, 'could not be sent').at(-1)).toMatchObject({ next: 'never' });
  });

  it('that cannot be started, or never ends, is logged', async () => {
    await using machine = await startMachine({ doctor: { notify_command: ['/nowhere/page'] } });
    machine.list(['127.0.0.4']);
    await machine.examine();
    await tell(machine);
    expect(logged(machine, 'could not be sent')[0]).toMatchObject({
      fault: '/nowhere/page: it did not start (ENOENT)',
    });
    await using slow = await startMachine({ doctor: { notify_command: ['sleep', '600'], notify_seconds: 1 } });
    slow.list(['127.0.0.4']);
    await slow.examine();
    await tell(slow);
    expect(logged(slow, 'could not be sent')[0]).toMatchObject({ fault: 'sleep: it did not end within 1 seconds' });
  });

  it('is not run a second time after a crash in the middle of it', async () => {
    const pager = makePager();
    await using machine = await startMachine({ doctor: { notify_command: [pager.program] } });
    machine.list(['127.0.0.4']);
    await machine.examine();
    // Whether a process that dies here has sent the notice is unknown.
    expect(await beginNotice(machine.scene.app.world)).toMatchObject({ channel: 'command', attempts: 1 });
    await machine.scene.restart();
    await tell(machine);
    machine.scene.clock.advance(11 * MINUTE_MS);
    await tell(machine);
    await machine.examine();
    await tell(machine);
    expect(pager.notices()).toEqual([]);
    expect(logged(machine, 'the notice may be lost')).toHaveLength(1);
    machine.list('NXDOMAIN');
    await machine.examine();
    await tell(machine);
    expect(pager.notices(), 'the next change is told as ever').toMatchObject([{ data: { findings: [] } }]);
  });

  it('runs once if its process is killed, and no other process repeats it', async () => {
    const pager = makePager();
    writeFileSync(pager.program, `${readFileSync(pager.program, 'utf8')}test -n "$PPID" && kill -9 "$PPID"\n`);
    // The killed process is the one that runs the command, never the test's own.
    await using machine = await startMachine({ doctor: { notify_command: [pager.program] } });
    machine.list(['127.0.0.4']);
    await machine.examine();
    const { app, dataDir } = machine.scene;
    const program = path.join(import.meta.dirname, 'send-notices-once.ts');
    const child = spawn(process.execPath, [program, JSON.stringify(app.world.config), dataDir], { stdio: 'inherit' });
    const [, signal] = (await once(child, 'exit')) as [number | null, string | null];
    expect(signal).toBe('SIGKILL');
    await expect.poll(() => pager.notices()).toHaveLength(1);
    const ended = spawn(process.execPath, [program, JSON.stringify(app.world.config), dataDir], { stdio: 'inherit' });
    expect(await once(ended, 'exit')).toEqual([0, null]);
    expect(pager.notices()).toHaveLength(1);
  });

  it('runs once with two processes', async () => {
    const pager = makePager();
    await using machine = await startMachine({ doctor: { notify_command: [pager.program] } });
    machine.list(['127.0.0.4']);
    await Promise.all([machine.examine(), machine.examine()]);
    await Promise.all([tell(machine), tell(machine), tell(machine)]);
    expect(pager.notices()).toHaveLength(1);
  });
});

describe('a notification URL', () => {
  it('gets the same content, signed like webhooks, with one id in all attempts', async () => {
    const got: { headers: http.IncomingHttpHeaders; body: string }[] = [];
    let status = 500;
    const server = http.createServer((request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => {
        got.push({ headers: request.headers, body });
        response.writeHead(status, { connection: 'close' }).end();
      });
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
    await using machine = await startMachine({ doctor: { notify_url: url, notify_secret: SECRET } });
    machine.list(['127.0.0.4']);
    await machine.examine();
    await tell(machine);
    expect(logged(machine, 'could not be sent')[0]).toMatchObject({
      channel: 'url',
      fault: expect.stringContaining('answers 500'),
    });
    status = 204;
    machine.scene.clock.advance(MINUTE_MS);
    await tell(machine);
    machine.scene.clock.advance(180 * MINUTE_MS);
    await tell(machine);
    expect(got).toHaveLength(2);
    const [first, second] = got;
    expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id']);
    for (const { headers, body } of got) {
      const [id = '', at = ''] = [headers['webhook-id'], headers['webhook-timestamp']].map(String);
      const signed = webhookHeaders([SECRET], { id, timestampSeconds: Number(at), body });
      expect(headers['webhook-signature']).toBe(signed['webhook-signature']);
      expect((JSON.parse(body) as Notice).data.appeared).toMatchObject([{ code: 'address_listed' }]);
    }
    await new Promise<void>((done) => server.close(() => done()));
  });
});
