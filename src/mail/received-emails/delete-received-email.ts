import { eraseEventsOf } from '../events/index.ts';
import { notFound } from '../../platform/refusal/index.ts';
import type { Ctx } from '../../tenancy/access/index.ts';
import { erasePayloads } from '../../features/webhooks/endpoints/index.ts';
import { removeReceivedRows } from './received-emails.store.ts';

export async function deleteReceivedEmail({ store, teamId }: Ctx, id: string) {
  const gone = await store.db.tx(async (tx) => {
    const removed = await removeReceivedRows(tx, teamId, [id]);
    if (removed.length > 0) await erasePayloads(tx, teamId, await eraseEventsOf(tx, id));
    return removed;
  });
  const [email] = gone;
  if (!email) throw notFound('Email');
  // After the commit: a crash in between leaves files without a row, which the daily sweep finds.
  if (email.hasFiles) await store.blobs.remove(id);
  return { object: 'email' as const, id, deleted: true as const };
}
