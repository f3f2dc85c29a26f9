import { isoTime } from '../../../platform/clock/index.ts';
import { refuse } from '../../../platform/refusal/index.ts';
import { hashToken } from '../../../platform/secrets/index.ts';
import type { Store } from '../../../platform/store/index.ts';
import type { Actor, Identity } from '../../../tenancy/access/index.ts';
import { noteGrantUsed } from './grants.store.ts';
import { readStored } from './limits.ts';
import type { Resource } from './resource.ts';
import { findLiveAccess } from './tokens.store.ts';

export const ACCESS_PREFIX = 'rko_';

const NOTED_MS = 60_000;

/**
 * Nothing is remembered between requests but when it was used: what a grant rests on is asked anew with each, on every node. `at` is where the
 * token is shown; one for /mcp alone is taken there and nowhere else.
 */
export function createGrantAuthentication(
  store: Store,
  at: Resource = 'api',
): (token: string) => Promise<Identity<Extract<Actor, { kind: 'oauth_grant' }>> & { teamId: string }> {
  return async (token) => {
    const now = store.clock.now();
    const found = await findLiveAccess(store.db, hashToken(token), now);
    if (!found) throw refuse('invalid_api_key', { say: 'This access token is not valid, or not any more.' });
    if (found.resource === 'mcp' && at !== 'mcp') {
      throw refuse('invalid_api_key', { say: `This access token is for ${store.origin()}/mcp alone.` });
    }
    if (found.ends_at !== null && found.ends_at <= now) {
      throw refuse('invalid_api_key', {
        say: `The person let this app in until ${isoTime(found.ends_at)} (expires_at of its grant); it has to ask again.`,
      });
    }
    if (found.risk_state === 'suspended') throw refuse('suspended_api_key', { say: 'This team is suspended.' });
    if (now - (found.last_used_at ?? 0) >= NOTED_MS) {
      await store.db.txUnsynced((tx) => noteGrantUsed(tx, found.grant_id, now));
    }
    const { grant_id: grantId, client_id: clientId, user_id: userId, email: name, role } = found;
    return {
      teamId: found.team_id,
      actor: {
        ...{ kind: 'oauth_grant', grantId, clientId, userId, name, scopes: found.scopes.split(' '), role },
        limits: readStored(found.limits),
      },
    };
  };
}
