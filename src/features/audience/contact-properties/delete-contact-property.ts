import type { Executor } from '../../../platform/db/index.ts';
import { notFound } from '../../../platform/refusal/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { markDeleted } from './contact-properties.store.ts';

/**
 * Deletes a property. Its values are not read from here on: they stand under its slot, which no other property gets before they
 * are gone. `onDeleted` runs in the same transaction.
 */
export async function deleteContactProperty(
  { store, teamId }: Ctx,
  id: string,
  onDeleted: (tx: Executor) => Promise<void>,
) {
  const isDone = await store.db.tx(async (tx) => {
    if (!(await markDeleted(tx, teamId, id, store.clock.now()))) return false;
    await onDeleted(tx);
    return true;
  });
  if (!isDone) throw notFound('Contact property');
  return { object: 'contact_property' as const, id, deleted: true as const };
}
