import { existsSync, readdirSync, rmSync } from 'node:fs';
import { chmod, copyFile, mkdir } from 'node:fs/promises';
import path from 'node:path';
import { blobsFolder, copyBlobs } from '../../platform/blobs/index.ts';
import type { Config } from '../../platform/config/index.ts';
import { openDb, tableShapes } from '../../platform/db/index.ts';
import { COPY_FILES } from '../../platform/installation-mark/index.ts';
import { restoreDump } from '../../platform/pg-programs/index.ts';
import { checkedFiles, readFacts, syncFile, type BackupFacts } from './backup-folder.ts';
import { isVacant } from './make-backup.ts';

/** Nothing was written. */
export class RestoreRefused extends Error {
  override readonly name = 'RestoreRefused';
}

export interface RestoreOrder {
  /** The backup, which was found whole. */
  folder: string;
  dataDir: string;
  config: Pick<Config, 'database' | 'backup'>;
}

const KEY_FILE = 'instance.key';

/**
 * Makes a data folder of a backup; of a dump it fills the empty database of the settings as well. The instance key comes last: without it
 * no program starts on the folder, and a restore that was broken off is seen as what it is.
 */
export async function restoreBackup(order: RestoreOrder): Promise<BackupFacts> {
  const { folder, dataDir, config } = order;
  const facts = readFacts(folder);
  if (!facts) throw new RestoreRefused(`${folder} is no backup of rasket: ${COPY_FILES.facts} is missing or damaged`);
  mustFit(facts, config);
  if (!isVacant(dataDir))
    throw new RestoreRefused(
      `${dataDir} has files in it; move it aside first, a backup is restored into an empty folder`,
    );
  if (facts.dump) await mustBeEmpty(config.database.url);
  try {
    await fill(order, facts);
  } catch (error) {
    // It was empty: the next try finds it so.
    if (existsSync(dataDir))
      for (const name of readdirSync(dataDir)) rmSync(path.join(dataDir, name), { recursive: true, force: true });
    throw error;
  }
  return facts;
}

async function fill({ folder, dataDir, config }: RestoreOrder, facts: BackupFacts): Promise<void> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  if (existsSync(blobsFolder(folder))) await copyBlobs(blobsFolder(folder), blobsFolder(dataDir));
  const apart = [KEY_FILE, ...(facts.dump ? [facts.database] : [])];
  const names = checkedFiles(folder).filter((name) => !name.startsWith(`blobs${path.sep}`));
  for (const name of names) if (!apart.includes(name)) await copySynced(folder, dataDir, name);
  if (facts.dump)
    await restoreDump({
      programs: config.backup.pg_programs,
      url: config.database.url,
      file: path.join(folder, facts.database),
    });
  await copySynced(folder, dataDir, KEY_FILE);
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

async function mustBeEmpty(url: string): Promise<void> {
  const db = await openDb({ driver: 'pg', url, file: '', poolMax: 1 });
  try {
    const tables = await tableShapes(db);
    if (tables.length === 0) return;
    throw new RestoreRefused(
      `the database of database.url has ${tables.length} tables already; a backup is restored into an empty one (createdb)`,
    );
  } finally {
    await db.close();
  }
}

async function copySynced(from: string, to: string, name: string): Promise<void> {
  const target = path.join(to, name);
  await mkdir(path.dirname(target), { recursive: true, mode: 0o700 });
  await copyFile(path.join(from, name), target);
  await chmod(target, 0o600);
  await syncFile(target);
}
