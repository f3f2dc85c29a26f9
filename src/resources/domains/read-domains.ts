import type { Page } from '../../platform/db/index.ts';
import { notFound } from '../../platform/refusal/index.ts';
import { mustReach, type Ctx } from '../access/index.ts';
import { recordStatusAfter } from './domain-state.ts';
import { findDomain, listDomainRows } from './domains.store.ts';
import { isDecreed, lookedAt, lookUp } from './look-up.ts';
import { presentDomain, presentDomainItem } from './present.ts';
import { recordsOf } from './records.store.ts';

/**
 * The domain with what DNS says of its records now, from the resolver's short memory. Reading changes nothing: the
 * domain's own status moves only by verification and sweep.
 */
export async function getDomain(ctx: Ctx, id: string) {
  mustReach(ctx.actor, 'full_access');
  const { world } = ctx;
  const domain = await findDomain(world.db, ctx.teamId, id);
  if (!domain) throw notFound('Domain');
  const records = await recordsOf(world.db, id);
  // Whoever looks before anything is published has resolvers remember that it does not exist: that waits for verify.
  if (isDecreed(world, domain) || domain.checked_at === null) return presentDomain(domain, records);
  const looked = await lookUp(world, domain, records, { cache: true, diagnose: true });
  return presentDomain(
    domain,
    records.map((record) => {
      const verdict = lookedAt(looked, record)?.verdict ?? 'unknown';
      return { ...record, status: recordStatusAfter(domain, record, verdict) };
    }),
    (record) => lookedAt(looked, record),
  );
}

export async function listDomains(ctx: Ctx, page: Page) {
  mustReach(ctx.actor, 'full_access');
  const { rows, hasMore } = await listDomainRows(ctx.world.db, ctx.teamId, page);
  return { object: 'list' as const, has_more: hasMore, data: rows.map(presentDomainItem) };
}
