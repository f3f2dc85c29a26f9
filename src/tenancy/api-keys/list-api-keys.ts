import type { Page } from '../../platform/db/index.ts';
import { refuse } from '../../platform/refusal/index.ts';
import type { Ctx } from '../access/index.ts';
import { listKeyRows, type ApiKeyRow, type KeyFilter } from './api-keys.store.ts';
import { presentApiKey } from './present.ts';

export async function listApiKeys(
  ctx: Ctx,
  filter: KeyFilter,
  page: Page,
): Promise<{ object: 'list'; has_more: boolean; data: ReturnType<typeof presentApiKey>[] }> {
  if (filter.search !== undefined && filter.search.trim() === '') {
    throw refuse('invalid_parameter', { say: 'search must contain something other than spaces.' });
  }
  const { rows, hasMore } = await listKeyRows(ctx.store.db, ctx.teamId, filter, page);
  return { object: 'list', has_more: hasMore, data: rows.map((row: ApiKeyRow) => presentApiKey(row)) };
}
