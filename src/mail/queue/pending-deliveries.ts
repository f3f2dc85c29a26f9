import { isoTime } from '../../platform/clock.ts';
import type { Store } from '../../platform/store.ts';
import { explainWaiting } from '../throttles/index.ts';
import { listEmailDeliveries } from './deliveries.store.ts';
import { findQuietTimes } from './rules.ts';

/** Lists the pending deliveries of an email: each destination that is not settled, and what it waits for. */
export async function pendingDeliveries(store: Store, emailId: string) {
  const rows = await listEmailDeliveries(store.db, emailId);
  const explain = await explainWaiting(store, rows);
  const quiet = await findQuietTimes(store.db, rows, store.clock.now());
  return rows.map((row) => {
    const state = deriveState(row);
    return {
      destination: row.destination,
      recipients: JSON.parse(row.recipients) as string[],
      state,
      attempts: row.attempt,
      until: state === 'under_way' || state === 'held' ? null : isoTime(row.due_at),
      waits_because:
        state === 'waiting'
          ? (quiet.get(row.email_id)?.reason ?? explain({ ...row, isMarketing: row.is_marketing === 1 }))
          : null,
    };
  });
}

type State = 'waiting' | 'under_way' | 'in_doubt' | 'awaits_domain' | 'held';

function deriveState(row: Awaited<ReturnType<typeof listEmailDeliveries>>[number]): State {
  if (row.handed_off_at !== null) return 'in_doubt';
  if (row.lease_owner !== null) return 'under_way';
  if (row.hold_id !== null) return 'held';
  return row.awaits_domain === 1 ? 'awaits_domain' : 'waiting';
}
