import type { World } from '../../../platform/world/index.ts';
import type { Ctx } from '../../../resources/access/index.ts';
import { mustBeAddable, readDomainName, registerDomain, type NewDomain } from '../../../resources/domains/index.ts';
import { mustFreeMx } from './free-mx.ts';

export async function createDomain(ctx: Ctx<World>, input: NewDomain) {
  if (input.capabilities?.receiving === 'enabled') {
    const { store: world, teamId } = ctx;
    const name = readDomainName(input.name);
    // DNS is asked last: what the team may not have at all is said first.
    await mustBeAddable(world, world.db, teamId, name);
    await mustFreeMx(world, name, false, CONFIRM_LATER);
  }
  return registerDomain(ctx, input);
}

const CONFIRM_LATER =
  'register the domain without receiving, then turn it on with confirm_replace_mx if that is meant.';
