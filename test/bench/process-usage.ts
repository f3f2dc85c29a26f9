import { readdirSync, readFileSync, writeFileSync } from 'node:fs';

/** Processor seconds of a process so far, and of its main thread alone. */
export interface Usage {
  allSeconds: number;
  mainSeconds: number;
}

// The unit of /proc/<pid>/stat is 1/100 s on every Linux that Node runs on.
const TICKS_PER_SECOND = 100;

export function readUsage(pid: number): Usage {
  return { allSeconds: secondsIn(`/proc/${pid}/stat`), mainSeconds: secondsIn(`/proc/${pid}/task/${pid}/stat`) };
}

export function usageSince(pid: number, before: Usage): Usage {
  const now = readUsage(pid);
  return { allSeconds: now.allSeconds - before.allSeconds, mainSeconds: now.mainSeconds - before.mainSeconds };
}

function secondsIn(file: string): number {
  // The name of the program is in parentheses and may contain spaces.
  const fields = readFileSync(file, 'latin1').split(') ').at(-1)?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** Returns processor time by kind of thread, which shows what limits a figure. */
export function threadSeconds(pid: number): Map<string, number> {
  const seconds = new Map<string, number>();
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const name = Number(thread) === pid ? 'main' : readFileSync(`/proc/${pid}/task/${thread}/comm`, 'latin1').trim();
    seconds.set(name, (seconds.get(name) ?? 0) + secondsIn(`/proc/${pid}/task/${thread}/stat`));
  }
  return seconds;
}

const MIB = 1024 * 1024;

export const rssBytes = (pid: number): number => memoryField(pid, 'VmRSS');
/** Returns the peak since the process began or `forgetPeak`. */
export const peakRssBytes = (pid: number): number => memoryField(pid, 'VmHWM');
export const forgetPeak = (pid: number): void => writeFileSync(`/proc/${pid}/clear_refs`, '5');
export const inMib = (bytes: number): number => bytes / MIB;

function memoryField(pid: number, name: string): number {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1');
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? NaN) * 1024;
}
