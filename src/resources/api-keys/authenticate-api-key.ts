import { refuse } from '../../platform/refusal/index.ts';
import { hashToken } from '../../platform/secrets/index.ts';
import type { World } from '../../platform/world/index.ts';
import type { Actor } from '../access/index.ts';
import { findByTokenHash } from './api-keys.store.ts';

/** Asks the database every time: a revoked key is refused by the very next request, on every node. */
export async function authenticateApiKey(world: World, token: string): Promise<{ teamId: string; actor: Actor }> {
  const key = await findByTokenHash(world.db, hashToken(token));
  if (!key) throw refuse('invalid_api_key', { say: 'The API key is not valid.' });
  if (key.status === 'revoked') {
    throw refuse('restricted_api_key', { status: 403, say: 'This API key has been revoked.' });
  }
  if (key.status === 'suspended' || key.risk_state === 'suspended') {
    throw refuse('suspended_api_key', { say: 'This API key or its team is suspended.' });
  }
  return {
    teamId: key.team_id,
    actor: { kind: 'api_key', keyId: key.id, permission: key.permission, domainId: key.domain_id },
  };
}
