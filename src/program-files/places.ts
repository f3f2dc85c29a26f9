import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { readdirSync, readFileSync } from 'node:fs';

const sea = process.getBuiltinModule('node:sea');

/** Reports whether this is the single-file executable, not a checkout. */
export const isSingleFile: boolean = sea.isSea();

/** The folder of a checkout or an installation, whose `bin/` contains the program. */
export const programRoot: string = isSingleFile
  ? findRoot(process.execPath)
  : fileURLToPath(new URL('../../', import.meta.url));

/** Omits `bin/` only if there is one: a downloaded executable is in a folder with unrelated files. */
function findRoot(file: string): string {
  const folder = path.dirname(file);
  return `${path.basename(folder) === 'bin' ? path.dirname(folder) : folder}${path.sep}`;
}

/** The command that starts this program. */
export const executable: string = isSingleFile ? process.execPath : path.join(programRoot, 'bin', 'rasket');

/** A file whose presence shows that an account may read the program. */
export const programFile: string = isSingleFile ? process.execPath : path.join(programRoot, 'package.json');

/** The default folder for the data of `rasket dev`. */
export const tryOutFolder: string = isSingleFile
  ? path.join(
      process.env['XDG_DATA_HOME'] || path.join(process.env['HOME'] || process.cwd(), '.local', 'share'),
      'rasket',
    )
  : path.join(programRoot, '.rasket');

/** Reads a file that ships with the program, such as `config/default.toml`. */
export function readProgramFile(name: string): Buffer {
  return isSingleFile ? Buffer.from(sea.getRawAsset(name)) : readFileSync(path.join(programRoot, name));
}

export const readProgramText = (name: string): string => readProgramFile(name).toString('utf8');

/** Returns the public key of the releases that this executable is one of; empty if it belongs to none. */
export const readReleaseKey = (): string => (isSingleFile ? readProgramText('release.pub').trim() : '');

/** Lists the files that `rasket --unpack` writes, such as `systemd/rasket.service`. */
export const listUnpacked = (): string[] => JSON.parse(readProgramText('unpacked.json')) as string[];

/** Lists the names in a folder of the program. */
export function namesIn(folder: string): string[] {
  if (!isSingleFile) return readdirSync(path.join(programRoot, folder));
  const folders = JSON.parse(readProgramText('folders.json')) as Record<string, string[]>;
  return folders[folder] ?? [];
}
