import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { chmod, copyFile, mkdir, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { blobsFolder, copyBlobs } from '../../platform/blobs/index.ts';
import { isoTime } from '../../platform/clock/index.ts';
import type { Config } from '../../platform/config/index.ts';
import { openSnapshot, writeSnapshot, type Db } from '../../platform/db/index.ts';
import type { Store } from '../../platform/store/index.ts';
import { COPY_FILES, readMark, writeCopyMark } from '../../platform/installation-mark/index.ts';
import {
  BackupFault,
  checkedFiles,
  sha256Of,
  syncFile,
  writeWhole,
  type BackupFacts,
  type BackupReason,
} from './backup-folder.ts';

export interface BackupSource {
  config: Pick<Config, 'database'>;
  dataDir: string;
  db: Db;
  /** Another place than the data folder that has the content of mail, and keeps it: only the rest is copied. */
  contentIn: string | null;
}

export const contentInOf = ({ config, blobs }: Pick<Store, 'config' | 'blobs'>): string | null =>
  config.blobs.store === 'files' ? null : blobs.place;

export interface BackupOrder {
  folder: string;
  /** Where it grows, beside the folder: `partOf` unless something else is said. */
  part?: string;
  madeAt: number;
  reason: BackupReason;
}

const partOf = (folder: string): string => `${folder}.part`;

/** A folder that is not there, or has nothing in it. */
export const isVacant = (folder: string): boolean => !existsSync(folder) || readdirSync(folder).length === 0;

/** A data folder as it stood at one moment, made while the server runs. It counts only under its own name: whole or not there. */
export async function makeBackup(
  source: BackupSource,
  { folder, part = partOf(folder), madeAt, reason }: BackupOrder,
): Promise<BackupFacts> {
  const { config, dataDir, db, contentIn } = source;
  await takePart(part);
  try {
    const name = databaseName(config);
    await mkdir(path.dirname(path.join(part, name)), { recursive: true, mode: 0o700 });
    await writeSnapshot(db, path.join(part, name));
    // After the database: content is stored before its row, so that whatever the snapshot names is there.
    const content = contentIn === null ? await copyBlobs(blobsFolder(dataDir), blobsFolder(part)) : 0;
    await copyFiles(dataDir, part, config);
    writeCopyMark(part, isoTime(madeAt));
    const facts = await describe(part, {
      made_at: isoTime(madeAt),
      reason,
      database: name,
      content,
      content_in: contentIn,
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

/** What has that name may be somebody's, or a backup that is being made: it is never taken over. */
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

/** Where the restored folder looks for it with the same settings; a file elsewhere is put into the folder. */
function databaseName({ database }: Pick<Config, 'database'>): string {
  const isInside = !path.isAbsolute(database.path) && !path.normalize(database.path).startsWith('..');
  return isInside ? database.path : path.basename(database.path);
}

/** Keys and marks; the database is copied apart, and a node's id is its own. */
async function copyFiles(dataDir: string, to: string, config: Pick<Config, 'database'>): Promise<void> {
  const database = path.resolve(dataDir, config.database.path);
  const ofCopies: readonly string[] = Object.values(COPY_FILES);
  for (const entry of readdirSync(dataDir, { withFileTypes: true })) {
    const source = path.join(dataDir, entry.name);
    if (!entry.isFile() || source.startsWith(database) || /^node\.id$|\.part$/.test(entry.name)) continue;
    if (ofCopies.includes(entry.name)) continue;
    const target = path.join(to, entry.name);
    await copyFile(source, target);
    await chmod(target, 0o600);
    await syncFile(target);
  }
}

/** What it consists of, and the checksum of every file of it, the description among them. */
async function describe(
  folder: string,
  known: Pick<BackupFacts, 'made_at' | 'reason' | 'database' | 'content' | 'content_in'>,
): Promise<BackupFacts> {
  const files = checkedFiles(folder);
  const snapshot = openSnapshot(path.join(folder, known.database));
  const facts: BackupFacts = {
    ...known,
    installation: readMark(folder) ?? null,
    schema: snapshot.lastMigration() ?? null,
    files: files.length,
    bytes: files.reduce((sum, name) => sum + statSync(path.join(folder, name)).size, 0),
    rows: snapshot.rowCounts(),
  };
  snapshot.close();
  await writeWhole(path.join(folder, COPY_FILES.facts), `${JSON.stringify(facts, undefined, 2)}\n`);
  const lines: string[] = [];
  for (const name of checkedFiles(folder)) lines.push(`${(await sha256Of(path.join(folder, name))).hash}  ${name}\n`);
  await writeFile(path.join(folder, COPY_FILES.checksums), lines.join(''), { mode: 0o600 });
  await syncFile(path.join(folder, COPY_FILES.checksums));
  return facts;
}
