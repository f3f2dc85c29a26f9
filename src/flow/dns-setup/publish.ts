import type { World } from '../../platform/world/index.ts';
import { isSamePlain } from '../../protocol/dns/index.ts';
import {
  addPublished,
  beginSetup,
  endSetup,
  forgetPublished,
  saveSetup,
  yieldPublished,
  type PublishedRow,
} from '../../resources/dns/index.ts';
import type { Prepared } from './prepare.ts';
import { ProviderFault } from './provider.ts';

/** What becomes of publishing by itself. */
export type Afterwards = 'goes_on' | 'ends' | 'as_before';

/** Longer than any provider takes; until then nobody else looks at what has been begun. */
const BEGUN_MS = 10 * 60_000;

/**
 * Makes the prepared change. What is to be published is written down first, and that somebody has to see to it: neither a
 * crash nor a removal of the domain in between may leave records in the zone that nobody knows to be ours.
 */
export async function publish(world: World, prepared: Prepared, afterwards: Afterwards): Promise<void> {
  const { provider, zone, plan, looks, seen, domain, ours, heirlooms, inheritance } = prepared;
  const { deletes, creates, changes } = plan;
  const intended = creates
    .filter((record) => !ours.some((row) => isSamePlain(row, record)))
    .map((record): PublishedRow => ({
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
  const isNewSetup = await world.db.tx(async (tx) => {
    await addPublished(tx, intended);
    if (afterwards !== 'goes_on') return false;
    const retryAt = world.clock.now() + BEGUN_MS;
    return beginSetup(tx, { ...setupOf(world, prepared), fingerprint: '', retry_at: retryAt });
  });
  const idsOf = (rows: readonly PublishedRow[]): string[] => rows.map((row) => row.id);
  if (changes.length > 0) {
    try {
      await provider.apply(zone, { deletes, creates, looks, seen });
    } catch (error) {
      if (error instanceof ProviderFault && error.nothingChanged) {
        await world.db.tx(async (tx) => {
          await forgetPublished(tx, idsOf(intended));
          if (isNewSetup) await endSetup(tx, domain.id);
        });
      }
      throw error;
    }
  }
  const gone = ours.filter((row) => [...deletes, ...plan.forgotten].some((record) => isSamePlain(record, row)));
  await world.db.tx(async (tx) => {
    // Whoever looked before it was there has taken it for gone.
    await addPublished(tx, intended);
    await forgetPublished(tx, idsOf(gone));
    if (inheritance) {
      await yieldPublished(tx, idsOf(inheritance.rows), domain.id);
      for (const left of inheritance.domainIds) await endSetup(tx, left);
    }
    for (const [heirId, theirs] of Map.groupBy(heirlooms, (heirloom) => heirloom.heirId)) {
      await yieldPublished(tx, idsOf(theirs.map(({ row }) => row)), heirId);
    }
    if (afterwards === 'ends') await endSetup(tx, domain.id);
    if (afterwards === 'goes_on') await saveSetup(tx, setupOf(world, prepared));
  });
  if (changes.length > 0) {
    const shown = changes.map(({ action, name, type }) => `${action} ${type} ${name}`);
    world.log.info({ domainId: domain.id, provider: provider.name, zone, changes: shown }, 'dns records were changed');
  }
}

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
