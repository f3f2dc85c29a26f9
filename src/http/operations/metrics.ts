import { getEmailMetrics, type MetricsQuery } from '../../resources/metrics/index.ts';
import type { KeyHandler } from '../operation.ts';

export const metrics: Record<string, KeyHandler> = {
  getEmailMetrics: (ctx, { query }) => getEmailMetrics(ctx, query as MetricsQuery),
};
