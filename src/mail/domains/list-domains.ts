import type { Page } from '../../platform/db/index.ts';
import type { Ctx } from '../../tenancy/access/index.ts';
import { listDomainRows } from './domains.store.ts';
import { presentDomainItem } from './present.ts';

export async function listDomains(ctx: Ctx, page: Page) {
  const { rows, hasMore } = await listDomainRows(ctx.store.db, ctx.teamId, page);
  return { object: 'list' as const, has_more: hasMore, data: rows.map(presentDomainItem) };
}
