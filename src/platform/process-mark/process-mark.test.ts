import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { isOfThisBoot, mayBeAlive, ownMark } from './index.ts';

it('a process that runs is known as alive, and as gone when it has ended', async () => {
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

it('another process under the same number is another process', () => {
  expect(mayBeAlive({ ...ownMark(), process: `${process.pid} 1` })).toBe(false);
  expect(mayBeAlive({ ...ownMark(), process: '' })).toBe(false);
});

it('what ran before the machine was started again is gone, and what runs elsewhere may be alive', () => {
  const before = { ...ownMark(), boot: 'another' };
  expect([isOfThisBoot(ownMark()), isOfThisBoot(before), mayBeAlive(before)]).toEqual([true, false, false]);
  expect(mayBeAlive({ boot: 'another', process: '1 1', host: 'elsewhere' })).toBe(true);
});
