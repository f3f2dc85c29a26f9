import { notFound } from '../../platform/refusal/index.ts';
import type { Ctx } from '../access/index.ts';
import { renameKey } from './api-keys.store.ts';

export async function updateApiKey(
  ctx: Ctx,
  id: string,
  input: { name: string },
): Promise<{ object: 'api_key'; id: string }> {
  if ((await renameKey(ctx.store.db, ctx.teamId, id, input.name)) === 0) throw notFound('API key');
  return { object: 'api_key', id };
}
