import type { World } from '../../platform/world/index.ts';
import type { Actor } from '../access/index.ts';
import { findStanding } from './api-keys.store.ts';

/** Whether who came in with a key could come in again: for calls that last, such as streams. */
export async function keyLives({ db }: World, actor: Actor): Promise<boolean> {
  if (actor.kind !== 'api_key') return true;
  const key = await findStanding(db, actor.keyId);
  return key?.status === 'active' && key.risk_state !== 'suspended';
}
