import { notFound } from '../../../platform/refusal/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { markDeleted } from './webhooks.store.ts';

/** Gone at once for everybody; its rows, which may be millions, go in small batches later. */
export async function deleteWebhook(ctx: Ctx, id: string): Promise<{ object: 'webhook'; id: string; deleted: true }> {
  const { store, teamId } = ctx;
  if (!(await markDeleted(store.db, teamId, id, store.clock.now()))) throw notFound('Webhook');
  return { object: 'webhook', id, deleted: true };
}
