import { Refusal } from '../../platform/refusal/index.ts';
import type { World } from '../../platform/world/index.ts';
import { checkRecords } from './check-records.ts';
import { concludeCheck } from './conclude-check.ts';
import { domainsToSweep, noteChecked, recordsOf } from './domains.store.ts';

const BATCH = 50;

/** Looks up every domain not looked at since the sweep began; what cannot be decided now waits for the next sweep. */
export async function sweepDomains(world: World): Promise<number> {
  if (world.config.delivery.capture) return 0;
  const began = world.clock.now();
  let swept = 0;
  for (;;) {
    const domains = await domainsToSweep(world.db, began, BATCH);
    const settled = await Promise.allSettled(
      domains.map(async (domain) => {
        const records = await recordsOf(world.db, domain.id);
        const checked = await checkRecords(world.resolver, domain, records, { cache: false });
        try {
          await concludeCheck(world, domain, records, checked);
        } catch (error) {
          // Another team has the name: theirs to delete or ours to claim, and nothing to look up before the next sweep.
          if (!(error instanceof Refusal)) throw error;
          await noteChecked(world.db, domain.id, world.clock.now());
        }
      }),
    );
    const failed = settled.filter((result) => result.status === 'rejected');
    for (const { reason } of failed) {
      world.log.error({ err: reason }, 'a domain could not be swept');
    }
    swept += domains.length;
    // A domain that cannot be concluded keeps its old date and would be offered again at once.
    if (domains.length < BATCH || failed.length === domains.length) return swept;
  }
}
