import { notFound, refuse } from '../../platform/refusal/index.ts';
import { mustReach, type Ctx } from '../access/index.ts';
import { checkRecords } from './check-records.ts';
import { concludeCheck, nameTaken } from './conclude-check.ts';
import { claimAsk, findDomain, isVerifiedElsewhere, recordsOf } from './domains.store.ts';

export async function verifyDomain(ctx: Ctx, id: string): Promise<{ object: 'domain'; id: string }> {
  mustReach(ctx.actor, 'full_access');
  const { world, teamId } = ctx;
  const domain = await findDomain(world.db, teamId, id);
  if (!domain) throw notFound('Domain');
  if (await isVerifiedElsewhere(world.db, teamId, domain.name)) throw nameTaken(domain.name);
  const now = world.clock.now();
  const spacingMs = world.config.domains.verify_seconds * 1000;
  if (!(await claimAsk(world.db, teamId, id, now, spacingMs))) {
    const waitMs = Math.max(1, (domain.asked_at ?? now) + spacingMs - now);
    throw refuse('rate_limit_exceeded', {
      say: `A domain can be verified once in ${world.config.domains.verify_seconds} seconds; try again later.`,
      retryAfterSeconds: Math.ceil(waitMs / 1000),
    });
  }
  // The development profile has no DNS to ask, and its domain is verified already.
  if (world.config.delivery.capture && domain.status === 'verified') return { object: 'domain', id };
  const records = await recordsOf(world.db, id);
  const checked = await checkRecords(world.resolver, domain, records, { cache: false });
  if ((await concludeCheck(world, domain, records, checked)) === undefined) throw notFound('Domain');
  return { object: 'domain', id };
}
