/** The operator's settings file, replaced whole or not at all. */
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { Config } from '../../src/platform/config/index.ts';
import { readAs } from './plan.ts';

export const textOf = (file: string): string => (existsSync(file) ? readFileSync(file, 'utf8') : '');

/** As a server would be started with this text; throws a ConfigFault where none would. */
export function configOf(text: string, file: string, env: NodeJS.ProcessEnv): Config {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'rasket-setup-'));
  try {
    const scratch = path.join(folder, 'rasket.toml');
    writeFileSync(scratch, text, { mode: 0o600 });
    return readAs(file, scratch, env);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Who may read it stays; a new one is for its owner and the group of the data folder, whose service reads it. */
export function replaceFile(file: string, text: string, dataDir: string): void {
  const target = existsSync(file) ? realpathSync(file) : file;
  mkdirSync(path.dirname(target), { recursive: true, mode: 0o750 });
  const before = statSync(target, { throwIfNoEntry: false });
  const part = `${target}.${process.pid}.part`;
  try {
    const descriptor = openSync(part, 'w', 0o600);
    try {
      writeFileSync(descriptor, text);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    if (process.getuid?.() === 0) {
      const owner = before ?? { uid: 0, gid: statSync(dataDir, { throwIfNoEntry: false })?.gid ?? 0 };
      chownSync(part, owner.uid, owner.gid);
    }
    chmodSync(part, before === undefined ? 0o640 : before.mode & 0o777);
    renameSync(part, target);
  } catch (error) {
    rmSync(part, { force: true });
    throw error;
  }
  syncFolder(path.dirname(target));
}

function syncFolder(folder: string): void {
  const descriptor = openSync(folder, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
