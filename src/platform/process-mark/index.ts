/**
 * Identifies the process that wrote a file of the data folder. After a crash, the mark shows whether its writer may
 * still be alive. On Linux it never takes a living process for a dead one; a process of another node counts as alive.
 * On systems without /proc, every other process of this node counts as gone.
 */
import { existsSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { holdFile } from '../db/index.ts';
import { loadNodeId } from './node-id.ts';

export { loadNodeId };

/** Each part has at most 36 characters, none of them a line end, and may be empty. */
export interface ProcessMark {
  boot: string;
  process: string;
  host: string;
}

const PART_CHARS_MAX = 36;

/** The marks of one data folder, and the decision which of their processes may be alive. */
export interface ProcessMarks {
  own: ProcessMark;
  mayBeAlive(mark: ProcessMark): boolean;
  close(): void;
}

/**
 * Marks contain the node's id. Containers that share a folder cannot see each other's processes, so each process also
 * locks a file while it lives.
 */
export function openProcessMarks(dataDir: string): ProcessMarks {
  const nodeId = loadNodeId(dataDir);
  const own = { ...ownMark(), host: nodeId };
  const file = locateLock(dataDir, own);
  const release = holdFile(file);
  return {
    own,
    mayBeAlive(mark) {
      if (mark.host !== nodeId) return mayBeAlive(mark);
      if (!isOfThisBoot(mark)) return false;
      if (namespaceIn(mark) === namespaceIn(own)) return startedProcess(Number.parseInt(mark.process)) === mark.process;
      return isHeld(locateLock(dataDir, mark));
    },
    close() {
      // If one process opens several, the one that holds the file; the others recognize each other by process number.
      if (!release) return;
      release();
      removeLock(file);
    },
  };
}

/** Marks by host name alone: for files from before nodes had ids, and for use without a data folder. */
export const hostMarks = (): ProcessMarks => ({ own: ownMark(), mayBeAlive, close: () => undefined });

export const ownMark = (): ProcessMark => ({
  boot: bootId() ?? '',
  process: startedProcess(process.pid) ?? '',
  host: hostName(),
});

/** Reports whether the machine has not been restarted since. */
export const isOfThisBoot = (mark: ProcessMark): boolean => mark.boot !== '' && mark.boot === bootId();

export const mayBeAlive = (mark: ProcessMark): boolean => {
  if (mark.host !== hostName()) return true;
  const started = startedProcess(Number.parseInt(mark.process));
  // Older marks have no namespace.
  return isOfThisBoot(mark) && started !== undefined && `${started} `.startsWith(`${mark.process} `);
};

const hostName = (): string => os.hostname().slice(0, PART_CHARS_MAX).trim();

/** Changes with every boot of the machine; undefined if the system has no boot id. */
const bootId = (): string | undefined => readSystem('/proc/sys/kernel/random/boot_id')?.trim();

const namespaceIn = (mark: ProcessMark): string | undefined => mark.process.split(' ')[2];

const locateLock = (dataDir: string, mark: ProcessMark): string =>
  path.join(dataDir, 'run', `alive-${mark.process.replaceAll(/[^0-9]+/g, '-')}.lock`);

function isHeld(file: string): boolean {
  if (!existsSync(file)) return false;
  const release = holdFile(file);
  if (!release) return true;
  release();
  removeLock(file);
  return false;
}

function removeLock(file: string): void {
  for (const part of ['', '-journal']) rmSync(file + part, { force: true });
}

/**
 * Identifies a process by its number, its start and the namespace of its number, because numbers are reused; undefined
 * if it has ended.
 */
function startedProcess(pid: number): string | undefined {
  const stat = readSystem(`/proc/${pid}/stat`);
  // The name in parentheses may contain spaces; the start is the twentieth field after it.
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
