import { createHash, randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs';
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

const KEY_BYTES = 32;

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
  const [first = '', ...rest] = readFileSync(file, 'utf8').trim().split('\n');
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
