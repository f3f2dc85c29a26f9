import type { Store } from '../../../platform/store/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { keyLives } from '../../../tenancy/api-keys/index.ts';
import { teamOfSession } from '../../../tenancy/session-rows/index.ts';
import type { ClosedReason } from './listener-frames.ts';

/** Why a caller whose stream is open could not open it again; undefined while that is possible. */
export async function whyEnded(
  store: Store,
  { actor, teamId }: Pick<Ctx, 'actor' | 'teamId'>,
): Promise<ClosedReason | undefined> {
  if (actor.kind !== 'session') return (await keyLives(store, actor)) ? undefined : 'key_revoked';
  const current = await teamOfSession(store.db, actor.sessionId, store.clock.now());
  return current === teamId ? undefined : 'session_ended';
}
