import { stat } from 'node:fs/promises';
import { isoTime } from '../../../../platform/clock/index.ts';
import { instanceKeyPath } from '../../../../platform/secrets/index.ts';
import { whyNotDumped } from '../../backups/index.ts';
import { findingOf } from '../../findings/index.ts';
import { readBackupNotes } from '../../../../tenancy/instance/index.ts';
import { nothingSeen, skipped, type Check } from '../check.ts';

const HOUR_MS = 3_600_000;

/** That the last backup is too old is a finding at any time; here is told that there never was one, and what the next one lacks. */
export const checkBackups: Check = async ({ world }) => {
  const { config, clock, dataDir, db } = world;
  if (config.delivery.capture) return skipped('Nothing here is to be kept (delivery.capture)');
  const seen = nothingSeen();
  const { madeAt, failing } = await readBackupNotes(db);
  const age = clock.now() - (await begunAt(dataDir));
  if (madeAt !== null) seen.says.push(`The last backup is of ${isoTime(madeAt)}`);
  else if (age <= config.backup.max_age_hours * HOUR_MS) seen.says.push('There is no backup yet');
  else seen.findings.push(findingOf('backup_old', { summary: 'There is no backup of this installation.' }));
  const why = failing === null ? await whyNotDumped(world) : undefined;
  if (why !== undefined)
    seen.findings.push(findingOf('backup_failed', { summary: `The next backup will fail: ${why}.` }));
  return seen;
};

/** Since when there is something to lose. */
const begunAt = (dataDir: string): Promise<number> =>
  stat(instanceKeyPath(dataDir)).then(
    ({ birthtimeMs, mtimeMs }) => Math.min(birthtimeMs || mtimeMs, mtimeMs),
    () => 0,
  );
