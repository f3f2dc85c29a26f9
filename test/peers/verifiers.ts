import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export function findMailDkim(): boolean {
  return spawnSync('perl', ['-MMail::DKIM::Verifier', '-MNet::DNS', '-e', '1']).status === 0;
}

export const findMailSpf = (): boolean => spawnSync('perl', ['-MMail::SPF', '-e', '1']).status === 0;

/** Returns opendkim's result for each message. It asks no name server: `records` (name to TXT) is all it knows. */
export function askOpendkim(messages: readonly Buffer[], records: Record<string, string>): Promise<string[]> {
  return withFiles(messages, async (files, dir) => {
    const known = path.join(dir, 'records');
    const config = path.join(dir, 'opendkim.conf');
    writeFileSync(
      known,
      Object.entries(records)
        .map(([name, value]) => `${name} ${value}\n`)
        .join(''),
    );
    writeFileSync(config, `Mode v\nSyslog no\nTemporaryDirectory ${dir}\nTestDNSData file:${known}\n`);
    const { stdout, stderr } = await run('opendkim', ['-x', config, '-t', files.join(',')], { env: withSbin() });
    const lines = `${stdout}\n${stderr}`.split('\n');
    return files.map(
      (file) => lines.find((line) => line.includes(`${file}: `))?.split(`${file}: `)[1] ?? 'no word of it',
    );
  });
}

/** Returns the result of Mail::DKIM for each message, as "<signatures> <result>"; it asks the name server on loopback for the keys. */
export function askMailDkim(messages: readonly Buffer[], dnsPort: number): Promise<string[]> {
  return withFiles(messages, async (files) => {
    const script = path.join(import.meta.dirname, 'verify-dkim.pl');
    const { stdout } = await run('perl', [script, String(dnsPort), ...files]);
    return stdout.trimEnd().split('\n');
  });
}

async function withFiles<T>(
  messages: readonly Buffer[],
  use: (files: string[], dir: string) => Promise<T>,
): Promise<T> {
  const dir = mkdtempSync(path.join(os.tmpdir(), 'rasket-verify-'));
  try {
    const files = messages.map((message, index) => {
      const file = path.join(dir, `${index}.eml`);
      writeFileSync(file, message);
      return file;
    });
    return await use(files, dir);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

function withSbin(): NodeJS.ProcessEnv {
  return { ...process.env, PATH: `${process.env.PATH ?? ''}:/usr/sbin:/sbin` };
}
