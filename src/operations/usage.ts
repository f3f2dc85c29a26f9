import { countBroadcasts } from '../features/campaigns/broadcasts/index.ts';
import { getUsage } from '../tenancy/usage/index.ts';
import type { Operations } from './operation.ts';

export const usage = {
  getUsage: async (ctx) => getUsage(ctx, { broadcasts: await countBroadcasts(ctx.store.db, ctx.teamId) }),
} satisfies Partial<Operations>;
