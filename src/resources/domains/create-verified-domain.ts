import type { Store } from '../../platform/store/index.ts';
import { composeDomain } from './compose-domain.ts';
import { findDomainByName, insertDomain, type DomainRow } from './domains.store.ts';

/**
 * Makes a domain of the development profile, verified without DNS: nothing that it signs can leave the machine. The plan's
 * limit of domains is not asked, so that a test may send from as many as it likes.
 */
export async function createVerifiedDomain(store: Store, teamId: string, name: string): Promise<DomainRow> {
  if (!store.config.delivery.capture)
    throw new Error('a domain is verified without DNS only where nothing can leave the machine');
  const made = await composeDomain(store, teamId, name, { capabilities: { receiving: 'enabled' } });
  const now = store.clock.now();
  const verified = {
    status: 'verified' as const,
    checked_at: now,
    first_checked_at: now,
    verified_at: now,
    held_at: now,
    receiving_verified_at: now,
  };
  const row: DomainRow = { ...made.row, ...verified };
  const records = made.records.map((record) => ({ ...record, status: 'verified' as const }));
  await store.db.tx((tx) => insertDomain(tx, row, records, made.keys));
  return (await findDomainByName(store.db, teamId, name)) ?? row;
}
