/**
 * Who is calling, as data, and what that allows: one permission path for every port. It never asks how the caller
 * came in.
 */
import { refuse } from '../../platform/refusal/index.ts';
import type { World } from '../../platform/world/index.ts';

export type Permission = 'full_access' | 'sending_access';

export type Actor =
  { kind: 'api_key'; keyId: string; permission: Permission; domainId: string | null } | { kind: 'operator' };

export interface Ctx {
  world: World;
  teamId: string;
  actor: Actor;
  requestId: string;
}

/** What the contract marks an operation with: the least credential that reaches it. */
export function mustReach(actor: Actor, least: Permission): void {
  if (actor.kind === 'operator' || least === 'sending_access' || actor.permission === 'full_access') return;
  throw refuse('restricted_api_key', {
    status: 401,
    say: 'This API key can only send emails; use a key with full_access for this route.',
  });
}
