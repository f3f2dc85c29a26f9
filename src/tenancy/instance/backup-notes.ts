import { hasTable, type Db } from '../../platform/db/index.ts';
import type { Store } from '../../platform/store.ts';
import { readSetting, writeSetting } from './instance.store.ts';

const SETTING = 'backups';
const REASON_CHARS_MAX = 300;

/** State of the backups of this installation. */
export interface BackupNotes {
  /** Time in milliseconds of the last backup that was found whole, or that the operator vouches for. */
  madeAt: number | null;
  /** The folder of that backup; null if another program made it. */
  folder: string | null;
  /** Time since which no backup succeeds, and the reason why the last one failed; null once one succeeds. */
  failing: { since: number; reason: string } | null;
}

const NONE: BackupNotes = { madeAt: null, folder: null, failing: null };

/** Reads the notes, also from a database that is not migrated yet. */
export async function readBackupNotes(db: Db): Promise<BackupNotes> {
  if (!(await hasTable(db, 'instance_settings'))) return NONE;
  return (await readSetting<BackupNotes>(db, SETTING)) ?? NONE;
}

export const noteBackup = (
  db: Db,
  { madeAt, folder, at }: { madeAt: number; folder: string | null; at: number },
): Promise<boolean> => write(db, { madeAt, folder, failing: null }, at);

export async function noteBackupFailure(db: Db, { reason, at }: { reason: string; at: number }): Promise<void> {
  const before = await readBackupNotes(db);
  const failing = { since: before.failing?.since ?? at, reason: reason.slice(0, REASON_CHARS_MAX) };
  await write(db, { ...before, failing }, at);
}

/** Writes the notes; returns false if a very old database has no table for them before it is migrated. */
async function write(db: Db, notes: BackupNotes, at: number): Promise<boolean> {
  if (!(await hasTable(db, 'instance_settings'))) return false;
  await writeSetting(db, SETTING, notes, at);
  return true;
}

const HOUR_MS = 3_600_000;
/** Clocks of two machines are seldom further apart. */
const AHEAD_MS = 5 * 60_000;

/**
 * Reports whether a backup was dated by a clock that was ahead: its age cannot be known, and it would seem recent for
 * as long as that clock was wrong.
 */
export const isDatedAhead = ({ clock }: Pick<Store, 'clock'>, madeAt: number): boolean =>
  madeAt > clock.now() + AHEAD_MS;

/**
 * Returns since when the last backup is too old, null if the time is not known; undefined if it is not too old, or if
 * none was made or noted.
 */
export function backupsTooOldSince(
  { config, clock }: Pick<Store, 'config' | 'clock'>,
  madeAt: number | null,
): number | null | undefined {
  if (madeAt === null) return undefined;
  if (isDatedAhead({ clock }, madeAt)) return null;
  const since = madeAt + config.backup.max_age_hours * HOUR_MS;
  return since < clock.now() ? since : undefined;
}
