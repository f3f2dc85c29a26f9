import type { World } from '../../../platform/world/index.ts';
import { recordsToCheck, saveChecks, type DomainRow, type DomainStatus } from '../../domains/index.ts';
import { checkRecords } from './check-records.ts';

/** Asks DNS for all records of a domain and writes what that means; undefined says that the domain is gone. */
export async function checkDomain(world: World, domain: DomainRow): Promise<DomainStatus | undefined> {
  const records = await recordsToCheck(world.db, domain.id);
  return saveChecks(world, domain, await checkRecords(world, domain, records, { cache: false }));
}
