import { spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { freePort } from '../rig/free-port.ts';

export interface Clamd {
  port: number;
  close(): Promise<void>;
}

const START_MS = 60_000;

/** A clamd of this test's own, in the foreground, on loopback, that knows one signature and asks nobody for more. */
export async function startClamd(program: string, signature: { name: string; text: string }): Promise<Clamd> {
  const dir = mkdtempSync(path.join(os.tmpdir(), 'rasket-clamd-'));
  const port = await freePort();
  mkdirSync(path.join(dir, 'db'));
  const hex = Buffer.from(signature.text).toString('hex');
  writeFileSync(path.join(dir, 'db', 'local.ndb'), `${signature.name}:0:*:${hex}\n`);
  const settings = [
    `TCPSocket ${port}`,
    'TCPAddr 127.0.0.1',
    `DatabaseDirectory ${path.join(dir, 'db')}`,
    `TemporaryDirectory ${dir}`,
    'Foreground yes',
    'StreamMaxLength 1M',
  ];
  const file = path.join(dir, 'clamd.conf');
  writeFileSync(file, `${settings.join('\n')}\n`);
  const child = spawn(program, ['-c', file, '--foreground'], { stdio: ['ignore', 'pipe', 'pipe'] });
  const close = async (): Promise<void> => {
    await ended(child);
    rmSync(dir, { recursive: true, force: true, maxRetries: 10 });
  };
  try {
    await hasStarted(child);
  } catch (error) {
    await close();
    throw error;
  }
  return { port, close };
}

async function hasStarted(child: ChildProcess): Promise<void> {
  const said: string[] = [];
  let timer: NodeJS.Timeout | undefined;
  try {
    await new Promise<void>((resolve, reject) => {
      const fail = (what: string): void => reject(new Error(`clamd ${what}:\n${said.join('')}`));
      timer = setTimeout(() => fail(`did not start within ${START_MS} ms`), START_MS);
      child.once('error', (error) => fail(`cannot be started, ${error.message}`));
      child.once('exit', (code) => fail(`ended by itself with ${code}`));
      for (const stream of [child.stdout, child.stderr]) {
        stream?.setEncoding('utf8').on('data', (text: string) => {
          said.push(text);
          if (said.join('').includes('Self checking')) resolve();
        });
      }
    });
  } finally {
    clearTimeout(timer);
  }
}

function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return Promise.resolve();
  return new Promise((resolve) => {
    child.once('exit', () => resolve());
    child.kill('SIGKILL');
  });
}
