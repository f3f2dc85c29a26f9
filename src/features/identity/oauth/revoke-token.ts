import { hashToken } from '../../../platform/secrets/index.ts';
import type { NobodyCtx } from '../../../tenancy/access/index.ts';
import { forgetRefresh, lockGrant, lockGrantOfFamily } from './grants.store.ts';
import { neededText, textOf, type Fields } from './parameters.ts';
import { familyOf } from './refresh-family.ts';
import { findToken, removeToken, removeTokensOfGrant } from './tokens.store.ts';

/** RFC 7009: whatever is not the caller's to give back is answered as if it had been. The answer has no body. */
export async function revokeToken({ store }: NobodyCtx, fields: Fields): Promise<''> {
  const shown = neededText(fields, 'token');
  const tokenHash = hashToken(shown);
  const clientId = neededText(fields, 'client_id');
  textOf(fields, 'token_type_hint');
  const found = await findToken(store.db, tokenHash);
  const family = familyOf(shown);
  if (!found && family === undefined) return '';
  await store.db.tx(async (tx) => {
    // The lock first, so that a refresh under way leaves no pair behind.
    const isAccess = found?.kind === 'access';
    const grant = isAccess
      ? await lockGrant(tx, found.grant_id)
      : family !== undefined && (await lockGrantOfFamily(tx, hashToken(family)));
    if (!grant || grant.client_id !== clientId) return;
    if (isAccess) await removeToken(tx, tokenHash);
    else {
      await removeTokensOfGrant(tx, grant.id);
      await forgetRefresh(tx, grant.id);
    }
  });
  return '';
}
