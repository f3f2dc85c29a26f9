import { notFound } from '../../../platform/refusal/index.ts';
import type { World } from '../../../platform/world/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { findDomain, isOwnedElsewhere, mustWaitItsTurn, nameTaken } from '../../domains/index.ts';
import { checkDomain } from './check-domain.ts';

export async function verifyDomain(ctx: Ctx<World>, id: string): Promise<{ object: 'domain'; id: string }> {
  const { store: world, teamId } = ctx;
  const domain = await findDomain(world.db, teamId, id);
  if (!domain) throw notFound('Domain');
  if (await isOwnedElsewhere(world.db, teamId, domain.name)) throw nameTaken(domain.name);
  await mustWaitItsTurn(world, domain);
  if ((await checkDomain(world, domain)) === undefined) throw notFound('Domain');
  return { object: 'domain', id };
}
