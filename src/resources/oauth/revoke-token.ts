import { hashToken } from '../../platform/secrets/index.ts';
import type { NobodyCtx } from '../access/index.ts';
import { lockGrant } from './grants.store.ts';
import { neededText, textOf, type Fields } from './parameters.ts';
import { findToken, removeToken, removeTokensOfGrant } from './tokens.store.ts';

/** RFC 7009: whatever is not the caller's to give back is answered as if it had been. The answer has no body. */
export async function revokeToken({ store }: NobodyCtx, fields: Fields): Promise<''> {
  const tokenHash = hashToken(neededText(fields, 'token'));
  const clientId = neededText(fields, 'client_id');
  textOf(fields, 'token_type_hint');
  const found = await findToken(store.db, tokenHash);
  if (!found) return '';
  await store.db.tx(async (tx) => {
    // The lock first, so that a refresh under way leaves no pair behind.
    const grant = await lockGrant(tx, found.grant_id);
    if (grant?.client_id !== clientId) return;
    if (found.kind === 'access') await removeToken(tx, tokenHash);
    else await removeTokensOfGrant(tx, grant.id);
  });
  return '';
}
