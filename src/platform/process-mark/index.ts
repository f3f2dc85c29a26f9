/**
 * Who wrote a file of the data folder: a mark that says, after a crash, whether its writer can still be alive. On Linux
 * it never takes a living process for a dead one; a process of another node counts as alive. Where the system does
 * not tell (no /proc), every other process of this node counts as gone.
 */
import { existsSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { holdFile } from '../db/index.ts';
import { nodeIdOf } from './node-id.ts';

export { nodeIdOf };

/** Each part has at most 36 characters, none of them a line end, and may be empty. */
export interface ProcessMark {
  boot: string;
  process: string;
  host: string;
}

const PART_CHARS_MAX = 36;

/** The marks of one data folder, and how it is told from them who is alive. */
export interface ProcessMarks {
  own: ProcessMark;
  mayBeAlive(mark: ProcessMark): boolean;
  close(): void;
}

/**
 * Marks bear the node's id. Containers that share a folder see no process of each other's, so each process also holds a
 * file for as long as it lives.
 */
export function openProcessMarks(dataDir: string): ProcessMarks {
  const nodeId = nodeIdOf(dataDir);
  const own = { ...ownMark(), host: nodeId };
  const file = lockOf(dataDir, own);
  const letGo = holdFile(file);
  return {
    own,
    mayBeAlive(mark) {
      if (mark.host !== nodeId) return mayBeAlive(mark);
      if (!isOfThisBoot(mark)) return false;
      if (namespaceIn(mark) === namespaceIn(own)) return startedProcess(Number.parseInt(mark.process)) === mark.process;
      return isHeld(lockOf(dataDir, mark));
    },
    close() {
      // Of several in one process, the one that holds the file; the others know each other by their number.
      if (!letGo) return;
      letGo();
      removeLock(file);
    },
  };
}

/** By its host's name alone: for files that were written before nodes had ids, and without a data folder. */
export const hostMarks = (): ProcessMarks => ({ own: ownMark(), mayBeAlive, close: () => undefined });

export const ownMark = (): ProcessMark => ({
  boot: bootId() ?? '',
  process: startedProcess(process.pid) ?? '',
  host: hostName(),
});

/** Whether the machine has been up ever since. */
export const isOfThisBoot = (mark: ProcessMark): boolean => mark.boot !== '' && mark.boot === bootId();

export const mayBeAlive = (mark: ProcessMark): boolean => {
  if (mark.host !== hostName()) return true;
  const started = startedProcess(Number.parseInt(mark.process));
  // Marks of before have no namespace.
  return isOfThisBoot(mark) && started !== undefined && `${started} `.startsWith(`${mark.process} `);
};

const hostName = (): string => os.hostname().slice(0, PART_CHARS_MAX).trim();

/** Changes with every start of the machine; absent where the system has no such thing. */
const bootId = (): string | undefined => readSystem('/proc/sys/kernel/random/boot_id')?.trim();

const namespaceIn = (mark: ProcessMark): string | undefined => mark.process.split(' ')[2];

const lockOf = (dataDir: string, mark: ProcessMark): string =>
  path.join(dataDir, 'run', `alive-${mark.process.replaceAll(/[^0-9]+/g, '-')}.lock`);

function isHeld(file: string): boolean {
  if (!existsSync(file)) return false;
  const letGo = holdFile(file);
  if (!letGo) return true;
  letGo();
  removeLock(file);
  return false;
}

function removeLock(file: string): void {
  for (const part of ['', '-journal']) rmSync(file + part, { force: true });
}

/**
 * A process by its number, its start and the namespace in which it has that number, for numbers are given again; nothing
 * when it has ended.
 */
function startedProcess(pid: number): string | undefined {
  const stat = readSystem(`/proc/${pid}/stat`);
  // The name in parentheses may hold spaces; the start is the twentieth field behind it.
  const startedAt = stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  return startedAt === undefined ? undefined : [pid, startedAt, pidNamespace()].join(' ').trim();
}

function pidNamespace(): string {
  try {
    return /\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0] ?? '';
  } catch {
    return '';
  }
}

function readSystem(file: string): string | undefined {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return undefined;
  }
}
