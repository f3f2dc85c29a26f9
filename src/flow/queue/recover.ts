import type { World } from '../../platform/world/index.ts';
import { handedOffBy, leaseOwners, releaseUnsent, rescheduleDelivery } from './deliveries.store.ts';
import { leftHandOffLogs } from './hand-off-log.ts';

export interface Recovered {
  released: number;
  inDoubt: number;
}

/**
 * Takes back what earlier processes of this data folder held. What never came to its final dot is offered again at
 * once; what may have passed it is never sent again and fails when nobody has said otherwise for two hours.
 */
export async function recoverDeliveries(world: World, runDir: string): Promise<Recovered> {
  const left = leftHandOffLogs(runDir);
  const owners = new Map(left.map((log) => [log.owner, log.marked]));
  // An embedded database has no other process: whoever holds a lease is gone, with or without its log.
  if (world.db.dialect === 'sqlite') {
    for (const owner of await leaseOwners(world.db)) if (!owners.has(owner)) owners.set(owner, undefined);
  }
  const recovered = { released: 0, inDoubt: 0 };
  for (const [owner, marked] of owners) {
    await world.db.tx(async (tx) => {
      const now = world.clock.now();
      recovered.released += await releaseUnsent(tx, owner, now);
      for (const row of await handedOffBy(tx, owner)) {
        const isInDoubt = marked === undefined || marked.has(row.id);
        await rescheduleDelivery(tx, {
          ...row,
          recipients: JSON.parse(row.recipients) as string[],
          attempt: row.attempt - 1,
          due_at: isInDoubt ? (row.handed_off_at ?? now) + world.config.delivery.ambiguous_hours * 3_600_000 : now,
          handed_off_at: isInDoubt ? row.handed_off_at : null,
        });
        recovered[isInDoubt ? 'inDoubt' : 'released']++;
        if (!isInDoubt) continue;
        const to = JSON.parse(row.recipients) as string[];
        world.mailLog.ambiguous({
          emailId: row.email_id,
          to,
          detail: 'the process ended between the final dot and the reply',
        });
      }
    });
  }
  for (const log of left) log.remove();
  return recovered;
}
