import { closeSync, fsyncSync, openSync, readFileSync, rmSync, statfsSync, writeSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { median } from './figures.ts';

/** The machine of the figures, which compare only with those of the same run. */
export interface Machine {
  cpu: string;
  cores: number;
  memoryGib: number;
  node: string;
  system: string;
  /** Processes that were running or waiting to, over the last minute, before the bench began. */
  load: number;
  fsyncMicros: number;
}

const TMPFS = 0x01021994;

export const isInMemory = (folder: string): boolean => statfsSync(folder).type === TMPFS;

export function describeMachine(folder: string): Machine {
  return {
    cpu: os.cpus()[0]?.model ?? 'unknown',
    cores: os.availableParallelism(),
    memoryGib: Math.round(os.totalmem() / 2 ** 30),
    node: process.version,
    system: `${os.type()} ${os.release()}`,
    load: os.loadavg()[0] ?? NaN,
    fsyncMicros: Math.round(fsyncMicros(folder)),
  };
}

/** Processor seconds of the whole machine so far, and of this process with its ended children. */
export interface Worked {
  machineSeconds: number;
  ownSeconds: number;
  at: number;
}

const TICKS_PER_SECOND = 100;

export function workedSoFar(): Worked {
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0] = readNumbers(
    readFileSync('/proc/stat', 'latin1').split('\n')[0],
  );
  const fields = readNumbers(readFileSync('/proc/self/stat', 'latin1').split(') ').at(-1));
  const own = fields.slice(10, 14).reduce((sum, ticks) => sum + ticks, 0);
  const machine = user + nice + system + irq + softirq;
  return { machineSeconds: machine / TICKS_PER_SECOND, ownSeconds: own / TICKS_PER_SECOND, at: performance.now() };
}

/** Returns the number of cores that other programs kept busy since: the reason to repeat a run. */
export function othersSince(before: Worked): number {
  const now = workedSoFar();
  const others = now.machineSeconds - before.machineSeconds - (now.ownSeconds - before.ownSeconds);
  return Math.max(0, others / ((now.at - before.at) / 1000));
}

/** Returns the fields after the first, which is not a number. */
const readNumbers = (line = ''): number[] => line.trim().split(/\s+/).slice(1).map(Number);

export const loadNow = (): number => Number(readFileSync('/proc/loadavg', 'latin1').split(' ')[0]);

function fsyncMicros(folder: string): number {
  const file = path.join(folder, 'fsync');
  const handle = openSync(file, 'w');
  const block = Buffer.alloc(4096, 'x');
  const times: number[] = [];
  for (let i = 0; i < 100; i++) {
    const begin = performance.now();
    writeSync(handle, block);
    fsyncSync(handle);
    times.push(performance.now() - begin);
  }
  closeSync(handle);
  rmSync(file);
  return median(times) * 1000;
}
