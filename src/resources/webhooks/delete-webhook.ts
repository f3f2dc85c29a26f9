import { notFound } from '../../platform/refusal/index.ts';
import { mustReach, type Ctx } from '../access/index.ts';
import { markDeleted } from './webhooks.store.ts';

/** Gone at once for everybody; its rows, which may be millions, go in small batches later. */
export async function deleteWebhook(ctx: Ctx, id: string): Promise<{ object: 'webhook'; id: string; deleted: true }> {
  mustReach(ctx.actor, 'full_access');
  const { world, teamId } = ctx;
  if (!(await markDeleted(world.db, teamId, id, world.clock.now()))) throw notFound('Webhook');
  return { object: 'webhook', id, deleted: true };
}
