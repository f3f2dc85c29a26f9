import { createHash, randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';

/**
 * What `instance.key` holds, one key a line: the one in force first, then `next <key>` while nodes are being given the
 * one to come, and `former <key>` for each that only reads what it sealed and signed.
 */
export interface InstanceKeys {
  current: Buffer;
  next?: Buffer | undefined;
  former: readonly Buffer[];
}

/** Thrown if the file of the key cannot be used as it is; the message says what to do. */
export class InstanceKeyFault extends Error {
  override readonly name = 'InstanceKeyFault';
}

const KEY_BYTES = 32;
/** Permissions that must not be set: any for others, and write for the group. A group may read the file. */
const TOO_OPEN = 0o037;

export const instanceKeyPath = (dataDir: string): string => path.join(dataDir, 'instance.key');

export const newInstanceKey = (): Buffer => randomBytes(KEY_BYTES);

/** Says which key sealed something, and nothing about the key. */
export const keyIdOf = (key: Buffer): string =>
  createHash('sha256').update('rasket key id').update(key).digest('hex').slice(0, 12);

export function createInstanceKey(dataDir: string): void {
  writeKeyFile(instanceKeyPath(dataDir), 'wx', { current: newInstanceKey(), former: [] });
  syncFolder(dataDir);
}

/** Replaces the file as a whole: a crash leaves the keys of before or those of after. */
export function writeInstanceKeys(dataDir: string, keys: InstanceKeys): void {
  const file = instanceKeyPath(dataDir);
  try {
    writeKeyFile(`${file}.part`, 'w', keys);
    renameSync(`${file}.part`, file);
  } catch (error) {
    rmSync(`${file}.part`, { force: true });
    throw error;
  }
  syncFolder(dataDir);
}

export function readInstanceKeys(dataDir: string): InstanceKeys {
  const file = instanceKeyPath(dataDir);
  const [first = '', ...rest] = withKeyFile(file, (handle) => readFileSync(handle, 'utf8'))
    .trim()
    .split('\n');
  const keyIn = (text: string): Buffer => {
    const key = Buffer.from(text.trim(), 'base64');
    if (key.length !== KEY_BYTES) throw new Error(`${file} does not hold a ${KEY_BYTES}-byte key in base64`);
    return key;
  };
  const keys: InstanceKeys & { former: Buffer[] } = { current: keyIn(first), former: [] };
  for (const line of rest) {
    const [kind, text = ''] = line.trim().split(/\s+/);
    if (kind === 'next') keys.next = keyIn(text);
    else if (kind === 'former') keys.former.push(keyIn(text));
    else throw new Error(`${file} has a line that is neither a next nor a former key`);
  }
  return keys;
}

/**
 * Protects the key from other accounts: removes their permissions if the file is ours, and refuses the file otherwise.
 * Returns the previous mode if it was changed.
 */
export function closeInstanceKey(dataDir: string): string | undefined {
  const file = instanceKeyPath(dataDir);
  return withKeyFile(file, (handle) => {
    const { mode, uid } = fstatSync(handle);
    if ((mode & TOO_OPEN) === 0) return undefined;
    const was = `0${(mode & 0o777).toString(8)}`;
    const refuse = (why: string): never => {
      throw new InstanceKeyFault(
        `${file} can be used by other accounts (mode ${was}) and ${why}; as root: chown ${ownName()} ${file} && chmod 600 ${file}`,
      );
    };
    if (uid !== process.geteuid?.()) return refuse(`belongs to another one (${uid})`);
    try {
      fchmodSync(handle, 0o600);
    } catch (error) {
      return refuse(`its mode cannot be changed here (${(error as NodeJS.ErrnoException).code})`);
    }
    // Some file systems report success and change nothing.
    if ((fstatSync(handle).mode & TOO_OPEN) !== 0) return refuse('its file system keeps no modes');
    return was;
  });
}

function ownName(): string {
  try {
    return os.userInfo().username;
  } catch {
    return String(process.geteuid?.());
  }
}

/** Opens the file without waiting: a FIFO would block the process until another one writes into it. */
function withKeyFile<T>(file: string, work: (handle: number) => T): T {
  const handle = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (!fstatSync(handle).isFile()) {
      throw new InstanceKeyFault(
        `${file} is no file but a folder, a FIFO or a device; put the key in its place, from a backup or another node`,
      );
    }
    return work(handle);
  } finally {
    closeSync(handle);
  }
}

function writeKeyFile(file: string, flags: 'w' | 'wx', { current, next, former }: InstanceKeys): void {
  const lines = [
    current.toString('base64'),
    ...(next ? [`next ${next.toString('base64')}`] : []),
    ...former.map((key) => `former ${key.toString('base64')}`),
  ];
  const handle = openSync(file, flags, 0o600);
  try {
    writeSync(handle, lines.map((line) => `${line}\n`).join(''));
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** Without the folder's own sync a power cut could take the key and leave what it sealed. */
function syncFolder(dataDir: string): void {
  const folder = openSync(dataDir, 'r');
  fsyncSync(folder);
  closeSync(folder);
}
