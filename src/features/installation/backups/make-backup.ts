import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { chmod, copyFile, mkdir, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { blobsFolder, copyBlobs } from '../../../platform/blobs/index.ts';
import { isoTime } from '../../../platform/clock.ts';
import type { Config } from '../../../platform/config/index.ts';
import { TIMELINE_FILE, type Db } from '../../../platform/db/index.ts';
import type { Store } from '../../../platform/store.ts';
import { COPY_FILES, readMark, writeCopyMark } from '../../../platform/installation-mark/index.ts';
import {
  BackupFault,
  checkedFiles,
  liesIn,
  hashFile,
  syncFile,
  writeWhole,
  type BackupFacts,
  type BackupReason,
} from './backup-folder.ts';
import { withDump, fileCopy, type DatabaseCopy } from './database-copy.ts';

/** A file named by a setting, such as a certificate. */
export interface OtherFile {
  setting: string;
  file: string;
}

interface Held {
  /** Paths within the data folder. */
  held: string[];
  /** Items that the backup lacks, in words for the operator. */
  notHeld: string[];
}

/** Holds the self-signed certificate: programs may have been configured to trust it. */
const OWN_FOLDERS = ['tls'];
/** Folders that are recreated or copied separately. */
const PASSED_OVER = ['run', 'blobs', 'blob-cache', 'backups', 'lost+found'];

/** Returns every setting whose name ends in `_file`, with the path that a server reads. */
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
 * Lists the files of the data folder other than the database and content: every file at its top, and those in
 * subfolders that the program or a setting put there. Other folders may contain anything, of any size, so they are only
 * reported as not held, as are files elsewhere that settings name.
 */
function filesBesides(
  source: { config: Pick<Config, 'database'>; dataDir: string; named: readonly OtherFile[] },
  backups: string,
): Held {
  const { config, dataDir, named } = source;
  const database = path.resolve(dataDir, config.database.path);
  const entries = readdirSync(dataDir, { withFileTypes: true });
  const top = entries
    .filter((entry) => entry.isFile() && !path.join(dataDir, entry.name).startsWith(database))
    .map(({ name }) => name)
    .filter((name) => !/^node\.id$|\.part$/.test(name) && !name.startsWith(TIMELINE_FILE) && !OF_COPIES.includes(name));
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

/** Lists the files below a folder, at most `max`, in case the folder holds something large. */
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

interface BackupSource {
  config: Pick<Config, 'database'>;
  dataDir: string;
  db: Db;
  /** Place other than the data folder that stores mail content and keeps it: only the remaining files are copied. */
  contentIn: string | null;
  /** Folder of the PostgreSQL client programs; empty for those of the system. */
  programs: string;
  /** Files that settings name. */
  named: readonly OtherFile[];
}

export const locateContent = ({ config, blobs }: Pick<Store, 'config' | 'blobs'>): string | null =>
  config.blobs.store === 'files' ? null : blobs.place;

interface BackupOrder {
  folder: string;
  /** Folder in which the backup is written before it is renamed; defaults to `toPartName`. */
  part?: string;
  madeAt: number;
  reason: BackupReason;
  /** Called before anything is written; with PostgreSQL, only while no other node makes a backup. */
  clear?: () => void;
  signal?: AbortSignal;
}

const toPartName = (folder: string): string => `${folder}.part`;

/** Reports whether a folder is missing or empty. */
export const isVacant = (folder: string): boolean => !existsSync(folder) || readdirSync(folder).length === 0;

/**
 * Makes a copy of the data folder as of one moment while the server runs; with PostgreSQL, a dump replaces the
 * database. A backup counts only under its final name: it is complete or does not exist.
 */
export function makeBackup(source: BackupSource, order: BackupOrder): Promise<BackupFacts> {
  const make = (copy: DatabaseCopy): Promise<BackupFacts> => {
    order.clear?.();
    return makeFolder(source, order, copy);
  };
  if (source.config.database.driver !== 'pg') return make(fileCopy(source));
  return withDump(source, { isAlone: order.clear !== undefined, signal: order.signal }, make);
}

async function makeFolder(
  source: BackupSource,
  { folder, part = toPartName(folder), madeAt, reason }: BackupOrder,
  copy: DatabaseCopy,
): Promise<BackupFacts> {
  const { dataDir, contentIn } = source;
  const blobs = blobsFolder(dataDir);
  // The backup would be copied into itself until the disk is full.
  if (liesIn(folder, blobs)) throw new BackupFault(`${folder} lies in ${blobs}, which is copied; name another folder`);
  await takePart(part);
  try {
    await copy.write(part);
    // Runs after the database is copied: content is stored before its row, so that everything the snapshot names
    // exists.
    const content = contentIn === null ? await copyBlobs(blobs, blobsFolder(part)) : 0;
    if (contentIn === null) await copy.mustHaveContent(part);
    const notHeld = await copyFiles(source, part);
    writeCopyMark(part, isoTime(madeAt));
    const facts = await describe(part, copy, {
      made_at: isoTime(madeAt),
      reason,
      database: copy.name,
      content,
      content_in: contentIn,
      not_held: notHeld,
    });
    await syncFile(part);
    await rename(part, folder);
    await syncFile(path.dirname(folder));
    return facts;
  } catch (error) {
    rmSync(part, { recursive: true, force: true });
    throw error;
  }
}

/**
 * Creates the partial folder. An existing one is never taken over: it may belong to someone else, or to a backup in
 * progress.
 */
async function takePart(part: string): Promise<void> {
  await mkdir(path.dirname(part), { recursive: true, mode: 0o700 });
  try {
    await mkdir(part, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    throw new BackupFault(
      `${part} is there: another backup is being made, or was broken off; remove it once you know that nothing writes there`,
    );
  }
}

/** Copies keys, marks and the files that settings name; the database is copied separately. Returns what is not held. */
async function copyFiles(source: BackupSource, to: string): Promise<string[]> {
  const { held, notHeld } = filesBesides(source, path.dirname(to));
  for (const name of held) {
    const target = path.join(to, name);
    await mkdir(path.dirname(target), { recursive: true, mode: 0o700 });
    await copyFile(path.join(source.dataDir, name), target);
    await chmod(target, 0o600);
    await syncFile(target);
  }
  return notHeld;
}

/** Writes the description of the backup and the checksum of every file in it, including the description. */
async function describe(
  folder: string,
  copy: DatabaseCopy,
  known: Pick<BackupFacts, 'made_at' | 'reason' | 'database' | 'content' | 'content_in' | 'not_held'>,
): Promise<BackupFacts> {
  const files = checkedFiles(folder);
  const facts: BackupFacts = {
    ...known,
    installation: readMark(folder) ?? null,
    files: files.length,
    bytes: files.reduce((sum, name) => sum + statSync(path.join(folder, name)).size, 0),
    ...(await copy.describe(folder)),
  };
  await writeWhole(path.join(folder, COPY_FILES.facts), `${JSON.stringify(facts, undefined, 2)}\n`);
  const lines: string[] = [];
  for (const name of checkedFiles(folder)) lines.push(`${(await hashFile(path.join(folder, name))).hash}  ${name}\n`);
  await writeFile(path.join(folder, COPY_FILES.checksums), lines.join(''), { mode: 0o600 });
  await syncFile(path.join(folder, COPY_FILES.checksums));
  return facts;
}
