import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';

/** Debian's own, whose packages no other one sees. */
const PYTHON = '/usr/bin/python3';

export const hasSwift = (): boolean => spawnSync(PYTHON, ['-c', 'import swift.common.wsgi']).status === 0;

export interface Swift {
  endpoint: string;
  region: string;
  accessKey: string;
  secretKey: string;
  close(): Promise<void>;
}

/** OpenStack Swift with its S3 API, on loopback and in a folder of its own; without a bucket. */
export async function startSwift(): Promise<Swift> {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'rasket-swift-'));
  const key = { accessKey: 'test:tester', secretKey: 'a-secret-of-the-test' };
  const program = path.join(import.meta.dirname, 'swift-server.py');
  const child = spawn(PYTHON, [program, folder, key.accessKey, key.secretKey], { stdio: ['pipe', 'pipe', 'pipe'] });
  const ended = once(child, 'exit');
  const said: string[] = [];
  child.stderr.setEncoding('utf8').on('data', (text: string) => said.push(text));
  const close = async (): Promise<void> => {
    child.stdin.end();
    await ended;
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  };
  const first = once(createInterface({ input: child.stdout }), 'line') as Promise<[string]>;
  const port = await Promise.race([first.then(([line]) => line), ended.then(() => undefined)]);
  if (port === undefined) {
    await close();
    throw new Error(`Swift did not start:\n${said.join('')}`);
  }
  return { endpoint: `http://127.0.0.1:${port}`, region: 'us-east-1', ...key, close };
}
