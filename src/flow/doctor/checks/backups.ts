import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { readLastBackup } from '../../../platform/installation-mark/index.ts';
import { isoTime } from '../../../platform/clock/index.ts';
import { findingOf } from '../../../resources/findings/index.ts';
import { nothingSeen, skipped, type Check } from '../check.ts';

const DAY_MS = 86_400_000;
const ENTRIES_MAX = 10_000;

/** When the last backup was made: by `rasket backup`, or by whatever puts one into the folder of the settings. */
export const checkBackups: Check = async ({ world }) => {
  const { config, clock, dataDir } = world;
  const { backup_days: daysMax, backup_folder: folder } = config.doctor;
  if (daysMax === 0) return skipped('doctor.backup_days asks for none');
  if (config.delivery.capture) return skipped('Nothing here is to be kept (delivery.capture)');
  const seen = nothingSeen();
  const at = folder === '' ? undefined : path.resolve(dataDir, folder);
  const inFolder = at === undefined ? undefined : await newestIn(at);
  if (typeof inFolder === 'string') {
    seen.unknown.push({ says: `when the last backup was made: ${at ?? ''} cannot be read (${inFolder})` });
    return seen;
  }
  const last = Math.max(readLastBackup(dataDir)?.at ?? 0, inFolder ?? 0);
  if (last === 0 && config.database.driver === 'pg' && folder === '') {
    seen.unknown.push({ says: 'when PostgreSQL was backed up: name where its backups are as doctor.backup_folder' });
    return seen;
  }
  if (last > 0 && clock.now() - last <= daysMax * DAY_MS) seen.says.push(`The last backup is of ${isoTime(last)}`);
  else if (last > 0) {
    const days = Math.floor((clock.now() - last) / DAY_MS);
    const summary = `The last backup is ${days} days old (${isoTime(last)}).`;
    seen.findings.push(findingOf('backup_old', { summary }));
  } else if (clock.now() - (await begunAt(dataDir)) > daysMax * DAY_MS) {
    seen.findings.push(findingOf('backup_old', { summary: 'There is no backup of this installation.' }));
  } else seen.says.push('There is no backup yet');
  return seen;
};

/** The time of the newest entry, 0 where there is none; a text why it cannot be told. */
async function newestIn(folder: string): Promise<number | string> {
  try {
    const names = (await readdir(folder)).slice(-ENTRIES_MAX);
    const times = await Promise.all(names.map((name) => stat(path.join(folder, name)).then(({ mtimeMs }) => mtimeMs)));
    return Math.round(Math.max(0, ...times));
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'unknown';
  }
}

/** Since when there is something to lose. */
const begunAt = (dataDir: string): Promise<number> =>
  stat(path.join(dataDir, 'instance.key')).then(
    ({ birthtimeMs, mtimeMs }) => Math.min(birthtimeMs || mtimeMs, mtimeMs),
    () => 0,
  );
