import { nextTurn, type Clock } from '../../platform/clock.ts';
import type { Store } from '../../platform/store.ts';
import { oldReports, removeReports, reportsOfDeletedDomains } from './domain-reports.store.ts';

const DAY_MS = 24 * 3_600_000;
/** Rows of a transaction, the parts of a report included: others wait for it some tens of milliseconds. */
const ROWS_MAX = 2000;
const REPORTS_MAX = 200;

/**
 * Removes reports about days before the retention, and those of deleted domains, in batches; returns how many. It may
 * be interrupted anywhere, and the next run continues.
 */
export async function removeOldReports(
  { config, clock, db }: Pick<Store, 'config' | 'db'> & { clock: Pick<Clock, 'now'> },
  stopping?: AbortSignal,
): Promise<number> {
  const today = Math.floor(clock.now() / DAY_MS) * DAY_MS;
  const beforeDay = today - config.receiving.reports_retention_days * DAY_MS;
  let removed = 0;
  for (const find of [() => oldReports(db, beforeDay, REPORTS_MAX), () => reportsOfDeletedDomains(db, REPORTS_MAX)]) {
    while (stopping?.aborted !== true) {
      const batch = cutBatch(await find());
      if (batch.length === 0) break;
      await db.tx((tx) => removeReports(tx, batch));
      removed += batch.length;
      await nextTurn();
    }
  }
  return removed;
}

/** Cuts a list to the reports that fit into a transaction; the first one always does. */
function cutBatch<Report extends { parts: number }>(reports: readonly Report[]): Report[] {
  const batch: Report[] = [];
  let rows = 0;
  for (const report of reports) {
    rows += 1 + report.parts;
    if (batch.length > 0 && rows > ROWS_MAX) break;
    batch.push(report);
  }
  return batch;
}
