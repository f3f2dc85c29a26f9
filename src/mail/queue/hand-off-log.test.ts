import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findAbandonedLogs, openHandOffLog } from './hand-off-log.ts';

const OWNER = '01900000-0000-7000-8000-000000000000';
const delivery = (n: number): string => `01900000-0000-7000-8000-${String(n).padStart(12, '0')}`;

const TMPFS = 0x01021994;
const hasMemory = existsSync('/dev/shm') && statfsSync('/dev/shm').type === TMPFS;

let folder: string;
let memory: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'rasket-slots-'));
  memory = hasMemory ? mkdtempSync('/dev/shm/rasket-slots-') : folder;
});
afterEach(() => {
  for (const one of [folder, memory]) rmSync(one, { recursive: true, force: true });
});

const left = (): string[] => {
  const [log] = findAbandonedLogs(folder, { isAlone: true, runtimeDir: memory });
  return [...(log?.marked ?? [])].toSorted();
};

// runs only where there is a tmpfs to keep slots in
it.runIf(hasMemory)('a marked delivery stays in the log until it is cleared', () => {
  const log = openHandOffLog(folder, OWNER, { runtimeDir: memory });
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
 * Program for a separate process whose files may not grow beyond a kilobyte at first: as on a full disk, the write that
 * crosses the limit is cut short, and later ones fail. Then there is space again. It prints the deliveries that could
 * not be marked.
 */
const FULL = `
import { execFileSync } from 'node:child_process';
import { openHandOffLog } from ${JSON.stringify(path.join(import.meta.dirname, 'hand-off-log.ts'))};
const log = openHandOffLog(process.argv[2], ${JSON.stringify(OWNER)}, { runtimeDir: process.argv[3] });
const failed = [];
for (let n = 1; n <= 60; n++) {
  if (n === 40) execFileSync('prlimit', ['--pid', String(process.pid), '--fsize=unlimited']);
  const id = '01900000-0000-7000-8000-' + String(n).padStart(12, '0');
  try { log.mark(id); } catch { failed.push(id); }
}
console.log(JSON.stringify(failed));
process.kill(process.pid, 'SIGKILL');
`;

// runs only where there is a tmpfs to keep slots in
it.runIf(hasMemory)(
  'a mark that a full file system cuts short does not count, and every later mark is found after a kill',
  async () => {
    const script = path.join(folder, 'full.ts');
    writeFileSync(script, FULL);
    const child = spawn('prlimit', ['--fsize=1024:', process.execPath, script, folder, memory], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    let said = '';
    child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
    await once(child, 'close');
    const failed = JSON.parse(said) as string[];
    expect(failed.length).toBeGreaterThan(1);
    const all = Array.from({ length: 60 }, (_, at) => delivery(at + 1));
    expect(left()).toEqual(all.filter((id) => !failed.includes(id)));
  },
);

// runs only where there is a tmpfs to keep slots in
describe.runIf(hasMemory)('after a crash', () => {
  const all = () => findAbandonedLogs(folder, { isAlone: true, runtimeDir: memory });
  /** Leaves the log as a killed process does: nothing is closed. */
  const crashed = () => {
    const log = openHandOffLog(folder, OWNER, { runtimeDir: memory });
    log.mark(delivery(1));
    return log;
  };

  it('the marks survive a crash when the data folder has lost the note of their writer', () => {
    crashed();
    for (const name of readdirSync(folder)) rmSync(path.join(folder, name));
    expect(all()).toMatchObject([{ owner: OWNER, marked: new Set([delivery(1)]) }]);
  });

  it('the marks are unknown, not empty, when the tmpfs is gone, for example after a container restart', () => {
    const { memory: slots = '' } = crashed();
    rmSync(slots, { recursive: true });
    expect(all()).toMatchObject([{ owner: OWNER, marked: undefined }]);
  });

  it('the marks are unknown after a reboot of the machine', () => {
    const { memory: slots = '' } = crashed();
    const file = path.join(slots, readdirSync(slots)[0] ?? '');
    const content = readFileSync(file, 'latin1');
    writeFileSync(file, `00000000-0000-0000-0000-000000000000${content.slice(36)}`);
    expect(all()).toMatchObject([{ owner: OWNER, marked: undefined }]);
  });

  it('slots that an earlier release left in the data folder are not trusted', () => {
    const { memory: slots = '' } = crashed();
    const name = readdirSync(slots)[0] ?? '';
    writeFileSync(path.join(folder, name), readFileSync(path.join(slots, name)));
    rmSync(slots, { recursive: true });
    expect(all()).toMatchObject([{ owner: OWNER, marked: undefined }]);
  });

  it('a tmpfs folder that other accounts can write to is not trusted and gets no slots', () => {
    const { memory: slots = '' } = crashed();
    chmodSync(slots, 0o777);
    expect(all()).toMatchObject([{ owner: OWNER, marked: undefined }]);
    const other = openHandOffLog(folder, '01900000-0000-7000-8000-000000000001', { runtimeDir: memory });
    expect(other.memory).not.toBe(slots);
    other.close();
  });

  it('removing a log removes all of its files', () => {
    crashed();
    for (const log of all()) log.remove();
    expect([readdirSync(folder), readdirSync(memory)]).toEqual([[], []]);
  });
});
