import { recordEvents } from '../../events/index.ts';
import { notFound } from '../../platform/refusal/index.ts';
import type { Ctx } from '../access/index.ts';
import { deleteDomainRows, lockDomain } from './domains.store.ts';
import { presentDomainEvent } from './present.ts';
import { recordsOf } from './records.store.ts';

/** Sent emails are kept; what is still queued cannot be signed any more and fails when its turn comes. */
export async function deleteDomain(ctx: Ctx, id: string): Promise<{ object: 'domain'; id: string; deleted: true }> {
  const { store, teamId } = ctx;
  await store.db.tx(async (tx) => {
    const domain = await lockDomain(tx, teamId, id);
    if (!domain) throw notFound('Domain');
    const data = presentDomainEvent(domain, await recordsOf(tx, id));
    await deleteDomainRows(tx, id);
    await recordEvents(tx, store.ids, [{ teamId, type: 'domain.deleted', subjectId: id, data, at: store.clock.now() }]);
  });
  return { object: 'domain', id, deleted: true };
}
