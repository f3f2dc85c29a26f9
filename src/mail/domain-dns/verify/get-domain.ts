import { notFound } from '../../../platform/refusal/index.ts';
import type { World } from '../../../platform/world/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import {
  checkOf,
  findDomain,
  isDnsAsked,
  isVerifiedWithoutDns,
  presentDomain,
  recordStatusAfter,
  recordsOf,
} from '../../domains/index.ts';
import { checkRecords } from './check-records.ts';

/**
 * The domain with what DNS says of its records now, from the resolver's short memory. Reading changes nothing: the
 * domain's own status moves only by verification and sweep.
 */
export async function getDomain(ctx: Ctx<World>, id: string) {
  const { store: world } = ctx;
  const domain = await findDomain(world.db, ctx.teamId, id);
  if (!domain) throw notFound('Domain');
  const records = await recordsOf(world.db, id);
  // A look-up before anything is published makes resolvers remember that it does not exist: the first one is that of verify.
  if (!isDnsAsked(world) || isVerifiedWithoutDns(world, domain) || domain.checked_at === null) {
    return presentDomain(domain, records);
  }
  const checks = await checkRecords(world, domain, records, { cache: true, diagnose: true });
  return presentDomain(
    domain,
    records.map((record) => {
      const verdict = checkOf(checks, record)?.verdict ?? 'unknown';
      return { ...record, status: recordStatusAfter(domain, record, verdict) };
    }),
    (record) => checkOf(checks, record),
  );
}
