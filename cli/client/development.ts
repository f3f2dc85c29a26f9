import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { tryOutFolder } from '../../src/program-files/index.ts';
import type { Advised } from './advice.ts';
import { NAME_ANOTHER, NAME_IT, NoAnswer } from './faults.ts';
import type { Credentials } from './kept-keys.ts';

/** A development server as its data folder tells of it. */
export interface Development {
  file: string;
  url: string;
  apiKey: string;
  operatorToken?: string;
  /** As it was named; undefined: that of this checkout. */
  data: string | undefined;
  /** What a relative name is relative to. */
  cwd: string;
  /**
   * Whether its process lives, and listens where it did: one that was killed leaves file and key behind, and its address to
   * the next program that takes it. Asked anew before each call.
   */
  isRunning(): boolean;
}

interface DevFile extends Credentials {
  operator_token?: string;
  /** Absent in files of versions before. */
  process?: { pid: number; started: string };
}

/** Also of a server that does not run now: it starts with the same address and key again. */
export function readDevelopment(data: string | undefined, cwd = ''): Development | undefined {
  const file = path.join(folderOf(data, cwd), 'run', 'dev.json');
  const held = readFile(file);
  if (!held) return undefined;
  const { url, api_key: apiKey, operator_token: token } = held;
  return {
    ...{ file, url, apiKey, data, cwd, ...(typeof token === 'string' ? { operatorToken: token } : {}) },
    isRunning() {
      const now = readFile(file);
      return now?.url === url && now.process !== undefined && isAlive(now.process);
    },
  };
}

const folderOf = (data: string | undefined, cwd: string): string => path.resolve(cwd, data ?? tryOutFolder);

export const startOf = (data: string | undefined): Advised => (data === undefined ? ['dev'] : ['dev', '--data', data]);

export const notRunning = ({
  data,
  cwd,
  url = '',
}: {
  data: string | undefined;
  cwd: string;
  url?: string;
}): NoAnswer =>
  isInstallation(folderOf(data, cwd))
    ? new NoAnswer({
        url,
        cause: `${folderOf(data, cwd)} is the folder of an installation, which says neither where its API is nor a key.`,
        advice: [NAME_ANOTHER, NAME_IT],
      })
    : new NoAnswer({
        url,
        cause: `No development server runs from ${folderOf(data, cwd)}.`,
        advice: [NAME_ANOTHER, { words: 'Next: start this one with', command: startOf(data) }],
      });

/** A folder with an instance key that no development server has begun; one that cannot be read is somebody's installation. */
export function isInstallation(folder: string): boolean {
  try {
    const files = readdirSync(folder);
    return files.includes('instance.key') && !files.includes('development');
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EACCES';
  }
}

/** Before each call: another program at its address is not told its key. */
export const mustRun = (development: Development | undefined) => (): void => {
  if (development?.isRunning() === false) throw notRunning(development);
};

function readFile(file: string): DevFile | undefined {
  try {
    const held = JSON.parse(readFileSync(file, 'utf8')) as Partial<DevFile>;
    const isWhole = typeof held.url === 'string' && typeof held.api_key === 'string' && URL.canParse(held.url);
    return isWhole ? (held as DevFile) : undefined;
  } catch {
    return undefined;
  }
}

/** Numbers are given again, so that the time of its start counts too; where the system does not tell it, the number alone. */
function isAlive({ pid, started }: { pid: number; started: string }): boolean {
  if (started !== '') return startedAt(pid) === started;
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

function startedAt(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name in parentheses may hold spaces; behind it are the state, and as the twentieth field the start.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? undefined : fields[19];
  } catch {
    return undefined;
  }
}
