import { Refusal } from '../../platform/refusal/index.ts';
import type { World } from '../../platform/world/index.ts';
import { checkRecords } from './check-records.ts';
import { concludeCheck } from './conclude-check.ts';
import { domainsToSweep, recordsOf } from './domains.store.ts';

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
        await concludeCheck(world, domain, records, await checkRecords(world.resolver, records, { cache: false }));
      }),
    );
    const failed = settled.filter((result) => result.status === 'rejected');
    for (const { reason } of failed) {
      if (!(reason instanceof Refusal)) world.log.error({ err: reason }, 'a domain could not be swept');
    }
    swept += domains.length;
    // A domain that cannot be concluded keeps its old date and would be offered again at once.
    if (domains.length < BATCH || failed.length === domains.length) return swept;
  }
}
