import { recordEvents } from '../events/index.ts';
import type { Executor } from '../../platform/db/index.ts';
import type { Store } from '../../platform/store/index.ts';
import { newDkimKeys } from './dkim-key.ts';
import type { DkimKeyRow, DomainRow, RecordRow } from './domain-rows.ts';
import { insertDomain } from './domains.store.ts';
import { expectedRecords } from './expected-records.ts';
import type { NewDomain } from './new-domain.ts';
import { presentDomainEvent } from './present.ts';

export interface MadeDomain {
  row: DomainRow;
  records: RecordRow[];
  keys: DkimKeyRow[];
}

/** A domain with new keys and all it asks to be published; nothing is written yet, because making keys takes long. */
export async function composeDomain(
  store: Store,
  teamId: string,
  name: string,
  input: Omit<NewDomain, 'name'>,
): Promise<MadeDomain> {
  const id = store.ids.uuid();
  const now = store.clock.now();
  const receiving = input.capabilities?.receiving ?? 'unsupported';
  const row: DomainRow = {
    id,
    team_id: teamId,
    name,
    status: 'not_started',
    region: input.region ?? store.config.team.default_region,
    open_tracking: input.open_tracking ? 1 : 0,
    click_tracking: input.click_tracking ? 1 : 0,
    tracking_subdomain: (input.tracking_subdomain ?? 'track').toLowerCase(),
    former_tracking_subdomains: null,
    custom_return_path: (input.custom_return_path ?? 'send').toLowerCase(),
    tls: input.tls ?? 'opportunistic',
    tls_verify: input.tls_verify ? 1 : 0,
    sending: input.capabilities?.sending ?? 'enabled',
    receiving,
    created_at: now,
    asked_at: null,
    checked_at: null,
    first_checked_at: null,
    verified_at: null,
    held_at: null,
    failing_since: null,
    receiving_since: receiving === 'enabled' ? now : null,
    receiving_verified_at: null,
    receiving_failing_since: null,
    lost_at: null,
    receiving_lost_at: null,
  };
  const keys = await newDkimKeys(store, id);
  return { row, records: expectedRecords(store, row, keys), keys };
}

/** Writes a composed domain and its event; the caller has made sure that the team may have it. */
export async function addDomain(store: Store, tx: Executor, made: MadeDomain): Promise<void> {
  await insertDomain(tx, made.row, made.records, made.keys);
  const data = presentDomainEvent(made.row, made.records);
  await recordEvents(tx, store.ids, [
    { teamId: made.row.team_id, type: 'domain.created', subjectId: made.row.id, data, at: made.row.created_at },
  ]);
}
