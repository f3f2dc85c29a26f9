import { notFound } from '../../../platform/refusal/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { removeConfirmationsFor } from './confirmations.store.ts';
import { markTopicDeleted } from './topics.store.ts';

export async function deleteTopic({ store, teamId }: Ctx, id: string) {
  const isDone = await store.db.tx(async (tx) => {
    const isMarked = await markTopicDeleted(tx, teamId, id, store.clock.now());
    if (isMarked) await removeConfirmationsFor(tx, id);
    return isMarked;
  });
  if (!isDone) throw notFound('Topic');
  return { object: 'topic' as const, id, deleted: true as const };
}
