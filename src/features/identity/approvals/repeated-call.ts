import type { Actor, Ctx } from '../../../tenancy/access/index.ts';
import { findTemplate } from '../../templates/index.ts';
import { newestOfCall } from './approvals.store.ts';
import { callText, hashCall, isOwnWork, type ProposedCall } from './proposed-call.ts';

type AppCtx = Ctx & { actor: Extract<Actor, { kind: 'oauth_grant' }> };

/**
 * Reports whether the app has made the same call before and it waits for a decision or is running. A limit that held
 * it may allow it by now, on a new day or because a person has changed the limit: made at once, it would be made again
 * when a person approves the earlier one.
 */
export async function repeatsHeldCall({ store, actor }: AppCtx, call: ProposedCall): Promise<boolean> {
  const callHash = hashCall(call.operationId, callText(call));
  const before = await newestOfCall(store.db, { grantId: actor.grantId, callHash });
  if (!before) return false;
  return before.status === 'running' || (before.status === 'pending' && before.expires_at > store.clock.now());
}

/**
 * Reports whether a call changes nothing but what the app alone has written. Others may send by an alias or a published
 * template, so its deletion is more than that.
 */
export async function changesOwnWork(ctx: AppCtx, call: ProposedCall): Promise<boolean> {
  if (call.operationId !== 'deleteTemplate') return isOwnWork(ctx, call);
  const template = await findTemplate(ctx.store.db, ctx.teamId, String(call.path['template']));
  if (!template || template.alias !== null || template.published_version_id !== null) return false;
  return template.author_grant_id === ctx.actor.grantId;
}
