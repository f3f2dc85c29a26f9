import type { Store } from '../../platform/store.ts';
import { readOwnHosts } from '../../tenancy/instance/index.ts';
import { toPresentHost } from './domain-records.ts';
import { recordsWithHost } from './domains.store.ts';
import type { RecordRow } from './domain-rows.ts';

/** A record that contains the host name of the installation, and whose it is. */
export interface HostRecord {
  teamId: string;
  /** The slug of the team. */
  team: string;
  domain: string;
  /** States whether the name is its team's; a domain that is not loses nothing by a change. */
  isHeld: boolean;
  record: RecordRow;
}

/**
 * Lists the records of all domains of all teams that contain the host name, as they have to be published now, by team
 * and domain.
 */
export async function listHostRecords(store: Pick<Store, 'config' | 'clock' | 'db'>): Promise<HostRecord[]> {
  const hosts = await readOwnHosts(store, store.db);
  const rows = await recordsWithHost(store.db);
  return rows.map(({ team_id: teamId, team, domain, is_held: isHeld, ...record }) => ({
    teamId,
    team,
    domain,
    isHeld: isHeld === 1,
    record: toPresentHost(store.config, hosts, record),
  }));
}
