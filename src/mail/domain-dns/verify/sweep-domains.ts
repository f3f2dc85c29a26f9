import { Refusal } from '../../../platform/refusal/index.ts';
import type { World } from '../../../platform/world/index.ts';
import {
  beginRotation,
  domainsToSweep,
  isOwnedElsewhere,
  isRotationDue,
  noteChecked,
  type DomainRow,
} from '../../domains/index.ts';
import { checkDomain } from './check-domain.ts';

const BATCH = 50;
/** Each asks some ten questions: enough at one time to be quick, few enough for a resolver and for other look-ups. */
const AT_A_TIME = 8;

/** Checks every domain that was not checked since the sweep began; what cannot be decided now waits for the next sweep. */
export async function sweepDomains(world: World): Promise<number> {
  if (world.config.delivery.capture) return 0;
  const began = world.clock.now();
  let swept = 0;
  for (;;) {
    const domains = await domainsToSweep(world.db, began, BATCH);
    let passed = 0;
    const next = domains.values();
    const work = async (): Promise<void> => {
      for (const domain of next) if (await sweepOne(world, domain)) passed++;
    };
    await Promise.all(Array.from({ length: AT_A_TIME }, work));
    swept += passed;
    // One that cannot even be passed over would be offered again at once.
    if (domains.length < BATCH || passed === 0) return swept;
  }
}

/** Whether it will not be offered again before the next sweep. */
async function sweepOne(world: World, domain: DomainRow): Promise<boolean> {
  try {
    try {
      await checkOne(world, domain);
    } catch (error) {
      // Another team has the name: theirs to delete or ours to claim.
      if (!(error instanceof Refusal))
        world.log.error({ err: error, domainId: domain.id }, 'a domain could not be swept');
      await noteChecked(world.db, domain.id, world.clock.now());
    }
    return true;
  } catch (error) {
    world.log.error({ err: error, domainId: domain.id }, 'a domain could not be passed over');
    return false;
  }
}

async function checkOne(world: World, domain: DomainRow): Promise<void> {
  if (domain.held_at === null && (await isOwnedElsewhere(world.db, domain.team_id, domain.name))) {
    return void (await noteChecked(world.db, domain.id, world.clock.now()));
  }
  await checkDomain(world, domain);
  if (await isRotationDue(world, domain)) await beginRotation(world, domain);
}
