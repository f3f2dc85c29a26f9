import type { World } from '../../../platform/world/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { changeDomain, planChange, recordsAdded, type DomainPatch } from '../../domains/index.ts';
import { checkRecords } from './check-records.ts';
import { mustFreeMx } from './free-mx.ts';

export async function updateDomain(
  ctx: Ctx<World>,
  id: string,
  input: DomainPatch,
): Promise<{ object: 'domain'; id: string }> {
  const { store: world } = ctx;
  const planned = await planChange(ctx, id, input);
  if (!planned) return { object: 'domain', id };
  const { change, before, after } = planned;
  if (change.receiving === 'enabled' && before.receiving !== 'enabled') {
    await mustFreeMx(world, before.name, input.confirm_replace_mx ?? false, CONFIRM);
  }
  const added = await recordsAdded(world, after);
  // Asked before anything is locked; a domain that is not verified waits for that.
  const isAsked = after.checked_at !== null && added.length > 0;
  const checks = isAsked ? await checkRecords(world, after, added, { cache: false }) : [];
  await changeDomain(ctx, id, change, checks);
  return { object: 'domain', id };
}

const CONFIRM = 'send confirm_replace_mx: true if it is to come here instead.';
