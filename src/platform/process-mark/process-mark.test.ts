import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isOfThisBoot, mayBeAlive, openProcessMarks, ownMark } from './index.ts';

it('a running process is recognized as alive, and as gone after it has ended', async () => {
  expect(mayBeAlive(ownMark())).toBe(true);
  const child = spawn(process.execPath, ['-e', 'setInterval(() => 0, 1000)'], { stdio: 'ignore' });
  const ended = new Promise((done) => child.once('exit', done));
  const stat = readFileSync(`/proc/${child.pid}/stat`, 'latin1');
  const startedAt = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  const mark = { ...ownMark(), process: `${child.pid} ${startedAt}` };
  expect(mayBeAlive(mark)).toBe(true);
  child.kill('SIGKILL');
  await ended;
  expect(mayBeAlive(mark)).toBe(false);
});

it('another process with the same number is not taken for the same process', () => {
  expect(mayBeAlive({ ...ownMark(), process: `${process.pid} 1` })).toBe(false);
  expect(mayBeAlive({ ...ownMark(), process: '' })).toBe(false);
});

it('a process from before a reboot is gone, and one on another machine may be alive', () => {
  const before = { ...ownMark(), boot: 'another' };
  expect([isOfThisBoot(ownMark()), isOfThisBoot(before), mayBeAlive(before)]).toEqual([true, false, false]);
  expect(mayBeAlive({ boot: 'another', process: '1 1', host: 'elsewhere' })).toBe(true);
});

describe('a process mark of a data folder', () => {
  let dataDir: string;
  beforeEach(() => {
    dataDir = mkdtempSync(path.join(os.tmpdir(), 'rasket-marks-'));
    mkdirSync(path.join(dataDir, 'run'));
  });
  afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

  it('has an id that does not depend on the host name, and leaves no file', () => {
    const first = openProcessMarks(dataDir);
    expect(first.own.host).toMatch(/^[0-9a-f-]{36}$/);
    first.close();
    const second = openProcessMarks(dataDir);
    expect(second.own.host).toBe(first.own.host);
    expect(second.mayBeAlive(second.own)).toBe(true);
    expect(second.mayBeAlive({ ...second.own, process: '1 0 1' })).toBe(false);
    expect(second.mayBeAlive({ ...second.own, boot: 'another' })).toBe(false);
    second.close();
    expect(readdirSync(path.join(dataDir, 'run'))).toEqual([]);
  });

  it('of an earlier version is recognized by its host, and one of another node counts as alive', () => {
    const marks = openProcessMarks(dataDir);
    const before = { ...ownMark(), process: ownMark().process.split(' ').slice(0, 2).join(' ') };
    expect(marks.mayBeAlive(before)).toBe(true);
    expect(marks.mayBeAlive({ ...before, process: `${process.pid} 1` })).toBe(false);
    expect(marks.mayBeAlive({ ...before, host: 'elsewhere' })).toBe(true);
    marks.close();
  });

  it('of a copied folder belongs to another node, whose files are left alone', () => {
    const original = openProcessMarks(dataDir);
    const copy = path.join(dataDir, 'copy');
    mkdirSync(copy);
    for (const name of ['run', 'node.id']) cpSync(path.join(dataDir, name), path.join(copy, name), { recursive: true });
    const copied = openProcessMarks(copy);
    expect(copied.own.host).not.toBe(original.own.host);
    expect(copied.mayBeAlive({ ...original.own, boot: 'another' })).toBe(true);
    copied.close();
    original.close();
  });

  it('distinguishes a process in another container on the same folder from one that has ended', async () => {
    const marks = openProcessMarks(dataDir);
    const source = `
      import { holdFile } from ${JSON.stringify(new URL('../db/index.ts', import.meta.url).href)};
      holdFile(process.argv[1]);
      globalThis.gc();
      console.log('held');
      process.stdin.resume();`;
    // The mark that another container would write: its process number means nothing here.
    const mark = { ...marks.own, process: '1 1 1' };
    const file = path.join(dataDir, 'run/alive-1-1-1.lock');
    const child = spawn(process.execPath, ['--expose-gc', '--input-type=module', '-e', source, file], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    await once(child.stdout, 'data');
    expect(marks.mayBeAlive(mark)).toBe(true);
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
    expect(marks.mayBeAlive(mark)).toBe(false);
    marks.close();
    expect(readdirSync(path.join(dataDir, 'run'))).toEqual([]);
  });
});
