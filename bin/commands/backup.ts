import { existsSync, readdirSync, rmSync } from 'node:fs';
import { chmod, copyFile, mkdir, open, rename } from 'node:fs/promises';
import path from 'node:path';
import { blobsFolder, copyBlobs } from '../../src/platform/blobs/index.ts';
import { isoTime } from '../../src/platform/clock/index.ts';
import type { Config } from '../../src/platform/config/index.ts';
import { writeSnapshot } from '../../src/platform/db/index.ts';
import { writeCopyMark, writeLastBackup } from '../../src/platform/installation-mark/index.ts';
import { OperatorFault } from '../explain.ts';
import { dataFolder, mustBeInitialised, readConfig, withStore, type DataOptions } from './open.ts';

/** A data folder as it stood at one moment, made while the server runs. It counts only under its own name: whole or not there. */
export async function backup(target: string, options: DataOptions): Promise<void> {
  const config = readConfig(options);
  const dataDir = dataFolder(options);
  mustBeInitialised(dataDir);
  if (config.database.driver === 'pg') {
    throw new OperatorFault(
      `a PostgreSQL database is backed up there: run pg_dump first, and copy ${dataDir}/instance.key, ${dataDir}/installation.id and ${dataDir}/blobs after it`,
    );
  }
  const folder = path.resolve(target);
  if (existsSync(folder) && readdirSync(folder).length > 0) {
    throw new OperatorFault(`${folder} has files in it; name a new or an empty folder`);
  }
  const part = `${folder}.part`;
  rmSync(part, { recursive: true, force: true });
  const copied = await withStore(config, dataDir, async ({ clock, db }) => {
    try {
      const database = path.join(part, databaseName(config));
      await mkdir(path.dirname(database), { recursive: true, mode: 0o700 });
      await writeSnapshot(db, database);
      // After the database: content is stored before its row, so that whatever the snapshot names is there.
      const blobs = await copyBlobs(blobsFolder(dataDir), blobsFolder(part));
      await copyFiles(dataDir, part, config);
      writeCopyMark(part, isoTime(clock.now()));
      await sync(part);
      await rename(part, folder);
      writeLastBackup(dataDir, { at: isoTime(clock.now()), folder });
      return blobs;
    } catch (error) {
      rmSync(part, { recursive: true, force: true });
      throw error;
    }
  });
  await sync(path.dirname(folder));
  console.log(`${folder} holds the database, the keys and ${copied} files of content.`);
  console.log('A server that is started on it sends nothing until you confirm it with: rasket sending on');
}

/** Where the restored folder looks for it with the same settings; a file elsewhere is put into the folder. */
function databaseName({ database }: Config): string {
  const isInside = !path.isAbsolute(database.path) && !path.normalize(database.path).startsWith('..');
  return isInside ? database.path : path.basename(database.path);
}

/** Keys and marks; the database is copied apart, and a node's id is its own. */
async function copyFiles(dataDir: string, to: string, config: Config): Promise<void> {
  const database = path.resolve(dataDir, config.database.path);
  for (const entry of readdirSync(dataDir, { withFileTypes: true })) {
    const source = path.join(dataDir, entry.name);
    if (!entry.isFile() || source.startsWith(database) || /^node\.id$|\.part$/.test(entry.name)) continue;
    const target = path.join(to, entry.name);
    await copyFile(source, target);
    await chmod(target, 0o600);
    await sync(target);
  }
}

async function sync(file: string): Promise<void> {
  const handle = await open(file, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
