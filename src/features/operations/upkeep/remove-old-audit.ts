import type { Store } from '../../../platform/store/index.ts';
import { removeAuditBefore } from '../../../tenancy/audit/index.ts';

const BATCH_ROWS = 500;
const DAY_MS = 24 * 3_600_000;

/** Removes what the audit log has kept for as long as the settings say; answers how many entries. */
export async function removeOldAudit({ config, clock, db }: Store): Promise<number> {
  const before = clock.now() - config.audit.retention_days * DAY_MS;
  for (let removed = 0; ;) {
    const gone = await removeAuditBefore(db, before, BATCH_ROWS);
    removed += gone;
    if (gone < BATCH_ROWS) return removed;
  }
}
