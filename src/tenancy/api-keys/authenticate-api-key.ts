import { refuse } from '../../platform/refusal/index.ts';
import { hashToken } from '../../platform/secrets/index.ts';
import type { Store } from '../../platform/store/index.ts';
import type { Actor, Identity } from '../access/index.ts';
import { findByTokenHash, type Credential } from './api-keys.store.ts';

/** Every key is of a team. */
type KeyIdentity = Identity<Extract<Actor, { kind: 'api_key' }>> & { teamId: string };
export type Authenticate = (token: string) => Promise<KeyIdentity>;

const KEY_OF_RESEND =
  'This is an API key of Resend (re_…); the keys of this server begin with rk_. Create one with: rasket api-keys create NAME';

/** A revoked key is refused by the very next request: what is remembered of it lasts until keys or teams are written. */
export function createAuthentication(store: Store): Authenticate {
  const findKey = store.db.memo(['api_keys', 'teams'], (tokenHash) => findByTokenHash(store.db, tokenHash));
  return async (token) => {
    // A program that has moved from there may still have its former key.
    if (token.startsWith('re_')) throw refuse('invalid_api_key', { say: KEY_OF_RESEND });
    return callerOf(await findKey(hashToken(token)));
  };
}

function callerOf(key: Credential | undefined): KeyIdentity {
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
