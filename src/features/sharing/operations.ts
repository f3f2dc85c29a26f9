import {
  createAutomationShare,
  createBroadcastShare,
  createShare,
  createTemplateShare,
  reviewSharedBroadcast,
  revokeAutomationShares,
  revokeBroadcastShares,
  revokeShares,
  revokeTemplateShares,
} from './index.ts';
import { type OperationTable } from '../../tenancy/access/index.ts';
import type { World } from '../../platform/world.ts';

export const shares = {
  createShare: (ctx, { path, body }) => createShare(ctx, path.email_id, body),
  revokeShares: (ctx, { path }) => revokeShares(ctx, path.email_id),
  createBroadcastShare: (ctx, { path, body }) => createBroadcastShare(ctx, path.broadcast_id, body),
  revokeBroadcastShares: (ctx, { path }) => revokeBroadcastShares(ctx, path.broadcast_id),
  createTemplateShare: (ctx, { path, body }) => createTemplateShare(ctx, path.template, body),
  revokeTemplateShares: (ctx, { path }) => revokeTemplateShares(ctx, path.template),
  createAutomationShare: (ctx, { path, body }) => createAutomationShare(ctx, path.automation_id, body),
  revokeAutomationShares: (ctx, { path }) => revokeAutomationShares(ctx, path.automation_id),
  reviewSharedBroadcast: (ctx, { path, body }) => reviewSharedBroadcast(ctx, path.token, body),
} satisfies OperationTable<World>;
