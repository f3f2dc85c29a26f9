import { existsSync, readdirSync, statSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import path from 'node:path';
import { lastEventAt } from '../../../mail/events/index.ts';
import { blobsFolder } from '../../../platform/blobs/index.ts';
import { isoTime } from '../../../platform/clock.ts';
import { hasTable, openPgTurn, tableBytes } from '../../../platform/db/index.ts';
import type { SealedColumn } from '../../../platform/secrets/index.ts';
import type { Store } from '../../../platform/store.ts';
import { runningNodes } from '../findings/node-report.ts';
import { isDatedAhead, readBackupNotes } from '../../../tenancy/instance/index.ts';
import { readFacts, backupsFolder } from './backup-folder.ts';
import { directUrl, findNoDumpReason } from './database-copy.ts';
import { locateContent } from './make-backup.ts';
import { takeBackup } from './take-backup.ts';

/** An upgrade was refused: the database is unchanged, and the previous program can start on it. */
export class UpgradeRefused extends Error {
  override readonly name = 'UpgradeRefused';
}

export interface UpgradeWishes {
  /** Skips the backup and the check of the age of the last one. */
  noBackup?: boolean | undefined;
}

export interface UpgradeOptions extends UpgradeWishes {
  /** Last migration that the database has. */
  from: string;
  sealed: readonly SealedColumn[];
}

const HOUR_MS = 3_600_000;
/**
 * systemd immediately retries a start that fails after its backup: those retries share one backup, which is still
 * complete.
 */
const SHARED_MS = 10 * 60_000;

/** Runs before a newer program changes a database in use: refuses while nothing is changed, and makes a backup. */
export async function beforeUpgrade(store: Store, options: UpgradeOptions): Promise<void> {
  const isWanted = store.config.upgrade.backup && !options.noBackup;
  const whyNot = isWanted ? await findNoDumpReason(store) : undefined;
  const isMaking = isWanted && whyNot === undefined;
  const hasMade = isMaking && (await hasJustMade(store, options.from));
  await mustBeAlone(store);
  await mustHaveRoom(store, isMaking && !hasMade);
  if (!isMaking && !options.noBackup) await mustBeBackedUp(store, whyNot);
  if (!isMaking || hasMade) return;
  await backUp(store, options);
  // The backup may have taken hours, and a node of the previous version may have been started since.
  await mustBeAlone(store);
}

/**
 * Serializes upgrades of nodes that start together on PostgreSQL: the second node finds the upgrade done and makes no
 * backup of its own. Returns a function that ends the turn.
 */
export async function takeTurn({ config, db, log }: Store): Promise<() => Promise<void>> {
  if (db.dialect !== 'pg') return () => Promise.resolve();
  return openPgTurn(directUrl(config), () => log.info('another node upgrades the database; waiting for it'));
}

async function hasJustMade(store: Store, from: string): Promise<boolean> {
  const { madeAt, folder } = await readBackupNotes(store.db);
  if (madeAt === null || folder === null || Math.abs(store.clock.now() - madeAt) > SHARED_MS) return false;
  const facts = readFacts(folder);
  if (facts?.reason !== 'upgrade' || facts.schema !== from) return false;
  // The previous program may have been reinstalled since, and may have accepted mail.
  const lastAt = (await hasTable(store.db, 'events')) ? await lastEventAt(store.db) : undefined;
  return lastAt === undefined || lastAt < madeAt;
}

/** Throws if other nodes are running. SQLite needs no check, because the data folder is locked. */
async function mustBeAlone(store: Store): Promise<void> {
  const { config, db } = store;
  if (db.dialect !== 'pg' || config.upgrade.beside_old_nodes || !(await hasTable(db, 'node_reports'))) return;
  const [node, ...others] = await runningNodes(store);
  if (!node) return;
  const seconds = Math.max(0, Math.round(node.silentMs / 1000));
  const more = others.length === 0 ? '' : `, and ${others.length} more`;
  throw new UpgradeRefused(
    `${node.name} runs version ${node.version} on this database (heard of ${seconds} s ago${more}), and it has not what this version changes; stop all nodes first: one that was killed is forgotten after two minutes, of a version that does not tell the database's time after 15. Where the changelog allows both at once, set upgrade.beside_old_nodes. ${UNCHANGED}`,
  );
}

async function mustHaveRoom(store: Store, isMaking: boolean): Promise<void> {
  const { config, dataDir, db } = store;
  if (db.dialect === 'pg') {
    if (isMaking) await mustHaveRoomForDump(store);
    return;
  }
  const file = path.resolve(dataDir, config.database.path);
  const database = readFileSize(file) + readFileSize(`${file}-wal`);
  const change = Math.ceil((database * config.upgrade.room_percent) / 100);
  if (change === 0 && !isMaking) return;
  const directory = nearest(backupsFolder({ config, dataDir }));
  const backup = isMaking ? database + contentBytes(store) : 0;
  const isOneDisk = statSync(directory).dev === statSync(file).dev;
  const onData = isOneDisk ? change + backup : change;
  await mustBeFree(
    path.dirname(file),
    onData,
    isOneDisk && backup > 0 ? ` (${inMb(backup)} of them for a backup)` : '',
  );
  if (!isOneDisk) await mustBeFree(directory, backup, ' for a backup');
}

/**
 * Checks the local disk only: the disk of the PostgreSQL server is not visible from here. A dump is compressed and has
 * no indexes, so it is never larger than the tables.
 */
async function mustHaveRoomForDump(store: Store): Promise<void> {
  const bytes = (await tableBytes(store.db)) + contentBytes(store);
  await mustBeFree(nearest(backupsFolder(store)), bytes, ' for a backup');
}

const contentBytes = (store: Store): number =>
  locateContent(store) === null ? bytesBelow(blobsFolder(store.dataDir)) : 0;

async function mustBeFree(folder: string, bytes: number, what: string): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  const free = bavail * bsize;
  if (free >= bytes) return;
  throw new UpgradeRefused(
    `the database is brought up to this version only where there is room: ${inMb(bytes)} are needed on the disk of ${folder}${what}, and ${inMb(free)} are free. Free some, name another disk in backup.directory, or see [upgrade] in the settings. ${UNCHANGED}`,
  );
}

