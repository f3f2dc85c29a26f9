import type { World } from '../../../platform/world/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import {
  findDomain,
  isDnsAsked,
  mustBeAddable,
  readDomainName,
  registerDomain,
  type NewDomain,
} from '../../domains/index.ts';
import { checkDomain } from './check-domain.ts';
import { mustFreeMx } from './free-mx.ts';
import { getDomain } from './get-domain.ts';

export async function createDomain(ctx: Ctx<World>, input: NewDomain) {
  if (input.capabilities?.receiving === 'enabled') {
    const { store: world, teamId } = ctx;
    const name = readDomainName(input.name);
    // DNS is asked last: what the team may not have at all is said first.
    await mustBeAddable(world, world.db, teamId, name);
    await mustFreeMx(world, name, false, CONFIRM_LATER);
  }
  const made = await registerDomain(ctx, input);
  return isDnsAsked(ctx.store) ? made : verifyAtOnce(ctx, made);
}

/** For the development profile, where no check of records asks DNS. */
async function verifyAtOnce(ctx: Ctx<World>, made: { id: string }) {
  const { store: world, teamId } = ctx;
  const domain = await findDomain(world.db, teamId, made.id);
  if (domain) await checkDomain(world, domain);
  return getDomain(ctx, made.id);
}

const CONFIRM_LATER =
  'register the domain without receiving, then turn it on with confirm_replace_mx if that is meant.';
