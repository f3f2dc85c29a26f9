import { getEmailMetrics } from '../features/metrics/index.ts';
import type { Operations } from './operation.ts';

export const metrics = {
  getEmailMetrics: (ctx, { query = {} }) => getEmailMetrics(ctx, query),
} satisfies Partial<Operations>;
