import type { Page } from '../../platform/db/index.ts';
import { notFound } from '../../platform/refusal/index.ts';
import { mustReach, type Ctx } from '../access/index.ts';
import { checkRecords } from './check-records.ts';
import { findDomain, listDomainRows, recordsOf } from './domains.store.ts';
import { presentDomain, presentDomainItem } from './present.ts';

/**
 * The domain with what DNS says of its records now, from the resolver's short memory. Reading changes nothing: the
 * domain's own status moves only by verification and sweep.
 */
export async function getDomain(ctx: Ctx, id: string) {
  mustReach(ctx.actor, 'full_access');
  const { db, resolver, config } = ctx.world;
  const domain = await findDomain(db, ctx.teamId, id);
  if (!domain) throw notFound('Domain');
  const records = await recordsOf(db, id);
  // Never asked for and nothing can be published: the development profile's domain, and a domain nobody verified yet.
  if (config.delivery.capture || domain.checked_at === null) return presentDomain(domain, records);
  const checked = await checkRecords(resolver, domain, records, { cache: true });
  return presentDomain(
    domain,
    records.map((record, i) => ({ ...record, status: checked[i]?.status ?? record.status })),
  );
}

export async function listDomains(ctx: Ctx, page: Page) {
  mustReach(ctx.actor, 'full_access');
  const { rows, hasMore } = await listDomainRows(ctx.world.db, ctx.teamId, page);
  return { object: 'list' as const, has_more: hasMore, data: rows.map(presentDomainItem) };
}
