import { notFound } from '../../platform/refusal/index.ts';
import type { Ctx } from '../access/index.ts';
import { revokeKey } from './api-keys.store.ts';

/** Revokes at once and for good; the row stays. A key revoked before is as gone as one that never was. */
export async function deleteApiKey(ctx: Ctx, id: string): Promise<{ object: 'api_key'; id: string; deleted: true }> {
  if ((await revokeKey(ctx.store.db, ctx.teamId, id)) === 0) throw notFound('API key');
  return { object: 'api_key', id, deleted: true };
}
