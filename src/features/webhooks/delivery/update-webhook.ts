import { notFound } from '../../../platform/refusal/index.ts';
import type { World } from '../../../platform/world/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { changeWebhook, findWebhook, readEndpoint, type WebhookUpdate } from '../endpoints/index.ts';
import { mustBeReachable } from './must-be-reachable.ts';

export async function updateWebhook(ctx: Ctx<World>, id: string, input: WebhookUpdate) {
  if (input.endpoint !== undefined) {
    const { store: world, teamId } = ctx;
    const url = readEndpoint(world.config, input.endpoint);
    // Checked first: no caller can make us connect for an endpoint that is not its own.
    if (!(await findWebhook(world.db, teamId, id))) throw notFound('Webhook');
    await mustBeReachable(world, url);
  }
  return changeWebhook(ctx, id, input);
}
