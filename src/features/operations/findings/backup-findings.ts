import { isoTime } from '../../../platform/clock/index.ts';
import type { Store } from '../../../platform/store/index.ts';
import { backupsTooOldSince, readBackupNotes } from '../../../tenancy/instance/index.ts';
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
      : [findingOf('backup_old', { summary: `${summaryOf(oldSince)} ${last}`, since: oldSince })]),
  ];
}

const summaryOf = (oldSince: number | null): string =>
  oldSince === null
    ? 'The last backup is dated in the future, by a clock that was ahead or one that is behind now: how old it is, is not known.'
    : 'The last backup is too old.';
