import { recordEvents } from '../../events/index.ts';
import { notFound } from '../../platform/refusal/index.ts';
import { mustReach, type Ctx } from '../access/index.ts';
import { mustBeCapable, type NewDomain } from './create-domain.ts';
import { changeDomain, findDomain, holdDomain, recordsOf, type DomainChange } from './domains.store.ts';
import { presentDomain } from './present.ts';

export type DomainPatch = Pick<
  NewDomain,
  'open_tracking' | 'click_tracking' | 'tls' | 'tracking_subdomain' | 'capabilities'
>;

export async function updateDomain(
  ctx: Ctx,
  id: string,
  input: DomainPatch,
): Promise<{ object: 'domain'; id: string }> {
  mustReach(ctx.actor, 'full_access');
  mustBeCapable(input.capabilities);
  const { world, teamId } = ctx;
  const change: DomainChange = {};
  if (input.open_tracking !== undefined) change.open_tracking = input.open_tracking ? 1 : 0;
  if (input.click_tracking !== undefined) change.click_tracking = input.click_tracking ? 1 : 0;
  if (input.tls !== undefined) change.tls = input.tls;
  if (input.tracking_subdomain !== undefined) {
    change.tracking_subdomain = input.tracking_subdomain.toLowerCase();
  }
  await world.db.tx(async (tx) => {
    if (!(await holdDomain(tx, teamId, id))) throw notFound('Domain');
    await changeDomain(tx, teamId, id, change);
    const after = await findDomain(tx, teamId, id);
    if (!after || Object.keys(change).length === 0) return;
    const data = presentDomain(after, await recordsOf(tx, id));
    const at = world.clock.now();
    await recordEvents(tx, world.ids, [{ teamId, type: 'domain.updated', subjectId: id, data, at }]);
  });
  return { object: 'domain', id };
}
