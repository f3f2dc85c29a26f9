import { createHash } from 'node:crypto';
import { constants, existsSync, readFileSync, readdirSync, realpathSync, rmSync } from 'node:fs';
import { open, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { COPY_FILES } from '../../../platform/installation-mark/index.ts';
import type { Config } from '../../../platform/config/index.ts';

export type BackupReason = 'schedule' | 'command' | 'upgrade';

/** Description of a backup, stored in `backup.json`. */
export interface BackupFacts {
  made_at: string;
  reason: BackupReason;
  /** Id of the installation that the database and the folders belong to; null for a database older than these ids. */
  installation: string | null;
  /** Last migration of the database: a program must know it to start on the backup. */
  schema: string | null;
  /** Name of the database file in the folder: a SQLite file or a dump. */
  database: string;
  files: number;
  /** Number of files that are mail content, in `blobs`. */
  content: number;
  /** Bucket that holds the content instead; null, or absent in older backups, if the content is in `blobs`. */
  content_in?: string | null;
  /** Items missing from the backup: unknown folders, and files outside the data folder that settings name. */
  not_held?: string[];
  /** Details of a PostgreSQL dump: versions of pg_dump and the server, and the schema that contains the tables. */
  dump?: { program: string; server: string; namespace: string };
  bytes: number;
  rows: Record<string, number>;
}

export class BackupFault extends Error {
  override readonly name = 'BackupFault';
}

/** Result of the last verification, stored in `verification.json`. */
export interface Verification {
  at: string;
  /** First faults that were found; empty if the backup is intact. */
  faults: string[];
  /**
   * Contents that were damaged before the backup was made, by the names of their files; the backup copied them as they
   * were. Absent in backups of earlier versions.
   */
  damaged?: string[];
}

/** Describes each damaged content of a backup. */
export const explainDamaged = ({ damaged = [] }: Verification): string[] =>
  damaged.map((file) => `${file} is not the content that was stored: it was damaged before the backup was made`);

/**
 * Reports whether a file lies in a folder after following links. A path that does not exist yet is resolved from its
 * nearest existing parent.
 */
export function liesIn(file: string, folder: string): boolean {
  if (!existsSync(folder)) return false;
  let above = path.resolve(file);
  while (!existsSync(above)) above = path.dirname(above);
  const way = path.relative(realpathSync(folder), realpathSync(above));
  return way === '' || (way !== '..' && !way.startsWith(`..${path.sep}`));
}

export const readFacts = (folder: string): BackupFacts | undefined => readJson(path.join(folder, COPY_FILES.facts));

const readVerification = (folder: string): Verification | undefined =>
  readJson(path.join(folder, COPY_FILES.verification));

/** Reads a JSON file; returns undefined if it is missing or cannot be parsed, since checksums reveal damage. */
function readJson<T>(file: string): T | undefined {
  if (!existsSync(file)) return undefined;
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as T;
  } catch {
    return undefined;
  }
}

/** Replaces the whole file and syncs it; never writes through a link at the name of the partial file. */
export async function writeWhole(file: string, text: string): Promise<void> {
  await rm(`${file}.part`, { force: true });
  await writeFile(`${file}.part`, text, { mode: 0o600, flag: 'wx' });
  await syncFile(`${file}.part`);
  await rename(`${file}.part`, file);
}

export async function syncFile(file: string): Promise<void> {
  const handle = await open(file, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * Lists the files that have a checksum, as sorted paths within the folder: all except those written about the folder.
 */
export function checkedFiles(folder: string): string[] {
  const apart: readonly string[] = [COPY_FILES.checksums, COPY_FILES.verification];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)))
    .filter((name) => !apart.includes(name))
    .sort();
}

/** Lists entries that no backup contains: links and anything else that is neither a file nor a folder. */
export const strangeEntries = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory() && !entry.isFile())
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)))
    .sort();

export async function hashFile(file: string): Promise<{ hash: string; bytes: number }> {
  const hash = createHash('sha256');
  let bytes = 0;
  const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  await pipeline(handle.createReadStream(), async (content: AsyncIterable<Buffer>) => {
    for await (const piece of content) {
      hash.update(piece);
      bytes += piece.length;
    }
  });
  return { hash: hash.digest('hex'), bytes };
}

/** Names derived from a time; a folder with another name is never removed. */
const NAME = /^rasket-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ$/;

export interface KeptBackup {
  folder: string;
  facts: BackupFacts;
  verification: Verification | undefined;
}

export const backupsFolder = ({ config, dataDir }: { config: Pick<Config, 'backup'>; dataDir: string }): string =>
  path.resolve(dataDir, config.backup.directory);

/** Formats a name like `rasket-2026-11-26T03-30-00Z`, which sorts by time and is valid on every file system. */
export const backupName = (madeAt: number): string =>
  `rasket-${new Date(madeAt).toISOString().slice(0, 19).replaceAll(':', '-')}Z`;

/** Lists all backups in a folder, made by schedule, upgrade or command, newest first. */
export function listBackups(directory: string): KeptBackup[] {
  if (!existsSync(directory)) return [];
  return readdirSync(directory, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !entry.name.endsWith('.part'))
    .flatMap((entry) => {
      const folder = path.join(directory, entry.name);
      const facts = readFacts(folder);
      return facts ? [{ folder, facts, verification: readVerification(folder) }] : [];
    })
    .sort((a, b) => Date.parse(b.facts.made_at) - Date.parse(a.facts.made_at));
}

/**
 * Removes backups older than the newest `keep` that were verified as intact. Considers only backups of this
 * installation with a generated name. Unverified and damaged backups do not count towards `keep` and are removed by
 * age. A backup dated later than the one just made comes from a clock that was ahead: it would count as the newest
 * forever, so it is left for the operator to decide. Returns the removed folders.
 */
export function removeOlder(
  directory: string,
  { keep, installation, madeAt }: { keep: number; installation: string | null; madeAt: number },
): string[] {
  if (installation === null) return [];
  const own = listBackups(directory).filter(
    ({ folder, facts }) =>
      NAME.test(path.basename(folder)) && facts.installation === installation && Date.parse(facts.made_at) <= madeAt,
  );
  const whole = own.filter(({ verification }) => verification?.faults.length === 0);
  const last = whole[keep - 1];
  if (!last) return [];
  const oldest = Date.parse(last.facts.made_at);
  const gone = own.filter(({ facts }) => Date.parse(facts.made_at) < oldest).map(({ folder }) => folder);
  for (const folder of gone) rmSync(folder, { recursive: true, force: true });
  return gone;
}

/**
 * Returns the path where a backup is being written. It includes the installation, because several installations may
 * back up into the same folder in the same second.
 */
export const halfMade = (folder: string, installation: string): string => `${folder}.${installation}.part`;

/** Removes partial backups that a killed process of this installation left. */
export function removeHalfMade(directory: string, installation: string): void {
  if (!existsSync(directory)) return;
  const end = halfMade('', installation);
  for (const name of readdirSync(directory))
    if (name.endsWith(end) && NAME.test(name.slice(0, -end.length)))
      rmSync(path.join(directory, name), { recursive: true, force: true });
}
