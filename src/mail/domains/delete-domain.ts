import { recordEvents } from '../events/index.ts';
import { notFound } from '../../platform/refusal/index.ts';
import type { Executor } from '../../platform/db/index.ts';
import type { Ctx } from '../../tenancy/access/index.ts';
import { deleteDomainRows, lockDomain } from './domains.store.ts';
import { presentDomainEvent } from './present.ts';
import { recordsOf } from './records.store.ts';

/**
 * Sent emails are kept; what is still queued cannot be signed any more and fails when its turn comes. `alsoDelete` takes away, in
 * the same transaction, what others have that is nothing without the domain.
 */
export async function deleteDomain(
  ctx: Ctx,
  id: string,
  alsoDelete: (tx: Executor) => Promise<void> = () => Promise.resolve(),
): Promise<{ object: 'domain'; id: string; deleted: true }> {
  const { store, teamId } = ctx;
  await store.db.tx(async (tx) => {
    const domain = await lockDomain(tx, teamId, id);
    if (!domain) throw notFound('Domain');
    const data = presentDomainEvent(domain, await recordsOf(tx, id));
    await alsoDelete(tx);
    await deleteDomainRows(tx, id);
    await recordEvents(tx, store.ids, [{ teamId, type: 'domain.deleted', subjectId: id, data, at: store.clock.now() }]);
  });
  return { object: 'domain', id, deleted: true };
}
