import { getUsage } from '../../resources/usage/index.ts';
import type { KeyHandler } from '../operation.ts';

export const usage: Record<string, KeyHandler> = {
  getUsage: (ctx) => getUsage(ctx),
};
