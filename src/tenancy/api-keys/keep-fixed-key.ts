import { hashToken } from '../../platform/secrets/index.ts';
import type { Store } from '../../platform/store/index.ts';
import { activateKey, findByTokenHash, revokeNamedToken } from './api-keys.store.ts';
import { issueApiKey } from './issue-api-key.ts';

/** Short ones are for tests and guarded by nothing; the upper bound is a line of a file. */
const FORM = /^rk_[A-Za-z0-9_-]{2,120}$/;

/** The name of every chosen key. A person may give it to other keys, so it alone does not tell where a key came from. */
const NAME = 'RASKET_DEV_API_KEY';

/** Returns why a key that a person chose cannot be used; undefined where it can. */
export function findFixedKeyFault(token: string): string | undefined {
  if (FORM.test(token)) return undefined;
  if (token.startsWith('re_')) return 'it is a key of Resend; keys of this server begin with rk_, such as rk_test';
  return 'it must be rk_ followed by 2 to 120 letters, digits, _ or -, such as rk_test';
}

/**
 * Makes a key that a person chose valid, with full access to a team; one that was revoked is valid again. Returns its team,
 * which is another one where the key was made for that. `earlier` is the key of the last start, and is revoked where it was
 * chosen too. For the development profile alone: a chosen key can be guessed.
 */
export async function keepFixedKey(
  store: Store,
  { teamId, token, earlier }: { teamId: string; token: string; earlier?: string | undefined },
): Promise<string> {
  if (store.config.profile !== 'development') throw new Error('fixed API key outside the development profile');
  const fault = findFixedKeyFault(token);
  if (fault !== undefined) throw new Error(`fixed API key with a wrong form: ${fault}`);
  return store.db.tx(async (tx) => {
    if (earlier !== undefined && earlier !== token) await revokeNamedToken(tx, hashToken(earlier), NAME);
    const found = await findByTokenHash(tx, hashToken(token));
    if (found) {
      if (found.status !== 'active') await activateKey(tx, found.id);
      return found.team_id;
    }
    await issueApiKey(store, tx, { teamId, name: NAME, permission: 'full_access', domainId: null, token });
    return teamId;
  });
}
