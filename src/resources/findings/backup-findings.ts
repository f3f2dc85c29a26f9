import { isoTime } from '../../platform/clock/index.ts';
import type { Store } from '../../platform/store/index.ts';
import { backupsTooOldSince, readBackupNotes } from '../instance/index.ts';
import { findingOf, type Finding } from './finding.ts';

/** Where none was ever made, there is nothing to say that is not known. */
export async function backupFindings(store: Store): Promise<Finding[]> {
  const { madeAt, failing } = await readBackupNotes(store.db);
  const last = madeAt === null ? 'There is none.' : `The last one is of ${isoTime(madeAt)}.`;
  const oldSince = backupsTooOldSince(store, madeAt);
  return [
    ...(failing
      ? [
          findingOf('backup_failed', {
            summary: `A backup failed: ${failing.reason}. ${last}`,
            since: failing.since,
          }),
        ]
      : []),
    ...(oldSince === undefined
      ? []
      : [findingOf('backup_old', { summary: `The last backup is too old. ${last}`, since: oldSince })]),
  ];
}
