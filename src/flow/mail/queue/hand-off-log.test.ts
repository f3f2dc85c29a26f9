import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { leftHandOffLogs, openHandOffLog } from './hand-off-log.ts';

const OWNER = '01900000-0000-7000-8000-000000000000';
const delivery = (n: number): string => `01900000-0000-7000-8000-${String(n).padStart(12, '0')}`;

let folder: string;
beforeEach(() => void (folder = mkdtempSync(path.join(os.tmpdir(), 'rasket-slots-'))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const left = (): string[] => {
  const [log] = leftHandOffLogs(folder, { isAlone: true });
  return [...(log?.marked ?? [])].toSorted();
};

it('what is marked and not cleared is left', () => {
  const log = openHandOffLog(folder, OWNER);
  for (const n of [1, 2, 3]) log.mark(delivery(n));
  log.clear(delivery(2));
  expect(left()).toEqual([delivery(1), delivery(3)]);
  log.mark(delivery(4));
  log.clear(delivery(1));
  expect(left()).toEqual([delivery(3), delivery(4)]);
  log.close();
  expect(left()).toEqual([]);
});

/**
 * In a process of its own, whose files may not grow beyond a kilobyte at first: as on a full disk, the write that crosses the end is
 * cut short, and those behind it fail. Then there is room again. It prints what could not be marked.
 */
const FULL = `
import { execFileSync } from 'node:child_process';
import { openHandOffLog } from ${JSON.stringify(path.join(import.meta.dirname, 'hand-off-log.ts'))};
const log = openHandOffLog(process.argv[2], ${JSON.stringify(OWNER)});
const failed = [];
for (let n = 1; n <= 60; n++) {
  if (n === 40) execFileSync('prlimit', ['--pid', String(process.pid), '--fsize=unlimited']);
  const id = '01900000-0000-7000-8000-' + String(n).padStart(12, '0');
  try { log.mark(id); } catch { failed.push(id); }
}
console.log(JSON.stringify(failed));
process.kill(process.pid, 'SIGKILL');
`;

it('a mark that a full disk cuts short is none, and every later one is found after a kill', async () => {
  const script = path.join(folder, 'full.ts');
  writeFileSync(script, FULL);
  const child = spawn('prlimit', ['--fsize=1024:', process.execPath, script, folder], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
  await once(child, 'close');
  const failed = JSON.parse(said) as string[];
  expect(failed.length).toBeGreaterThan(1);
  const all = Array.from({ length: 60 }, (_, at) => delivery(at + 1));
  expect(left()).toEqual(all.filter((id) => !failed.includes(id)));
});
