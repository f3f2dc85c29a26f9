import { notFound } from '../../platform/refusal/index.ts';
import { mustReach, type Ctx } from '../access/index.ts';
import { mustWaitItsTurn } from './ask-once.ts';
import { concludeCheck, nameTaken } from './conclude-check.ts';
import { findDomain, isHeldElsewhere } from './domains.store.ts';
import { lookUp } from './look-up.ts';
import { recordsToCheck } from './records.store.ts';

export async function verifyDomain(ctx: Ctx, id: string): Promise<{ object: 'domain'; id: string }> {
  mustReach(ctx.actor, 'full_access');
  const { world, teamId } = ctx;
  const domain = await findDomain(world.db, teamId, id);
  if (!domain) throw notFound('Domain');
  if (await isHeldElsewhere(world.db, teamId, domain.name)) throw nameTaken(domain.name);
  await mustWaitItsTurn(world, domain);
  const looked = await lookUp(world, domain, await recordsToCheck(world.db, id), { cache: false });
  if ((await concludeCheck(world, domain, looked)) === undefined) throw notFound('Domain');
  return { object: 'domain', id };
}
