import { Refusal } from '../../../platform/refusal/index.ts';
import type { Actor, Ctx } from '../../../tenancy/access/index.ts';
import { findBroadcast } from '../../campaigns/broadcasts/index.ts';
import { mustFindDraft } from '../../inbox/inbox-drafts/index.ts';
import type { ProposedCall } from './proposed-call.ts';

type Author = { author_grant_id: string | null } | undefined;

/** Finds what a call would change, for the operations whose effect depends on the writer. */
const CHANGED: Readonly<Record<string, (ctx: Ctx, path: ProposedCall['path']) => Promise<Author>>> = {
  updateBroadcast: ({ store, teamId }, path) => findBroadcast(store.db, teamId, String(path['broadcast_id'])),
  updateInboxDraft: async (ctx, path) =>
    (await mustFindDraft(ctx, String(path['inbox']), String(path['draft_id']))).row,
};

/**
 * Returns whether the app is the only writer of what its call changes. A missing object has no writer, and the call
 * itself reports it.
 */
export async function isOwnWork(
  ctx: Ctx & { actor: Extract<Actor, { kind: 'oauth_grant' }> },
  { operationId, path }: ProposedCall,
): Promise<boolean> {
  const find = Object.hasOwn(CHANGED, operationId) ? CHANGED[operationId] : undefined;
  if (!find) return false;
  try {
    return (await find(ctx, path))?.author_grant_id === ctx.actor.grantId;
  } catch (error) {
    if (error instanceof Refusal) return false;
    throw error;
  }
}
