import { hashToken } from '../../platform/secrets/index.ts';
import type { Store } from '../../platform/store/index.ts';
import { keyIdOf, type Actor } from '../access/index.ts';
import { findByTokenHash, findStanding } from './api-keys.store.ts';

/** Whether the key that a call came in with would be let in again: for calls that last, such as streams. */
export async function keyLives({ db }: Store, actor: Actor): Promise<boolean> {
  const keyId = keyIdOf(actor);
  if (keyId === null) return true;
  const key = await findStanding(db, keyId);
  return key?.status === 'active' && key.risk_state !== 'suspended';
}

/** Whether this token is that of a key that is not revoked; whether its team may send is another matter. */
export const isActiveToken = async ({ db }: Store, token: string): Promise<boolean> =>
  (await findByTokenHash(db, hashToken(token)))?.status === 'active';
