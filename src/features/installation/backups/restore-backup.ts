import { existsSync, lstatSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { chmod, copyFile, mkdir, rename } from 'node:fs/promises';
import path from 'node:path';
import { blobsFolder, copyBlobs } from '../../../platform/blobs/index.ts';
import type { Config } from '../../../platform/config/index.ts';
import { countRows, openDb, tableShapes } from '../../../platform/db/index.ts';
import { COPY_FILES, RESTORING_KEY } from '../../../platform/installation-mark/index.ts';
import { restoreDump } from '../../../platform/pg-programs.ts';
import { checkedFiles, liesIn, readFacts, syncFile, type BackupFacts } from './backup-folder.ts';

/** The restore was refused before anything was written. */
export class RestoreRefused extends Error {
  override readonly name = 'RestoreRefused';
}

export interface RestoreOrder {
  /** Folder of the backup, which was verified as intact. */
  folder: string;
  dataDir: string;
  config: Pick<Config, 'database' | 'backup'>;
}

const KEY_FILE = 'instance.key';

/**
 * Makes a data folder from a backup; for a dump, it also fills the empty database of the settings. The instance key is
 * renamed into place last, in one step: no program starts on the folder without it. After an interruption at any point,
 * the same call starts over.
 */
export async function restoreBackup(order: RestoreOrder): Promise<BackupFacts> {
  const { folder, dataDir, config } = order;
  const facts = readFacts(folder);
  if (!facts) throw new RestoreRefused(`${folder} is no backup of rasket: ${COPY_FILES.facts} is missing or damaged`);
  mustFit(facts, config);
  if (liesIn(dataDir, folder))
    throw new RestoreRefused(`${dataDir} lies in the backup, which would be whole no more; name another folder`);
  const isBegun = wasBrokenOff(folder, dataDir);
  if (!isBegun) mustBeVacant(dataDir);
  const isFilled = facts.dump ? await mustBeFit(config.database.url, facts, isBegun) : false;
  if (isBegun) emptyOut(dataDir, [RESTORING_KEY]);
  try {
    await fill(order, facts, isFilled);
  } catch (error) {
    // The next try finds the folder empty, or the data that it continues with.
    const isEmpty = !facts.dump || (await tablesIn(config.database.url).catch(() => undefined))?.length === 0;
    if (existsSync(dataDir)) emptyOut(dataDir, isEmpty ? [] : [RESTORING_KEY]);
    throw error;
  }
  return facts;
}

/** mkfs creates this folder on every file system of the ext family; only root can read it. */
const LOST_AND_FOUND = 'lost+found';

/** Throws unless the folder is missing or holds nothing but the entries of a new file system. */
function mustBeVacant(dataDir: string): void {
  if (!existsSync(dataDir)) return;
  if (readdirSync(dataDir).every((name) => name === LOST_AND_FOUND && isOfFileSystem(path.join(dataDir, name)))) return;
  throw new RestoreRefused(
    `${dataDir} has files in it; move it aside first, a backup is restored into an empty folder`,
  );
}

function isOfFileSystem(folder: string): boolean {
  const stat = lstatSync(folder);
  if (!stat.isDirectory() || stat.uid !== 0) return false;
  try {
    return readdirSync(folder).length === 0;
  } catch (error) {
    // The service account may not read the folder, and changes nothing in it.
    return (error as NodeJS.ErrnoException).code === 'EACCES';
  }
}

/**
 * Reports whether an interrupted restore of this backup, or of one with the same key, left the folder: the key is
 * written before anything else.
 */
function wasBrokenOff(folder: string, dataDir: string): boolean {
  const mark = path.join(dataDir, RESTORING_KEY);
  if (!existsSync(mark) || existsSync(path.join(dataDir, KEY_FILE))) return false;
  const begun = readFileSync(mark);
  const whole = readFileSync(path.join(folder, KEY_FILE));
  const isAlone = readdirSync(dataDir).every((name) => name === RESTORING_KEY || name === LOST_AND_FOUND);
  return begun.equals(whole) || (isAlone && begun.equals(whole.subarray(0, begun.length)));
}

function emptyOut(dataDir: string, kept: readonly string[]): void {
  for (const name of readdirSync(dataDir))
    if (name !== LOST_AND_FOUND && !kept.includes(name))
      rmSync(path.join(dataDir, name), { recursive: true, force: true });
}

async function fill({ folder, dataDir, config }: RestoreOrder, facts: BackupFacts, isFilled: boolean): Promise<void> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  await copySynced(folder, dataDir, KEY_FILE, RESTORING_KEY);
  await syncFile(dataDir);
  if (existsSync(blobsFolder(folder))) await copyBlobs(blobsFolder(folder), blobsFolder(dataDir));
  const apart = [KEY_FILE, ...(facts.dump ? [facts.database] : [])];
  const names = checkedFiles(folder).filter((name) => !name.startsWith(`blobs${path.sep}`));
  for (const name of names) if (!apart.includes(name)) await copySynced(folder, dataDir, name);
  if (facts.dump && !isFilled)
    await restoreDump({
      programs: config.backup.pg_programs,
      url: config.database.url,
      file: path.join(folder, facts.database),
    });
  await rename(path.join(dataDir, RESTORING_KEY), path.join(dataDir, KEY_FILE));
  await syncFile(dataDir);
}

function mustFit({ dump, database }: BackupFacts, config: RestoreOrder['config']): void {
  const { driver, path: file } = config.database;
  if (dump && driver !== 'pg')
    throw new RestoreRefused(
      `the backup is of a PostgreSQL database, and database.driver is "${driver}"; set it to "pg", and database.url to an empty database`,
    );
  if (!dump && driver === 'pg')
    throw new RestoreRefused(
      'the backup is of an SQLite database, and database.driver is "pg"; restore it with the settings of before, and move it then: rasket migrate-to-postgres',
    );
  if (!dump && file !== database)
    throw new RestoreRefused(
      `the database of the backup is ${database}, and database.path is ${JSON.stringify(file)}; set it to "${database}"`,
    );
}

/**
 * Reports whether the database already holds the rows of the backup, which is so only after a restore that was
 * interrupted after loading them. Throws if it holds anything else.
 */
async function mustBeFit(url: string, { rows }: BackupFacts, isBegun: boolean): Promise<boolean> {
  const tables = await tablesIn(url, isBegun);
  if (tables.length === 0) return false;
  const isSame = isBegun && tables.length === Object.keys(rows).length;
  if (isSame && tables.every(({ name, count }) => rows[name] === count)) return true;
  throw new RestoreRefused(
    `the database of database.url has ${tables.length} tables already${isBegun ? ', with other rows than the backup' : ''}; a backup is restored into an empty one (createdb)`,
  );
}

async function tablesIn(url: string, isCounting = false): Promise<{ name: string; count: number | undefined }[]> {
  const db = await openDb({ driver: 'pg', url, file: '', poolMax: 1 });
  try {
    const found: { name: string; count: number | undefined }[] = [];
    for (const { name } of await tableShapes(db))
      found.push({ name, count: isCounting ? await countRows(db, name) : undefined });
    return found;
  } finally {
    await db.close();
  }
}

async function copySynced(from: string, to: string, name: string, as = name): Promise<void> {
  const target = path.join(to, as);
  await mkdir(path.dirname(target), { recursive: true, mode: 0o700 });
  await copyFile(path.join(from, name), target);
  await chmod(target, 0o600);
  await syncFile(target);
}
