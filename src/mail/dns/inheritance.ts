import type { Store } from '../../platform/store/index.ts';
import { LEAVING, publishedFor, setupsOfName, type PublishedRow } from './dns.store.ts';
import { wantedRecords } from './wanted-records.ts';

export interface Inheritance {
  rows: PublishedRow[];
  /** The domains that were set up before and want nothing any more. */
  domainIds: string[];
}

/** What was published with the same provider for copies of a name that are gone or have become another team's. */
export async function inheritanceOf(
  store: Store,
  domain: { id: string; name: string },
  provider: string,
): Promise<Inheritance> {
  const found: Inheritance = { rows: [], domainIds: [] };
  for (const setup of await setupsOfName(store.db, domain.name)) {
    if (setup.domain_id === domain.id || setup.provider !== provider) continue;
    const other = { id: setup.domain_id, team_id: setup.team_id, name: domain.name };
    if (setup.fingerprint !== LEAVING && (await wantedRecords(store, other)).length > 0) continue;
    found.domainIds.push(setup.domain_id);
    found.rows.push(...(await publishedFor(store.db, setup.domain_id)));
  }
  return found;
}
