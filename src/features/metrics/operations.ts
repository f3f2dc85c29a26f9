import { getEmailMetrics } from './index.ts';
import { type OperationTable } from '../../tenancy/access/index.ts';
import type { World } from '../../platform/world.ts';

export const metrics = {
  getEmailMetrics: (ctx, { query = {} }) => getEmailMetrics(ctx, query),
} satisfies OperationTable<World>;
