import { constants } from 'node:fs';
import { copyFile, mkdir, open, readdir } from 'node:fs/promises';
import path from 'node:path';

/** How the name of a file ends while it is written. */
export const PART = '.part';

/** Copies a folder of blobs, each of them synced, while others are written and removed; answers how many there were. */
export async function copyBlobs(from: string, to: string): Promise<number> {
  await mkdir(to, { recursive: true, mode: 0o700 });
  let copied = 0;
  const entries = await readdir(from, { withFileTypes: true }).catch(unlessGone([]));
  for (const entry of entries) {
    const [source, target] = [path.join(from, entry.name), path.join(to, entry.name)];
    if (entry.isDirectory()) copied += await copyBlobs(source, target);
    else if (entry.isFile() && !entry.name.endsWith(PART)) copied += await copySynced(source, target);
  }
  await sync(to);
  return copied;
}

async function copySynced(source: string, target: string): Promise<number> {
  const isThere = await copyFile(source, target, constants.COPYFILE_FICLONE).then(() => true, unlessGone(false));
  if (!isThere) return 0;
  await sync(target);
  return 1;
}

async function sync(file: string): Promise<void> {
  const handle = await open(file, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** What is removed meanwhile has no row any more that anybody reads. */
const unlessGone =
  <T>(value: T) =>
  (error: NodeJS.ErrnoException): T => {
    if (error.code === 'ENOENT') return value;
    throw error;
  };
