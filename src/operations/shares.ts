import { createShare, revokeShares } from '../features/sharing/index.ts';
import type { Operations } from './operation.ts';

export const shares = {
  createShare: (ctx, { path, body }) => createShare(ctx, path.email_id, body),
  revokeShares: (ctx, { path }) => revokeShares(ctx, path.email_id),
} satisfies Partial<Operations>;
