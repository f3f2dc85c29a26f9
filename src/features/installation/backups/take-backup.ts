import { mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { startThread } from '../../../program-files/index.ts';
import { isoTime } from '../../../platform/clock.ts';
import type { Config } from '../../../platform/config/index.ts';
import { readMark } from '../../../platform/installation-mark/index.ts';
import type { SealedColumn } from '../../../platform/secrets/index.ts';
import type { Store } from '../../../platform/store.ts';
import { isWhole } from '../../../mail/contents/index.ts';
import { backupsTooOldSince, noteBackup, noteBackupFailure, readBackupNotes } from '../../../tenancy/instance/index.ts';
import {
  BackupFault,
  backupName,
  backupsFolder,
  halfMade,
  removeOlder,
  type BackupFacts,
  type BackupReason,
  type Verification,
} from './backup-folder.ts';
import { locateContent, filesOfSettings, type OtherFile } from './make-backup.ts';

/** Input that the backup thread receives. */
export interface ThreadOrder {
  database: Config['database'];
  dataDir: string;
  contentIn: string | null;
  programs: string;
  named: readonly OtherFile[];
  folder: string;
  part: string;
  madeAt: number;
  reason: BackupReason;
  sealed: readonly SealedColumn[];
  /** Id of the installation, which identifies what a killed process left unfinished. */
  mark: string;
}

export interface ThreadAnswer {
  facts: BackupFacts;
  verification: Verification;
}

export interface TakeOptions {
  reason: BackupReason;
  sealed: readonly SealedColumn[];
  stopping?: AbortSignal | undefined;
}

export interface Taken {
  folder: string;
  facts: BackupFacts;
  /** Folders of older backups that were removed. */
  removed: string[];
}

/**
 * Makes a backup in the folder of the settings and verifies it, both in a separate thread: copying a database blocks
 * its thread. Removes older backups only if this one is intact. Records the result for findings and for the next
 * upgrade.
 */
export async function takeBackup(store: Store, { reason, sealed, stopping }: TakeOptions): Promise<Taken> {
  const { clock, config, dataDir, db, log } = store;
  const directory = backupsFolder(store);
  const madeAt = clock.now();
  const mark = readMark(dataDir) ?? 'unmarked';
  const folder = path.join(directory, backupName(madeAt));
  const part = halfMade(folder, mark);
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const order: ThreadOrder = {
      database: config.database,
      dataDir,
      contentIn: locateContent(store),
      programs: config.backup.pg_programs,
      named: filesOfSettings(config, dataDir),
      folder,
      part,
      madeAt,
      reason,
      sealed,
      mark,
    };
    const { facts, verification } = await inThread(order, stopping);
    const [fault] = verification.faults;
    if (fault !== undefined) throw new BackupFault(`${folder} was made and is not whole: ${fault}`);
    await recheckNamed(store, verification.damaged ?? []);
    await noteBackup(db, { madeAt, folder, at: clock.now() });
    const removed = removeOlder(directory, {
      keep: config.backup.keep,
      installation: facts.installation,
      madeAt,
    });
    const { bytes, files, content_in: contentIn = null, not_held: notHeld } = facts;
    log.info({ folder, bytes, files, contentIn, notHeld, removed }, 'backup made and verified');
    return { folder, facts, removed };
  } catch (error) {
    // Another node may be writing its own backup in the same second.
    if (!isOfOther(error)) rmSync(part, { recursive: true, force: true });
    // A command and an upgrade report the failure themselves; only that of a scheduled backup is recorded.
    if (stopping?.aborted || reason !== 'schedule') throw error;
    const because = error instanceof Error ? error.message : String(error);
    await noteBackupFailure(db, { reason: because, at: clock.now() });
    log.error({ folder, because }, 'backup failed');
    throw error;
  }
}

/** Checks the original of each damaged content, which makes it a finding. */
async function recheckNamed(store: Store, files: readonly string[]): Promise<void> {
  for (const file of files) {
    const [, , owner = '', name = ''] = file.split('/');
    await isWhole(store, `${owner}/${name}`);
  }
}

const isOfOther = (error: unknown): boolean => error instanceof Error && error.name === 'SnapshotInUse';

async function inThread(order: ThreadOrder, stopping?: AbortSignal): Promise<ThreadAnswer> {
  const thread = startThread('src/features/installation/backups/backup-thread.ts', { workerData: order });
  // SQLite blocks the thread while it writes, so the thread is terminated; pg_dump is a process, which the thread ends
  // first.
  const end = (): void => void (order.database.driver === 'pg' ? thread.postMessage('stop') : thread.terminate());
  stopping?.addEventListener('abort', end);
  try {
    return await new Promise<ThreadAnswer>((done, fail) => {
      thread.once('message', done);
      thread.once('error', fail);
      thread.once('exit', () => fail(new BackupFault('it was broken off')));
    });
  } finally {
    stopping?.removeEventListener('abort', end);
    await thread.terminate();
  }
}

/** Runs the daily job: a failure is already recorded and logged, and the next run may succeed. */
export async function backUpOnSchedule(
  store: Store,
  options: Omit<TakeOptions, 'reason'>,
): Promise<{ folder: string; removed: number } | undefined> {
  const taken = await takeBackup(store, { ...options, reason: 'schedule' }).catch(() => undefined);
  return taken && { folder: taken.folder, removed: taken.removed.length };
}

/** Writes a log line for operators who watch only the log; findings report the same. */
export async function watchBackups(store: Store): Promise<void> {
  const { madeAt, failing } = await readBackupNotes(store.db);
  if (madeAt === null) return;
  const oldSince = backupsTooOldSince(store, madeAt);
  if (oldSince === undefined) return;
  const says = oldSince === null ? 'the last backup is dated in the future' : 'the last backup is too old';
  store.log.warn({ madeAt: isoTime(madeAt), because: failing?.reason ?? null }, says);
}
