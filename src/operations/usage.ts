import { getUsage } from '../resources/usage/index.ts';
import type { Operations } from './operation.ts';

export const usage = {
  getUsage: (ctx) => getUsage(ctx),
} satisfies Partial<Operations>;
