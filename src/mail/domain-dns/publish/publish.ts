import type { Executor } from '../../../platform/db/index.ts';
import type { World } from '../../../platform/world/index.ts';
import { isSamePlain } from '../../../protocol/dns/index.ts';
import {
  addPublished,
  beginSetup,
  endSetup,
  findSetup,
  forgetPublished,
  lockSetups,
  LEAVING,
  publishedFor,
  saveSetup,
  yieldPublished,
  type PublishedRow,
} from '../../dns/index.ts';
import type { Prepared } from './prepare.ts';
import { ProviderFault } from './provider.ts';

/**
 * What becomes of publishing by itself: a caller has it begin, or end; the job goes on with it, held up by something in
 * the way or not; what a caller's own token publishes is apart from it.
 */
export type Afterwards = 'begins' | 'ends' | 'goes_on' | 'held_up' | 'apart';

/** Longer than any provider takes; until then no other process takes up what has been begun. */
const BEGUN_MS = 10 * 60_000;

/**
 * Makes the prepared change. What is to be published is written down first, and that somebody has to see to it: neither a
 * crash nor a removal of the domain in between may leave records in the zone that are not known to be ours.
 */
export async function publish(world: World, prepared: Prepared, afterwards: Afterwards): Promise<void> {
  const { provider, zone, plan, queries, seen, domain } = prepared;
  const { deletes, creates, changes } = plan;
  // Also what is written down already: that may be another node's, which strikes it out again if it comes too late.
  const intended = creates.map((record): PublishedRow => ({
    id: world.ids.uuid(),
    domain_id: domain.id,
    provider: provider.name,
    zone,
    name: record.name,
    type: record.type,
    value: record.value,
    priority: record.priority,
    created_at: world.clock.now(),
  }));
  const isFirst = await world.db.tx(async (tx) => {
    await addPublished(tx, intended);
    if (afterwards !== 'begins') return false;
    const isNone = (await findSetup(tx, domain.id)) === undefined;
    const retryAt = world.clock.now() + BEGUN_MS;
    await beginSetup(tx, { ...setupOf(world, prepared), fingerprint: '', retry_at: retryAt });
    return isNone;
  });
  if (changes.length > 0) {
    try {
      await provider.apply(zone, { deletes, creates, queries, seen });
    } catch (error) {
      if (error instanceof ProviderFault && error.nothingChanged) {
        await world.db.tx((tx) => giveUp(tx, prepared, intended, { isFirst, begins: afterwards === 'begins' }));
      }
      throw error;
    }
  }
  await world.db.tx((tx) => saveOutcome(world, tx, prepared, intended, afterwards));
  if (changes.length > 0) {
    const shown = changes.map(({ action, name, type }) => `${action} ${type} ${name}`);
    world.log.info({ domainId: domain.id, provider: provider.name, zone, changes: shown }, 'dns records were changed');
  }
}

/** Strikes out what was not published, and ends a setup that came to nothing unless another node goes on with it. */
async function giveUp(
  tx: Executor,
  { domain, ours }: Prepared,
  intended: readonly PublishedRow[],
  { isFirst, begins }: { isFirst: boolean; begins: boolean },
): Promise<void> {
  const setup = (await lockSetups(tx, [domain.id])).get(domain.id);
  await forgetPublished(tx, idsOf(intended));
  if (!begins || setup?.fingerprint !== '') return;
  const before = isFirst ? idsOf(ours) : [];
  const others = (await publishedFor(tx, domain.id)).filter(({ id }) => !before.includes(id));
  if (others.length === 0) await endSetup(tx, domain.id);
}

/** Writes down whose the records in the zone are by now, and who sees to them. */
async function saveOutcome(
  world: World,
  tx: Executor,
  prepared: Prepared,
  intended: readonly PublishedRow[],
  afterwards: Afterwards,
): Promise<void> {
  const { domain, plan, ours, heirlooms, inheritance, provider, zone } = prepared;
  const heirs = Map.groupBy(heirlooms, (heirloom) => heirloom.heirId);
  const heirIds = [...heirs.keys()].filter((id) => id !== undefined);
  const setups = await lockSetups(tx, [domain.id, ...heirIds, ...(inheritance?.domainIds ?? [])]);
  const setup = setups.get(domain.id);
  const isGoingOn = setup !== undefined && setup.fingerprint !== LEAVING;
  // A check that read the zone before the record was there has noted it as gone: it is added again.
  await addPublished(tx, intended);
  // What was created is written down anew.
  const over = [...plan.deletes, ...plan.forgotten, ...plan.creates];
  const gone = ours.filter((row) => over.some((record) => isSamePlain(record, row)));
  await forgetPublished(tx, idsOf(gone));
  // Without a setup, the records that it inherits would never be removed.
  if (inheritance && (isGoingOn || afterwards === 'begins')) {
    await yieldPublished(tx, idsOf(inheritance.rows), domain.id);
    for (const left of inheritance.domainIds) await endSetup(tx, left);
  }
  for (const heirId of heirIds) {
    const heir = setups.get(heirId);
    // It may have taken its records back meanwhile.
    if (heir?.provider !== provider.name || heir.zone !== zone || heir.fingerprint === LEAVING) continue;
    await yieldPublished(tx, idsOf((heirs.get(heirId) ?? []).map(({ row }) => row)), heirId);
  }
  const next = setupOf(world, prepared);
  if (afterwards === 'begins') {
    // Where somebody has taken records back meanwhile, the job compares once more.
    await saveSetup(tx, isGoingOn ? next : { ...next, fingerprint: '' });
  } else if (afterwards === 'goes_on' && isGoingOn) {
    await saveSetup(tx, next);
  } else if (afterwards === 'ends' || (afterwards !== 'apart' && !isGoingOn)) {
    const left = (await publishedFor(tx, domain.id)).some((row) => row.provider === provider.name && row.zone === zone);
    const leaving = { ...next, fingerprint: LEAVING, retry_at: setup?.retry_at ?? null };
    if (!left) await endSetup(tx, domain.id);
    else if (setup?.fingerprint !== LEAVING) await saveSetup(tx, leaving);
  }
}

const idsOf = (rows: readonly PublishedRow[]): string[] => rows.map((row) => row.id);

const setupOf = (world: World, { domain, provider, zone, fingerprint }: Prepared) => ({
  domain_id: domain.id,
  team_id: domain.team_id,
  domain_name: domain.name,
  provider: provider.name,
  zone,
  fingerprint,
  failures: 0,
  fault: null,
  retry_at: null,
  created_at: world.clock.now(),
});
