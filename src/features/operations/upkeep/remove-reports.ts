import type { Store } from '../../../platform/store/index.ts';
import { removeLinks, removeRecipients } from '../../campaigns/broadcast-recipients/index.ts';
import { endedReport, forgetReport } from '../../campaigns/broadcasts/index.ts';
import { removeSharedBody } from '../../../mail/shared-bodies/index.ts';
import type { Expiry } from './expiries.ts';

/**
 * Removes part of the report of one broadcast whose emails are all gone, and with its last row the links and the shared body; the
 * sums of it stay. Answers how many rows went, and whether there may be more.
 */
export async function removeReport(
  { db }: Store,
  team: Expiry,
  limit: number,
): Promise<{ rows: number; isMore: boolean }> {
  const report = await endedReport(db, team);
  if (!report) return { rows: 0, isMore: false };
  const rows = await db.tx(async (tx) => {
    const gone = await removeRecipients(tx, report.id, limit);
    if (gone === limit) return gone;
    await removeLinks(tx, report.id);
    await removeSharedBody(tx, report.body_id);
    await forgetReport(tx, report.id);
    return gone;
  });
  return { rows, isMore: true };
}