async function mustBeBackedUp({ clock, config, db }: Store, whyNot: string | undefined): Promise<void> {
  const { backup_age_hours: hours } = config.upgrade;
  if (hours === null) return;
  const { madeAt } = await readBackupNotes(db);
  const isAhead = madeAt !== null && isDatedAhead({ clock }, madeAt);
  if (madeAt !== null && !isAhead && clock.now() - madeAt <= hours * HOUR_MS) return;
  const dated = isAhead ? ', which is not yet: a clock was ahead, or is behind now' : '';
  const last = madeAt === null ? 'no backup is known' : `the last backup is of ${isoTime(madeAt)}${dated}`;
  const isMade = whyNot === undefined ? 'set upgrade.backup, so that one is made' : `none is made here: ${whyNot}`;
  const make = db.dialect === 'pg' ? `${isMade}; or say that another program has: rasket backups note` : isMade;
  throw new UpgradeRefused(
    `the database is brought up to this version only with a backup of the last ${hours} hours (upgrade.backup_age_hours), and ${last}; ${make}. Or go without: rasket migrate --no-backup. ${UNCHANGED}`,
  );
}

async function backUp(store: Store, { sealed }: UpgradeOptions): Promise<void> {
  store.log.info({ directory: backupsFolder(store) }, 'a backup is made before the database is changed');
  try {
    await takeBackup(store, { reason: 'upgrade', sealed });
  } catch (error) {
    const because = error instanceof Error ? error.message : String(error);
    throw new UpgradeRefused(
      `the backup that comes before a change of the database failed: ${because}. Mend that, or go without: rasket migrate --no-backup. ${UNCHANGED}`,
      { cause: error },
    );
  }
}

const UNCHANGED = 'Nothing was changed';

const readFileSize = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0;

const inMb = (bytes: number): string => `${Math.ceil(bytes / 1_000_000).toLocaleString('en')} MB`;

/** Returns the folder itself, or its nearest existing parent. */
function nearest(folder: string): string {
  return existsSync(folder) ? folder : nearest(path.dirname(folder));
}

function bytesBelow(folder: string): number {
  if (!existsSync(folder)) return 0;
  let bytes = 0;
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true }))
    if (entry.isFile()) bytes += readFileSize(path.join(entry.parentPath, entry.name));
  return bytes;
}
