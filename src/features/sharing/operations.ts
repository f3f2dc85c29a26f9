import {
  createBroadcastShare,
  createShare,
  reviewSharedBroadcast,
  revokeBroadcastShares,
  revokeShares,
} from './index.ts';
import { type OperationTable } from '../../tenancy/access/index.ts';
import type { World } from '../../platform/world.ts';

export const shares = {
  createShare: (ctx, { path, body }) => createShare(ctx, path.email_id, body),
  revokeShares: (ctx, { path }) => revokeShares(ctx, path.email_id),
  createBroadcastShare: (ctx, { path, body }) => createBroadcastShare(ctx, path.broadcast_id, body),
  revokeBroadcastShares: (ctx, { path }) => revokeBroadcastShares(ctx, path.broadcast_id),
  reviewSharedBroadcast: (ctx, { path, body }) => reviewSharedBroadcast(ctx, path.token, body),
} satisfies OperationTable<World>;
