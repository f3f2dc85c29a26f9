import { refuse } from '../../platform/refusal/index.ts';
import { hashToken } from '../../platform/secrets/index.ts';
import type { Store } from '../../platform/store/index.ts';
import type { Actor, Identity } from '../access/index.ts';
import { findOperatorByHash } from './operators.store.ts';

/** What no other credential begins with. */
export const OPERATOR_PREFIX = 'rkop_';

/** A revoked token is refused by the very next request. */
export function createOperatorAuthentication(
  store: Store,
): (token: string) => Promise<Identity<Extract<Actor, { kind: 'operator' }>>> {
  const find = store.db.memo(['operators'], (tokenHash) => findOperatorByHash(store.db, tokenHash));
  return async (token) => {
    const found = await find(hashToken(token));
    if (!found) throw refuse('invalid_api_key', { say: 'The operator’s token is not valid.' });
    if (found.revoked_at !== null) {
      throw refuse('restricted_api_key', { status: 403, say: 'This operator’s token has been revoked.' });
    }
    return { teamId: null, actor: { kind: 'operator', operatorId: found.id, name: found.name } };
  };
}
