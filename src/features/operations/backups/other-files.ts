import { existsSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import type { Config } from '../../../platform/config/index.ts';
import { COPY_FILES } from '../../../platform/installation-mark/index.ts';

/** A file that a setting names, such as a certificate. */
export interface OtherFile {
  setting: string;
  file: string;
}

interface Held {
  /** Paths within the data folder. */
  held: string[];
  /** What a backup lacks, as an operator reads it. */
  notHeld: string[];
}

/** The certificate that was made where no authority gave one: programs may have been told to trust it. */
const OWN_FOLDERS = ['tls'];
/** Made anew, or copied apart. */
const PASSED_OVER = ['run', 'blobs', 'blob-cache', 'backups', 'lost+found'];

/** Every setting whose name says that it is a file, with the path that a server reads. */
export function filesOfSettings(config: Config, dataDir: string): OtherFile[] {
  const found: OtherFile[] = [];
  const look = (value: unknown, key: string): void => {
    if (typeof value === 'string' && value !== '' && key.endsWith('_file'))
      found.push({ setting: key, file: path.resolve(dataDir, value) });
    if (typeof value !== 'object' || value === null) return;
    for (const [name, inner] of Object.entries(value)) look(inner, key === '' ? name : `${key}.${name}`);
  };
  look(config, '');
  return found;
}

/**
 * Of the data folder beside database and content: every file at its top, and what the program or a setting has put below. What else
 * stands in folders there may be anything, of any size, and is named instead, as are files elsewhere that settings name.
 */
export function filesBesides(
  source: { config: Pick<Config, 'database'>; dataDir: string; named: readonly OtherFile[] },
  backups: string,
): Held {
  const { config, dataDir, named } = source;
  const database = path.resolve(dataDir, config.database.path);
  const entries = readdirSync(dataDir, { withFileTypes: true });
  const top = entries
    .filter((entry) => entry.isFile() && !path.join(dataDir, entry.name).startsWith(database))
    .map(({ name }) => name)
    .filter((name) => !/^node\.id$|\.part$/.test(name) && !OF_COPIES.includes(name));
  const held = new Set([...top, ...OWN_FOLDERS.flatMap((folder) => filesBelow(dataDir, folder))]);
  const notHeld: string[] = [];
  for (const { setting, file } of named) {
    if (!existsSync(file)) continue;
    const within = path.relative(dataDir, file);
    if (within.startsWith('..') || path.isAbsolute(within)) notHeld.push(`${file} (${setting})`);
    else held.add(within);
  }
  for (const entry of entries) {
    const folder = path.join(dataDir, entry.name);
    const isPassedOver = PASSED_OVER.includes(entry.name) || OWN_FOLDERS.includes(entry.name);
    if (entry.isFile() || isPassedOver || leadsTo(folder, backups) || leadsTo(folder, path.dirname(database))) continue;
    const isWhole = filesBelow(dataDir, entry.name, held.size + 1).every((file) => held.has(file));
    if (!isWhole || !entry.isDirectory()) notHeld.push(folder);
  }
  return { held: [...held].sort(), notHeld };
}

const OF_COPIES: readonly string[] = Object.values(COPY_FILES);

const leadsTo = (folder: string, target: string): boolean => `${target}${path.sep}`.startsWith(`${folder}${path.sep}`);

/** No more than `max`, where a folder holds something large. */
function filesBelow(dataDir: string, folder: string, max = Number.MAX_SAFE_INTEGER): string[] {
  const files: string[] = [];
  const look = (at: string): void => {
    const here = path.join(dataDir, at);
    if (!statSync(here, { throwIfNoEntry: false })?.isDirectory()) return;
    for (const entry of readdirSync(here, { withFileTypes: true })) {
      if (files.length >= max) return;
      if (entry.isDirectory()) look(path.join(at, entry.name));
      else if (entry.isFile()) files.push(path.join(at, entry.name));
    }
  };
  look(folder);
  return files;
}
