/**
 * Who is calling, as data, and what that allows: one permission path for every port. It never asks how the caller
 * came in.
 */
import { refuse, type Refusal } from '../../platform/refusal/index.ts';
import type { World } from '../../platform/world/index.ts';

export type Permission = 'full_access' | 'sending_access';

export type Actor =
  { kind: 'api_key'; keyId: string; permission: Permission; domainId: string | null } | { kind: 'operator' };

export interface Ctx {
  world: World;
  teamId: string;
  actor: Actor;
  requestId: string;
  /** Aborted when the caller's connection ends; only callers on the network have one. */
  whenGone?: () => AbortSignal;
}

/** For work that was called off with its caller. Nobody hears it; the log of requests keeps it. */
export const callerGone = (): Refusal =>
  refuse('validation_error', { status: 400, say: 'The connection ended before the request was answered.' });

/** What the contract marks an operation with: the least credential that reaches it. */
export function mustReach(actor: Actor, least: Permission): void {
  if (actor.kind === 'operator' || least === 'sending_access' || actor.permission === 'full_access') return;
  throw refuse('restricted_api_key', {
    status: 401,
    say: 'This API key can only send emails; use a key with full_access for this route.',
  });
}
