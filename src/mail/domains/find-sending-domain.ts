import { isUniqueViolation } from '../../platform/db/index.ts';
import type { Store } from '../../platform/store/index.ts';
import { maySend } from './capabilities.ts';
import { createVerifiedDomain } from './create-verified-domain.ts';
import type { DomainRow } from './domain-rows.ts';
import { findDomainByName, isOwnedElsewhere } from './domains.store.ts';
import { recordsToCheck } from './records.store.ts';
import { saveChecks } from './save-checks.ts';

/**
 * Finds the domain that a team sends from. With `development.any_sender` one that is missing is made, and one that is not
 * verified is verified; a name of another team stays with that team, and switched off sending stays off.
 */
export async function findSendingDomain(store: Store, teamId: string, name: string): Promise<DomainRow | undefined> {
  const found = await findDomainByName(store.db, teamId, name);
  return mayBeMade(store, found) ? makeSendingDomain(store, teamId, { name, found }) : found;
}

/** Whether `makeSendingDomain` would help: for callers that remember domains. */
export const mayBeMade = ({ config }: Pick<Store, 'config'>, found: DomainRow | undefined): boolean =>
  config.development.any_sender && (found === undefined || (!maySend(found) && found.sending === 'enabled'));

export async function makeSendingDomain(
  store: Store,
  teamId: string,
  { name, found }: { name: string; found: DomainRow | undefined },
): Promise<DomainRow | undefined> {
  if (name === '' || (await isOwnedElsewhere(store.db, teamId, name))) return found;
  if (found) {
    const records = await recordsToCheck(store.db, found.id);
    const checks = records.map((record) => ({ record, verdict: 'right' as const, diagnosis: null, found: null }));
    await saveChecks(store, found, checks);
    return findDomainByName(store.db, teamId, name);
  }
  try {
    return await createVerifiedDomain(store, teamId, name);
  } catch (error) {
    // Another mail of the same moment has made it.
    if (!isUniqueViolation(error)) throw error;
    return findDomainByName(store.db, teamId, name);
  }
}
