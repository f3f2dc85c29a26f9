import { createHash } from 'node:crypto';
import { constants, existsSync, readFileSync, readdirSync, realpathSync, rmSync } from 'node:fs';
import { open, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { COPY_FILES } from '../../../platform/installation-mark/index.ts';
import type { Config } from '../../../platform/config/index.ts';

export type BackupReason = 'schedule' | 'command' | 'upgrade';

/** What a backup says of itself, in `backup.json`. */
export interface BackupFacts {
  made_at: string;
  reason: BackupReason;
  /** The id that database and folders bear; null in a database of before there were any. */
  installation: string | null;
  /** The last migration of its database: what a program has to know to start on it. */
  schema: string | null;
  /** The file of the database, within the folder: one of SQLite, or a dump. */
  database: string;
  files: number;
  /** Those of them that are content of mail, in `blobs`. */
  content: number;
  /** The bucket that has the content instead; null, or absent in a backup of before, where it is in `blobs`. */
  content_in?: string | null;
  /** What it lacks: folders that nothing is known of, files elsewhere that settings name. */
  not_held?: string[];
  /** Of a dump of PostgreSQL: the versions of pg_dump and of the server, and the schema that the tables stand in. */
  dump?: { program: string; server: string; namespace: string };
  bytes: number;
  rows: Record<string, number>;
}

export class BackupFault extends Error {
  override readonly name = 'BackupFault';
}

/** How it was found when it was verified last, in `verification.json`. */
export interface Verification {
  at: string;
  /** The first of them; none where all is well. */
  faults: string[];
  /**
   * Contents that were damaged before the backup was made, by the names of their files; the backup copied them as they
   * were. Absent in backups of earlier versions.
   */
  damaged?: string[];
}

/** Describes the damage of each such content. */
export const explainDamaged = ({ damaged = [] }: Verification): string[] =>
  damaged.map((file) => `${file} is not the content that was stored: it was damaged before the backup was made`);

/** By the way that links lead; what is not there yet will stand in the first folder above it that is. */
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

/** Undefined where there is no such file, or none that can be read as one: what is damaged is found by its checksum. */
function readJson<T>(file: string): T | undefined {
  if (!existsSync(file)) return undefined;
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as T;
  } catch {
    return undefined;
  }
}

/** Replaced as a whole and synced; never through a link that stands at the name of its part. */
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

/** The files that have a checksum, by their paths within the folder, in order: everything but what is written about the folder. */
export function checkedFiles(folder: string): string[] {
  const apart: readonly string[] = [COPY_FILES.checksums, COPY_FILES.verification];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)))
    .filter((name) => !apart.includes(name))
    .sort();
}

/** What no backup has: a link, or something that is neither file nor folder. */
export const strangeEntries = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory() && !entry.isFile())
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)))
    .sort();

export async function sha256Of(file: string): Promise<{ hash: string; bytes: number }> {
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

/** The names that are given by time; a folder with another name is never removed. */
const NAME = /^rasket-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ$/;

export interface KeptBackup {
  folder: string;
  facts: BackupFacts;
  verification: Verification | undefined;
}

export const backupsFolder = ({ config, dataDir }: { config: Pick<Config, 'backup'>; dataDir: string }): string =>
  path.resolve(dataDir, config.backup.directory);

/** `rasket-2026-11-26T03-30-00Z`: in the order of time, and a name on every file system. */
export const backupName = (madeAt: number): string =>
  `rasket-${new Date(madeAt).toISOString().slice(0, 19).replaceAll(':', '-')}Z`;

/** All backups in a folder, by schedule, upgrade or command, the newest first. */
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
 * Removes what is older than the newest `keep` that were found whole, of this installation and with a name of ours. What was never verified,
 * or found damaged, counts for nothing and goes by its age. What is dated behind the one that was just made is of a clock that was ahead:
 * it would count as the newest for ever, and stays for the operator to judge. Answers the folders.
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

/** Where one grows: other installations may keep theirs in the same folder, and be at it in the same second. */
export const halfMade = (folder: string, installation: string): string => `${folder}.${installation}.part`;

/** What a process of this installation left that was killed in the middle of one. */
export function removeHalfMade(directory: string, installation: string): void {
  if (!existsSync(directory)) return;
  const end = halfMade('', installation);
  for (const name of readdirSync(directory))
    if (name.endsWith(end) && NAME.test(name.slice(0, -end.length)))
      rmSync(path.join(directory, name), { recursive: true, force: true });
}
