import { closeSync, fchmodSync, fchownSync, fsyncSync, openSync, statSync, writeSync } from 'node:fs';

/** Durable, but for the folder that names it; for the owner of the folder alone. */
export function writeFile(file: string, flags: 'w' | 'wx', { text, folder }: { text: string; folder: string }): void {
  const handle = openSync(file, flags, 0o600);
  try {
    writeSync(handle, text);
    fchmodSync(handle, 0o600);
    // A command of root's must not leave a file that the service cannot read.
    const { uid, gid } = statSync(folder);
    if (process.getuid?.() === 0) fchownSync(handle, uid, gid);
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

export function syncFolder(folder: string): void {
  const handle = openSync(folder, 'r');
  fsyncSync(handle);
  closeSync(handle);
}
