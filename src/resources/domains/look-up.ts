import type { World } from '../../platform/world/index.ts';
import { checkRecords, type CheckOptions } from './check-records.ts';
import { isSameRecord, type DomainRow, type RecordRow, type RecordStatus } from './domain-rows.ts';
import type { Verdict } from './domain-state.ts';
import type { Found } from './glance.ts';

export interface Looked {
  record: RecordRow;
  verdict: Verdict;
  diagnosis: string | null;
  found: Found | null;
}

/** In the development profile nobody is asked about a verified domain: its own one has no DNS, and nothing leaves the machine. */
export const isDecreed = (world: World, { verified_at: at }: Pick<DomainRow, 'verified_at'>): boolean =>
  world.config.delivery.capture && at !== null;

/** What DNS says of these records now, whatever was known of them before. */
export async function lookUp(
  world: World,
  domain: DomainRow,
  records: readonly RecordRow[],
  options: CheckOptions,
): Promise<Looked[]> {
  if (isDecreed(world, domain)) {
    return records.map((record) => ({ record, verdict: 'seen', diagnosis: null, found: null }));
  }
  const checked = await checkRecords(world, domain, records, options);
  return records.map((record, i) => ({
    record,
    verdict: verdictOf(checked[i]?.status),
    diagnosis: checked[i]?.diagnosis ?? null,
    found: checked[i]?.found ?? null,
  }));
}

/** Of a domain that is not decided, only what is wrong has failed and what is absent is pending. */
function verdictOf(status: RecordStatus | undefined): Verdict {
  switch (status) {
    case 'verified':
      return 'seen';
    case 'failed':
      return 'wrong';
    case 'pending':
    case 'not_started':
      return 'absent';
    case 'temporary_failure':
    case undefined:
      return 'unknown';
  }
}

/** Undefined for a record that was not among those looked up. */
export const lookedAt = (looked: readonly Looked[], record: RecordRow): Looked | undefined =>
  looked.find((one) => isSameRecord(one.record, record));
