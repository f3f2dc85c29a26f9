import type { World } from '../../../platform/world/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { addWebhook, mustAllowWebhook, readEndpoint, type NewWebhook } from '../endpoints/index.ts';
import { mustBeReachable } from './must-be-reachable.ts';

export async function createWebhook(ctx: Ctx<World>, input: NewWebhook) {
  const { store: world, teamId } = ctx;
  const url = readEndpoint(world.config, input.endpoint);
  // Checked before the slow connection, and again when the endpoint is added.
  await mustAllowWebhook(world, world.db, teamId);
  await mustBeReachable(world, url);
  return addWebhook(ctx, input);
}
