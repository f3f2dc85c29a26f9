import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { isSingleFile, listUnpacked, readProgramFile } from '../src/program-files/index.ts';

/**
 * Writes the files that an installation has beside its executable, such as the unit of systemd, into a folder. Without
 * a folder, prints their names. Returns the exit code.
 */
export function unpack(folder: string | undefined): number {
  if (!isSingleFile) {
    process.stderr.write('rasket: --unpack needs the single executable; a checkout has its files in its own folder.\n');
    return 1;
  }
  for (const name of listUnpacked()) {
    if (folder === undefined) {
      process.stdout.write(`${name}\n`);
      continue;
    }
    const file = path.join(folder, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, readProgramFile(name));
  }
  return 0;
}
