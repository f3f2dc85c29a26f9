import { randomUUID } from 'node:crypto';
import { linkSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const FILE = 'node.id';

/**
 * Returns the node's id from its data folder, because a host name changes with every start of a container. The id is
 * only valid for the file it was written to (by its inode), so that the copy of a folder is another node, however it
 * was copied.
 */
export function loadNodeId(dataDir: string): string {
  const file = path.join(dataDir, FILE);
  for (;;) {
    const [id, inode] = readIfThere(file)?.trim().split(' ') ?? [];
    if (id && inode === readInode(file)) return id;
    rmSync(file, { force: true });
    make(file);
  }
}

/** Creates the complete file at once, and never replaces one that another process has created meanwhile. */
function make(file: string): void {
  const temporary = `${file}.${process.pid}.part`;
  writeFileSync(temporary, '', { mode: 0o600 });
  writeFileSync(temporary, `${randomUUID()} ${readInode(temporary)}\n`);
  try {
    linkSync(temporary, file);
    rmSync(temporary, { force: true });
  } catch (error) {
    // Some file systems do not support links.
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') rmSync(temporary, { force: true });
    else renameSync(temporary, file);
  }
}

const readInode = (file: string): string | undefined =>
  statSync(file, { bigint: true, throwIfNoEntry: false })?.ino.toString();

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return undefined;
  }
}
