import type { Executor } from '../../../platform/db/index.ts';
import type { Held } from './leases.store.ts';

/** All who try a subject have it: gives the broadcast back until it is decided which one the others get. */
export async function waitForDecision(
  tx: Executor,
  { id, owner, decidesAt }: Held & { decidesAt: number },
): Promise<boolean> {
  const sql = `update broadcasts set ab_decides_at = ?, next_at = ?, cursor_id = null, waiting_reason = 'ab_test',
    lease_owner = null, lease_until = null where id = ? and lease_owner = ? and status = 'sending'`;
  return (await tx.run(sql, [decidesAt, decidesAt, id, owner])) === 1;
}

/** Once: answers false where it was decided before, canceled or taken over. */
export async function saveDecision(
  tx: Executor,
  { id, owner, decision }: Held & { decision: string },
): Promise<boolean> {
  const sql = `update broadcasts set ab_decision = ?, next_at = null, waiting_reason = null
    where id = ? and lease_owner = ? and status = 'sending' and ab_decision is null`;
  return (await tx.run(sql, [decision, id, owner])) === 1;
}
