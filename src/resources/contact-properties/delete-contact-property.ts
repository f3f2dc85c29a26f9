import { notFound } from '../../platform/refusal/index.ts';
import type { Ctx } from '../access/index.ts';
import { markDeleted } from './contact-properties.store.ts';

/** Its values are not read from here on: they stand under its slot, which no other property gets before they are gone. */
export async function deleteContactProperty({ store, teamId }: Ctx, id: string) {
  const isDone = await store.db.tx((tx) => markDeleted(tx, teamId, id, store.clock.now()));
  if (!isDone) throw notFound('Contact property');
  return { object: 'contact_property' as const, id, deleted: true as const };
}
