import { recordEvents } from '../../events/index.ts';
import { isUniqueViolation } from '../../platform/db/index.ts';
import { refuse } from '../../platform/refusal/index.ts';
import type { World } from '../../platform/world/index.ts';
import type { CheckedRecord } from './check-records.ts';
import { holdDomain, saveCheck, type DomainRow, type DomainStatus, type RecordRow } from './domains.store.ts';
import { presentDomain } from './present.ts';

/** Unpublished records are waited for this long before the domain counts as failed. */
const WAIT_MS = 72 * 3_600_000;

/**
 * Writes what a check found, and the event if the domain's status moved. The domain may have been changed or deleted
 * while DNS was asked: it is judged as it is now, and undefined says that it is gone.
 */
export async function concludeCheck(
  world: World,
  asked: Pick<DomainRow, 'id' | 'team_id' | 'name'>,
  records: RecordRow[],
  checked: CheckedRecord[],
): Promise<DomainStatus | undefined> {
  const now = world.clock.now();
  const recordsAfter = records.map((record, i) => ({ ...record, status: checked[i]?.status ?? record.status }));
  try {
    return await world.db.tx(async (tx) => {
      const domain = await holdDomain(tx, asked.team_id, asked.id);
      if (!domain) return undefined;
      const since = domain.first_checked_at ?? now;
      const status = statusAfter(domain, checked, now - since);
      const after: DomainRow = {
        ...domain,
        status,
        checked_at: now,
        first_checked_at: since,
        verified_at: status === 'verified' ? (domain.verified_at ?? now) : null,
      };
      await saveCheck(tx, after, checked);
      if (status === domain.status) return status;
      const data = presentDomain(after, recordsAfter);
      await recordEvents(tx, world.ids, [
        { teamId: domain.team_id, type: 'domain.updated', subjectId: domain.id, data, at: now },
      ]);
      return status;
    });
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    throw nameTaken(asked.name);
  }
}

export const nameTaken = (name: string) =>
  refuse('resource_locked', { say: `The domain ${name} is verified by another team; claim it to move it to yours.` });

function statusAfter(domain: DomainRow, all: CheckedRecord[], waitedMs: number): DomainStatus {
  // Mail can be sent without it.
  const checked = all.filter((record) => record.record !== 'Tracking');
  if (checked.every((record) => record.status === 'verified')) return 'verified';
  // Nobody could say anything about a domain that was fine: it stays fine until somebody says otherwise.
  const contradicted = checked.some((record) => record.status === 'failed');
  if (domain.status === 'verified') return contradicted ? 'failed' : 'verified';
  // Failed means that nobody waits any more; records that turn up late still verify it.
  return domain.status === 'failed' || waitedMs >= WAIT_MS ? 'failed' : 'pending';
}
