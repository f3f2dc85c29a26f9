/**
 * Who wrote a file of the data folder: a mark that says, after a crash, whether its writer can still be alive. On Linux
 * it never takes a living process for a dead one; a process of another machine counts as alive. Where the system does
 * not tell (no /proc), every other process of this machine counts as gone.
 */
import { readFileSync } from 'node:fs';
import os from 'node:os';

/** Each part has at most 36 characters, none of them a line end, and may be empty. */
export interface ProcessMark {
  boot: string;
  process: string;
  host: string;
}

const PART_CHARS_MAX = 36;

export const ownMark = (): ProcessMark => ({
  boot: bootId() ?? '',
  process: startedProcess(process.pid) ?? '',
  host: hostName(),
});

/** Whether the machine has been up ever since. */
export const isOfThisBoot = (mark: ProcessMark): boolean => mark.boot !== '' && mark.boot === bootId();

export const mayBeAlive = (mark: ProcessMark): boolean =>
  mark.host !== hostName() || (isOfThisBoot(mark) && startedProcess(Number.parseInt(mark.process)) === mark.process);

const hostName = (): string => os.hostname().slice(0, PART_CHARS_MAX).trim();

/** Changes with every start of the machine; absent where the system has no such thing. */
const bootId = (): string | undefined => readSystem('/proc/sys/kernel/random/boot_id')?.trim();

/** A process by its number and its start, for numbers are given again; nothing when it has ended. */
function startedProcess(pid: number): string | undefined {
  const stat = readSystem(`/proc/${pid}/stat`);
  // The name in parentheses may hold spaces; the start is the twentieth field behind it.
  const startedAt = stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  return startedAt === undefined ? undefined : `${pid} ${startedAt}`;
}

function readSystem(file: string): string | undefined {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return undefined;
  }
}
